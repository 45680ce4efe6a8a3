#include "decode/stitcher.h"

#include "base/alloc.h"
#include "base/big_vec.h"
#include "base/search.h"
#include "decode/stitch_batch.h"
#include "decode/stitch_delivery.h"

#include <stdlib.h>

enum {
    BATCH_WINDOWS = 8192, /* stitched at once, unless their branches fill the memory first */
    BATCH_BRANCHES = 1 << 22,
    FEW_WINDOWS = 4,        /* are no batch, however long they are */
    KEEP_WINDOWS = 1024,    /* of a batch, stitched again with the next: its end is a cut */
    PAUSES_PER_WINDOW = 64, /* most that are looked at when nothing tells the time */
};

/* What one trace source has decoded and not yet stitched. */
struct pending {
    const struct csp_pause_stream *stream; /* null: no pauses on its CPU */
    /* Neighbours in the same part keep it once. */
    CSP_VEC(struct csp_held_window) windows;
    CSP_VEC(struct csp_stitch_window) keys; /* one per window */
    uint64_t branches;                      /* in the windows */
    size_t next_pause, next_resume;         /* the first that is not done with */
    const struct csp_chunk *chunk; /* the last one with windows; it may be forgotten, but for … */
    uint64_t chunk_time;           /* … its time */
    uint64_t before[2];            /* times of those before it, the later first */
};

struct csp_stitcher {
    struct csp_stitcher_options options;
    struct pending *pending;       /* one per source */
    bool *stream_used;             /* one per stream of the index */
    struct csp_stitch_trust trust; /* of all batches so far */
    struct csp_deliverer deliverer;
    struct csp_stitch_stats stats;
};

struct csp_stitcher *csp_stitcher_create(const struct csp_stitcher_options *options)
{
    struct csp_stitcher *stitcher = csp_calloc(1, sizeof *stitcher);
    stitcher->options = *options;
    if (!stitcher->options.threads)
        stitcher->options.threads = 1;
    stitcher->pending = csp_calloc(options->input->sources.len, sizeof *stitcher->pending);
    stitcher->stream_used = csp_calloc(options->index->streams.len, sizeof *stitcher->stream_used);
    csp_deliverer_init(&stitcher->deliverer, &stitcher->options);
    return stitcher;
}

/* ---- stitching ---- */

/* How many of the pauses from next_pause on can belong to the windows at hand. */
static size_t count_pauses(const struct pending *pending, bool last)
{
    size_t left = pending->stream->pauses.len - pending->next_pause;
    if (last)
        return left;
    const struct csp_stitch_pause *pauses = pending->stream->pauses.data + pending->next_pause;
    uint64_t chunk_time = pending->chunk_time;
    size_t most = pending->keys.len * PAUSES_PER_WINDOW;
    size_t count = 0;
    while (count < left && count < most && pauses[count].time <= chunk_time)
        count++;
    /* Without record times: a batch more than there are windows, and the alignment finds out. */
    if (!chunk_time)
        count = left < pending->keys.len * 2 ? left : pending->keys.len * 2;
    return count;
}

static uint32_t branches_of(const struct csp_windows *list, const struct csp_window *window)
{
    uint32_t branches = 0;
    for (uint32_t i = 0; i < window->run_len; i++)
        branches += list->runs.data[window->run_first + i].branch_len;
    return branches;
}

/* Releases the parts of which the first `count` windows have the last. */
static void release_parts(const struct pending *pending, size_t count)
{
    const struct csp_held_window *windows = pending->windows.data;
    for (size_t i = 0; i < count; i++)
        if (windows[i].part &&
            (i + 1 == pending->windows.len || windows[i + 1].part != windows[i].part))
            csp_trace_part_release(windows[i].part);
}

static void hold(struct pending *pending, const struct csp_held_window *window)
{
    size_t count = pending->windows.len;
    if (window->part && (!count || pending->windows.data[count - 1].part != window->part))
        csp_trace_part_keep(window->part);
    csp_vec_push(&pending->windows, *window);
    pending->branches += window->branches;
}

/* The first `count` windows are done with. */
static void drop_windows(struct csp_stitcher *stitcher, struct pending *pending, size_t count,
                         size_t used)
{
    stitcher->stats.windows += count;
    stitcher->stats.windows_alone += count - used;
    for (size_t i = 0; i < count; i++)
        pending->branches -= pending->windows.data[i].branches;
    release_parts(pending, count);
    for (size_t i = count; i < pending->keys.len; i++) {
        pending->windows.data[i - count] = pending->windows.data[i];
        pending->keys.data[i - count] = pending->keys.data[i];
    }
    pending->windows.len -= count;
    pending->keys.len -= count;
}

