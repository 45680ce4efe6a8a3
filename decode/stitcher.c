#include "decode/stitcher.h"

#include "base/alloc.h"

#include <stdlib.h>

enum {
    BATCH_WINDOWS = 32768, /* stitched at once, unless their branches fill the memory first */
    BATCH_BRANCHES = 1 << 22,
    KEEP_WINDOWS = 1024,    /* of a batch, stitched again with the next: its end is a cut */
    PAUSES_PER_WINDOW = 64, /* most that are looked at when nothing tells the time */
    /* Pointer authentication puts its code above the 48 address bits that user space has. */
    ADDRESS_BITS = 48,
    PERF_REG_ARM64_LR = 30,
};

/* What one trace source has decoded and not yet stitched. */
struct pending {
    const struct csp_pause_stream *stream; /* null: no pauses on its CPU */
    struct csp_windows windows;
    CSP_VEC(struct csp_stitch_window) keys; /* one per window */
    size_t next_pause;
    uint64_t chunk_time;   /* of the last chunk with windows */
    uint64_t chunk_before; /* … and of the one before that */
};

struct csp_stitcher {
    struct csp_stitcher_options options;
    struct pending *pending; /* one per source */
    bool *stream_used;       /* one per stream of the index */
    struct csp_history history;
    csp_frames chain, frames;
    struct csp_stitch_stats stats;
};

struct csp_stitcher *csp_stitcher_create(const struct csp_stitcher_options *options)
{
    struct csp_stitcher *stitcher = csp_calloc(1, sizeof *stitcher);
    stitcher->options = *options;
    size_t sources = options->input->sources.len;
    stitcher->pending = csp_calloc(sources, sizeof *stitcher->pending);
    stitcher->stream_used = csp_calloc(options->index->streams.len, sizeof *stitcher->stream_used);
    return stitcher;
}

static uint64_t sample_time(const struct csp_stitcher *stitcher, uint64_t timestamp)
{
    if (!timestamp || !stitcher->options.to_sample_time)
        return timestamp;
    return stitcher->options.to_sample_time(stitcher->options.user, timestamp);
}

static struct csp_stitch_window make_key(const struct csp_stitcher *stitcher,
                                         const struct csp_windows *list,
                                         const struct csp_window *window)
{
    const struct csp_run *first = &list->runs.data[window->run_first];
    const struct csp_run *last = first + window->run_len - 1;
    return (struct csp_stitch_window){
        .start_pc = window->enabled ? first->start : 0,
        .end_pc = last->how == CSP_RUN_EXCEPTION && !window->cut ? last->return_address : 0,
        .context = last->context_id,
        .first_time = sample_time(stitcher, first->first_ts),
        .last_time = sample_time(stitcher, last->last_ts),
        .cut = window->cut,
    };
}

/* Copies a window and what it refers to to the end of `to`. */
static void append(struct csp_windows *to, const struct csp_windows *from,
                   const struct csp_window *window)
{
    struct csp_window copy = *window;
    copy.run_first = (uint32_t)to->runs.len;
    for (uint32_t r = 0; r < window->run_len; r++) {
        struct csp_run run = from->runs.data[window->run_first + r];
        const struct csp_branch *branches = from->branches.data + run.branch_first;
        run.branch_first = (uint32_t)to->branches.len;
        csp_vec_push(&to->runs, run);
        csp_vec_reserve(&to->branches, run.branch_len);
        for (uint32_t b = 0; b < run.branch_len; b++)
            to->branches.data[to->branches.len++] = branches[b];
    }
    csp_vec_push(&to->windows, copy);
}

static void parse_ref(const struct csp_stitcher *stitcher, const struct csp_sample_ref *ref,
                      struct csp_sample_record *sample)
{
    struct csp_record record = {.type = CSP_RECORD_SAMPLE,
                                .body = ref->body,
                                .body_size = ref->body_size,
                                .attr = ref->attr};
    const struct csp_attr *attr = csp_perfdata_attr(stitcher->options.reader, ref->attr);
    csp_sample_parse(attr, &record, sample); /* it was well-formed when it was indexed */
}