static struct csp_stitch_stream batch_of(const struct csp_stitcher *stitcher,
                                         const struct pending *pending, bool last)
{
    const struct csp_pause_stream *stream = pending->stream;
    return (struct csp_stitch_stream){
        .windows = pending->keys.data,
        .window_len = (uint32_t)pending->keys.len,
        .pauses = stream->pauses.data + pending->next_pause,
        .pause_len = (uint32_t)count_pauses(pending, last),
        .resumes = stream->resumes.data + pending->next_resume,
        .resume_len = (uint32_t)(stream->resumes.len - pending->next_resume),
        .losses = stream->losses.data,
        .loss_len = (uint32_t)stream->losses.len,
        .switches = stream->switches.data,
        .switch_len = (uint32_t)stream->switches.len,
        .tolerance = stitcher->options.tolerance,
    };
}

static void survey(struct csp_stitcher *stitcher, const struct pending *pending, bool last)
{
    struct csp_stitch_stream batch = batch_of(stitcher, pending, last);
    csp_stitch_survey(&batch, &stitcher->trust);
}

/* What the file has of pauses that were delivered, and of their windows, is between their records.
 */
static void give_back(const struct csp_stitcher *stitcher, const struct csp_delivery *done)
{
    const struct csp_stitch_pause *pauses = done->stream->pauses.data + done->first;
    if (done->count)
        csp_perfdata_done(stitcher->options.reader, pauses[0].sample,
                          pauses[done->count - 1].sample);
}

/* The next `count` pauses are done with, and so are the resumes that are older than the last one.
 */
static void drop_pauses(struct pending *pending, size_t count)
{
    const struct csp_pause_stream *stream = pending->stream;
    size_t pause = pending->next_pause, resume = pending->next_resume;
    if (!count)
        return;
    uint64_t time = stream->pauses.data[pause + count - 1].time;
    pending->next_pause += count;
    pending->next_resume +=
        csp_lower_bound(stream->resumes.data + resume, stream->resumes.len - resume, time, time);
    csp_big_vec_done(&stream->pauses, pause, pending->next_pause);
    csp_big_vec_done(&stream->resumes, resume, pending->next_resume);
}

static int stitch_batch(struct csp_stitcher *stitcher, struct pending *pending, bool last)
{
    struct csp_stitch_stream batch = batch_of(stitcher, pending, last);
    size_t pauses = batch.pause_len;
    struct csp_stitch_pair *pairs = csp_malloc(pauses * sizeof *pairs);
    struct csp_stitch_clock clock;
    csp_stitch(&batch, &stitcher->trust, pairs, &clock);
    if (clock.pairs || clock.time != CSP_STITCH_TIME_NONE)
        stitcher->stats.clock = clock;

    struct csp_stitch_batch_done batch_done =
        csp_stitch_cut_batch(pairs, pauses, pending->keys.len, last ? 0 : KEEP_WINDOWS);
    struct csp_delivery done = {.stream = pending->stream,
                                .first = pending->next_pause,
                                .count = batch_done.pauses,
                                .pairs = pairs,
                                .windows = pending->windows.data};
    int error = csp_deliver(&stitcher->deliverer, &done, &stitcher->stats);
    give_back(stitcher, &done);
    free(pairs);
    drop_pauses(pending, batch_done.pauses);
    drop_windows(stitcher, pending, batch_done.windows, batch_done.used);
    return error;
}

/* ---- collecting ---- */

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

static uint64_t sample_time(const struct csp_stitcher *stitcher, uint64_t timestamp)
{
    if (!timestamp || !stitcher->options.to_sample_time)
        return timestamp;
    return stitcher->options.to_sample_time(stitcher->options.user, timestamp);
}

/* Nothing of the chunk comes after it. */
static bool is_last(const struct csp_windows_done *done, const struct csp_windows *list,
                    const struct csp_window *window)
{
    return done->ends && window == &list->windows.data[done->first + done->count - 1];
}

static struct csp_stitch_window make_key(const struct csp_stitcher *stitcher,
                                         const struct pending *pending,
                                         const struct csp_windows_done *done,
                                         const struct csp_windows *list,
                                         const struct csp_window *window, bool adjacent)
{
    const struct csp_run *first = &list->runs.data[window->run_first];
    const struct csp_run *last = first + window->run_len - 1;
    const struct csp_chunk *chunk = done->chunk;
    /* A record that cuts a window at its end is written before the window's pause. */
    bool ends_later = window->cut && is_last(done, list, window);
    /* What follows a hole may be read as any thread, and any time, which its record does not bound.
     */
    bool no_time = chunk->holes && ends_later;
    bool began_earlier = window->carried || window->unsure;
    return (struct csp_stitch_window){
        .start_pc = window->enabled ? first->start : 0,
        .end_pc = last->how == CSP_RUN_EXCEPTION && !window->cut ? last->return_address : 0,
        .context = chunk->holes ? 0 : last->context_id,
        .first_time = no_time ? 0 : sample_time(stitcher, first->first_ts),
        .last_time = no_time ? 0 : sample_time(stitcher, last->last_ts),
        .cut = window->cut,
        .adjacent = adjacent,
        .unsure = window->unsure || (window->carried && chunk->holes),
        .record_time = ends_later ? 0 : chunk->time,
        /* A window that began in an earlier chunk may have ended there, too. */
        .not_before = pending->before[window->carried],
        .begun_by = began_earlier && chunk->since != UINT64_MAX ? chunk->since : 0,
        /* That a sample found it newest does not say that it closed it. */
        .drained = done->whole && done->count == 1 && !chunk->snapshot && !chunk->continues &&
                   !window->carried,
    };
}

static void enter_chunk(struct pending *pending, const struct csp_chunk *chunk)
{
    if (pending->chunk == chunk)
        return;
    pending->before[1] = pending->before[0];
    pending->before[0] = pending->chunk_time;
    pending->chunk = chunk;
    pending->chunk_time = chunk->time;
}

static int add_windows(struct csp_stitcher *stitcher, struct csp_trace_part *part,
                       const struct csp_windows_done *done)
{
    struct pending *pending = &stitcher->pending[done->source];
    const struct csp_source *origin = &stitcher->options.input->sources.data[done->source];
    const struct csp_windows *list = &part->lists[done->list];
    bool is_kept = !csp_delivers_nothing(&stitcher->options);
    if (!pending->stream)
        pending->stream = claim_stream(stitcher, origin->cpu, done->chunk->tid);
    if (!pending->stream) {
        stitcher->stats.windows += done->count;
        stitcher->stats.windows_alone += done->count;
        stitcher->stats.no_stream += done->count;
        return 0;
    }
    for (uint32_t i = done->first; i < done->first + done->count; i++) {
        const struct csp_window *window = &list->windows.data[i];
        if (done->chunk->snapshot && !is_last(done, list, window)) {
            stitcher->stats.windows_repeated++;
            continue;
        }
        if (!window->run_len || window->goes_on) { /* no pause is where it ends */
            stitcher->stats.windows++;
            stitcher->stats.windows_alone++;
            continue;
        }
        bool adjacent = pending->chunk == done->chunk && !done->chunk->holes;
        enter_chunk(pending, done->chunk);
        struct csp_held_window held = {.part = is_kept ? part : NULL,
                                       .list = done->list,
                                       .number = i,
                                       .branches = branches_of(list, window)};
        csp_vec_push(&pending->keys, make_key(stitcher, pending, done, list, window, adjacent));
        hold(pending, &held);
    }
    if (pending->keys.len < BATCH_WINDOWS &&
        (pending->branches < BATCH_BRANCHES || pending->keys.len < FEW_WINDOWS))
        return 0;
    survey(stitcher, pending, false);
    return stitch_batch(stitcher, pending, false);
}

int csp_stitcher_part(struct csp_stitcher *stitcher, struct csp_trace_part *part)
{
    int error = 0;
    for (size_t i = 0; i < part->done.len && error >= 0; i++)
        error = add_windows(stitcher, part, &part->done.data[i]);
    return error;
}

/* Pauses of a stream of which no trace was found at all. */
static int deliver_untraced(struct csp_stitcher *stitcher, const struct csp_pause_stream *stream)
{
    struct csp_stitch_pair *pairs = csp_calloc(stream->pauses.len, sizeof *pairs);
    for (size_t j = 0; j < stream->pauses.len; j++)
        pairs[j] =
            (struct csp_stitch_pair){.window = CSP_STITCH_NONE, .reason = CSP_UNSTITCHED_NO_WINDOW};
    struct csp_delivery done = {.stream = stream, .count = stream->pauses.len, .pairs = pairs};
    int error = csp_deliver(&stitcher->deliverer, &done, &stitcher->stats);
    free(pairs);
    return error;
}

int csp_stitcher_finish(struct csp_stitcher *stitcher)
{
    size_t sources = stitcher->options.input->sources.len;
    for (size_t i = 0; i < sources; i++)
        if (stitcher->pending[i].stream)
            survey(stitcher, &stitcher->pending[i], true);
    for (size_t i = 0; i < sources; i++) {
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

struct csp_stitch_stats csp_stitcher_stats(const struct csp_stitcher *stitcher)
{
    struct csp_stitch_stats stats = stitcher->stats;
    stats.made = csp_deliverer_made(&stitcher->deliverer);
    return stats;
}

void csp_stitcher_destroy(struct csp_stitcher *stitcher)
{
    if (!stitcher)
        return;
    for (size_t i = 0; i < stitcher->options.input->sources.len; i++) {
        struct pending *pending = &stitcher->pending[i];
        release_parts(pending, pending->windows.len);
        csp_vec_free(&pending->windows);
        csp_vec_free(&pending->keys);
    }
    csp_deliverer_free(&stitcher->deliverer);
    free(stitcher->pending);
    free(stitcher->stream_used);
    free(stitcher);
}