static void take_chain(struct csp_stitcher *stitcher, const struct csp_sample_record *record)
{
    struct csp_user_frames user = csp_sample_user_frames(record);
    stitcher->chain.len = 0;
    csp_vec_reserve(&stitcher->chain, user.len);
    for (uint64_t i = 0; i < user.len; i++)
        stitcher->chain.data[stitcher->chain.len++] = csp_sample_frame(record, user.first + i);
}

static void repair_chain(struct csp_stitcher *stitcher, const struct csp_sample *sample)
{
    enum csp_leaf_state leaf = CSP_LEAF_UNKNOWN;
    const struct csp_stitcher_options *options = &stitcher->options;
    if (options->leaf && stitcher->chain.len)
        leaf = options->leaf(options->user, sample->pid, sample->time, stitcher->chain.data[0]);
    unsigned repair =
        csp_callchain_repair(&stitcher->history, stitcher->chain.data,
                             (uint32_t)stitcher->chain.len, sample->lr, leaf, &stitcher->frames);
    stitcher->stats.repaired_by_history += (repair & CSP_REPAIR_HISTORY) != 0;
    stitcher->stats.repaired_by_lr += (repair & CSP_REPAIR_LR) != 0;
}

static int deliver(struct csp_stitcher *stitcher, const struct csp_pause_stream *stream,
                   size_t number, const struct csp_windows *windows,
                   const struct csp_stitch_pair *pair)
{
    const struct csp_sample_ref *ref = &stream->refs.data[number];
    struct csp_sample_record record;
    parse_ref(stitcher, ref, &record);
    stitcher->stats.pauses++;
    stitcher->stats.verdicts[pair->verdict]++;
    stitcher->stats.unstitched[pair->reason]++;
    stitcher->stats.start_agrees += pair->start_agrees;
    struct csp_sample sample = {
        .time = record.time,
        .pid = record.pid,
        .tid = record.tid,
        .cpu = record.cpu != CSP_NO_TID ? record.cpu : stream->cpu,
        .event = ref->attr,
        .count = 1,
        .ip = record.ip,
        .verdict = (enum csp_verdict)pair->verdict,
        .unstitched = pair->reason,
    };
    const struct csp_attr *attr = csp_perfdata_attr(stitcher->options.reader, ref->attr);
    sample.lr_valid = csp_sample_user_register(attr, &record, PERF_REG_ARM64_LR, &sample.lr);
    sample.lr &= (UINT64_C(1) << ADDRESS_BITS) - 1;
    stitcher->history.branches.len = 0;
    if (pair->window != CSP_STITCH_NONE) {
        csp_history_of_window(windows, &windows->windows.data[pair->window], 0, &stitcher->history);
        sample.branches = stitcher->history.branches.data;
        sample.branch_len = (uint32_t)stitcher->history.branches.len;
        sample.start = stitcher->history.start;
        sample.end = stitcher->history.end;
        stitcher->stats.joined_runs += stitcher->history.runs - 1;
    }
    take_chain(stitcher, &record);
    repair_chain(stitcher, &sample);
    sample.callchain = stitcher->frames.data;
    sample.callchain_len = (uint32_t)stitcher->frames.len;
    return stitcher->options.sample(stitcher->options.user, &sample);
}

static int deliver_range(struct csp_stitcher *stitcher, const struct pending *pending,
                         size_t pause_count, const struct csp_stitch_pair *pairs)
{
    for (size_t j = 0; j < pause_count; j++) {
        int error = deliver(stitcher, pending->stream, pending->next_pause + j, &pending->windows,
                            &pairs[j]);
        if (error < 0)
            return error;
    }
    return 0;
}

/* How many of the pauses from next_pause on can belong to the windows at hand. */
static size_t count_pauses(const struct pending *pending, bool last)
{
    size_t left = pending->stream->pauses.len - pending->next_pause;
    if (last)
        return left;
    const struct csp_stitch_pause *pauses = pending->stream->pauses.data + pending->next_pause;
    size_t most = pending->keys.len * PAUSES_PER_WINDOW;
    size_t count = 0;
    while (count < left && count < most && pauses[count].time <= pending->chunk_time)
        count++;
    /* Without record times: a batch more than there are windows, and the alignment finds out. */
    if (!pending->chunk_time)
        count = left < pending->keys.len * 2 ? left : pending->keys.len * 2;
    return count;
}

/* The first `count` windows are done with. */
static void drop_windows(struct csp_stitcher *stitcher, struct pending *pending, size_t count,
                         size_t used)
{
    stitcher->stats.windows += count;
    stitcher->stats.windows_alone += count - used;
    struct csp_windows rest = {0};
    for (size_t i = count; i < pending->windows.windows.len; i++)
        append(&rest, &pending->windows, &pending->windows.windows.data[i]);
    csp_windows_free(&pending->windows);
    pending->windows = rest;
    for (size_t i = count; i < pending->keys.len; i++)
        pending->keys.data[i - count] = pending->keys.data[i];
    pending->keys.len -= count;
}

static int stitch_batch(struct csp_stitcher *stitcher, struct pending *pending, bool last)
{
    const struct csp_pause_stream *stream = pending->stream;
    size_t pauses = count_pauses(pending, last);
    size_t first_resume = 0;
    while (pending->next_pause && first_resume < stream->resumes.len &&
           stream->resumes.data[first_resume].time <=
               stream->pauses.data[pending->next_pause - 1].time)
        first_resume++;
    struct csp_stitch_stream batch = {
        .windows = pending->keys.data,
        .window_len = (uint32_t)pending->keys.len,
        .pauses = stream->pauses.data + pending->next_pause,
        .pause_len = (uint32_t)pauses,
        .resumes = stream->resumes.data + first_resume,
        .resume_len = (uint32_t)(stream->resumes.len - first_resume),
        .tolerance = stitcher->options.tolerance,
    };
    struct csp_stitch_pair *pairs = csp_calloc(pauses, sizeof *pairs);
    struct csp_stitch_clock clock;
    csp_stitch(&batch, pairs, &clock);
    if (clock.pairs || clock.time != CSP_STITCH_TIME_NONE)
        stitcher->stats.clock = clock;

    /* Near the cut a pause may belong to a window of the next batch, so the end is done again. */
    size_t keep_from = last || pending->keys.len < 2 * KEEP_WINDOWS
                           ? pending->keys.len
                           : pending->keys.len - KEEP_WINDOWS;
    size_t done_pauses = pauses, done_windows = keep_from, used = 0;
    for (size_t j = 0; j < pauses; j++) {
        if (pairs[j].window == CSP_STITCH_NONE)
            continue;
        if (pairs[j].window >= keep_from) {
            done_pauses = j;
            break;
        }
        used++;
    }
    int error = deliver_range(stitcher, pending, done_pauses, pairs);
    free(pairs);
    pending->next_pause += done_pauses;
    drop_windows(stitcher, pending, done_windows, used);
    return error;
}

/* A CPU's pauses belong to one trace unit. */
static const struct csp_pause_stream *claim_stream(struct csp_stitcher *stitcher, uint32_t cpu,
                                                   uint32_t tid)
{
    const struct csp_pause_index *index = stitcher->options.index;
    const struct csp_pause_stream *stream = csp_pause_index_find(index, cpu, tid);
    if (!stream || stitcher->stream_used[stream - index->streams.data])
        return NULL;
    stitcher->stream_used[stream - index->streams.data] = true;
    return stream;
}

int csp_stitcher_windows(void *user, uint32_t source, const struct csp_chunk *chunk,
                         const struct csp_windows *windows)
{
    struct csp_stitcher *stitcher = user;
    struct pending *pending = &stitcher->pending[source];
    const struct csp_source *origin = &stitcher->options.input->sources.data[source];
    if (!pending->stream)
        pending->stream = claim_stream(stitcher, origin->cpu, chunk->tid);
    if (!pending->stream) {
        stitcher->stats.windows += windows->windows.len;
        stitcher->stats.windows_alone += windows->windows.len;
        stitcher->stats.no_stream += windows->windows.len;
        return 0;
    }
    size_t before = pending->keys.len;
    for (size_t i = 0; i < windows->windows.len; i++) {
        const struct csp_window *window = &windows->windows.data[i];
        if (!window->run_len) {
            stitcher->stats.windows++;
            stitcher->stats.windows_alone++;
            continue;
        }
        struct csp_stitch_window key = make_key(stitcher, windows, window);
        /* A record that cuts a window at its end is written before the window's pause. */
        bool ends_later = window->cut && i + 1 == windows->windows.len;
        key.record_time = ends_later ? 0 : chunk->time;
        if (chunk->holes) /* what follows a hole may be read as any thread */
            key.context = 0;
        if (chunk->holes && ends_later) /* … and any time, which its record does not bound */
            key.first_time = key.last_time = 0;
        /* A window that began in an earlier chunk may have ended there, too. */
        key.not_before = window->carried ? pending->chunk_before : pending->chunk_time;
        key.drained = windows->windows.len == 1 && !chunk->continues && !window->carried;
        csp_vec_push(&pending->keys, key);
        append(&pending->windows, windows, window);
    }
    size_t added = pending->keys.len - before;
    if (added) {
        pending->chunk_before = pending->chunk_time;
        pending->chunk_time = chunk->time;
    }
    if (pending->keys.len < BATCH_WINDOWS && pending->windows.branches.len < BATCH_BRANCHES)
        return 0;
    return stitch_batch(stitcher, pending, false);
}

/* Pauses of a stream of which no trace was found at all. */
static int deliver_untraced(struct csp_stitcher *stitcher, const struct csp_pause_stream *stream)
{
    static const struct csp_windows nothing;
    static const struct csp_stitch_pair none = {.window = CSP_STITCH_NONE,
                                                .reason = CSP_UNSTITCHED_NO_WINDOW};
    for (size_t j = 0; j < stream->refs.len; j++) {
        int error = deliver(stitcher, stream, j, &nothing, &none);
        if (error < 0)
            return error;
    }
    return 0;
}

int csp_stitcher_finish(struct csp_stitcher *stitcher)
{
    for (size_t i = 0; i < stitcher->options.input->sources.len; i++) {
        struct pending *pending = &stitcher->pending[i];
        int error = pending->stream ? stitch_batch(stitcher, pending, true) : 0;
        if (error < 0)
            return error;
    }
    const struct csp_pause_index *index = stitcher->options.index;
    for (size_t i = 0; i < index->streams.len; i++) {
        int error =
            stitcher->stream_used[i] ? 0 : deliver_untraced(stitcher, &index->streams.data[i]);
        if (error < 0)
            return error;
    }
    return 0;
}

const struct csp_stitch_stats *csp_stitcher_stats(const struct csp_stitcher *stitcher)
{
    return &stitcher->stats;
}

void csp_stitcher_destroy(struct csp_stitcher *stitcher)
{
    if (!stitcher)
        return;
    for (size_t i = 0; i < stitcher->options.input->sources.len; i++) {
        csp_windows_free(&stitcher->pending[i].windows);
        csp_vec_free(&stitcher->pending[i].keys);
    }
    free(stitcher->pending);
    free(stitcher->stream_used);
    csp_history_free(&stitcher->history);
    csp_vec_free(&stitcher->chain);
    csp_vec_free(&stitcher->frames);
    free(stitcher);
}
