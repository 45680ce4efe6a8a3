#include "decode/recording_samples.h"

#include "decode/code/leaf_state.h"
#include "decode/recording_private.h"
#include "decode/trace_sampler.h"

#include <stdlib.h>

enum {
    /* A timestamp counts whole ticks of a clock that may run as slowly as 10 MHz, and the
     * conversion rounds once more. */
    CLOCK_PRECISION_NS = 200,
    PERF_REG_ARM64_LR = 30,
    KNOWN_LEAVES = 8192, /* a power of two */
};

/* One unwind table, made when an address of its file is first asked for. */
struct leaf_image {
    const struct csp_image *image;
    Elf *elf;
    struct csp_leaf_table *table; /* null: none */
};

/* What the tables said of an address of a process's own, in the version of its space. */
struct known_leaf {
    uint64_t pc;
    uint32_t version;
    struct csp_leaf leaf;
};

/* The unwind tables that one thread has asked for, and their last answers. */
struct leaves {
    CSP_VEC(struct leaf_image) images;
    struct known_leaf known[KNOWN_LEAVES]; /* by bits of the address; version 0: none */
    /* The space of the last question; it is the same from `from` to `to`. */
    uint32_t pid, version;
    uint64_t from, to;
};

struct delivery {
    struct csp_recording *recording;
    const struct csp_recording_samples_options *options;
    struct csp_stitcher *stitcher;
    struct csp_trace_sampler *sampler; /* instead, when there is nothing to stitch */
    struct leaves *leaves;             /* one per thread */
    CSP_VEC(struct csp_branch) branches;
    csp_frames frames;
    struct csp_buf text; /* of a sample */
};

static struct csp_leaf_table *leaf_table_of(struct leaves *leaves, const struct csp_image *image)
{
    for (size_t i = 0; i < leaves->images.len; i++)
        if (leaves->images.data[i].image == image)
            return leaves->images.data[i].table;
    struct leaf_image leaf = {.image = image};
    leaf.elf = elf_memory((char *)(uintptr_t)image->data, image->size); /* only read */
    leaf.table = leaf.elf ? csp_leaf_table_create(leaf.elf) : NULL;
    csp_vec_push(&leaves->images, leaf);
    return leaf.table;
}

static struct csp_leaf look_up_leaf(const struct delivery *delivery, struct leaves *leaves,
                                    uint32_t pid, uint64_t time, uint64_t pc)
{
    struct csp_leaf leaf = {.state = CSP_LEAF_UNKNOWN};
    struct csp_location location;
    if (!csp_recording_locate(delivery->recording, pid, time, pc, &location) || !location.image)
        return leaf;
    struct csp_leaf_table *table = leaf_table_of(leaves, location.image);
    if (!table)
        return leaf;
    leaf = csp_leaf_table_find(table, location.address);
    if (leaf.end) { /* as mapped */
        leaf.start += pc - location.address;
        leaf.end = leaf.end == UINT64_MAX ? leaf.end : leaf.end + (pc - location.address);
    }
    return leaf;
}

static uint32_t version_of(const struct csp_spaces *spaces, struct leaves *leaves, uint32_t pid,
                           uint64_t time)
{
    if (pid != leaves->pid || time < leaves->from || time > leaves->to || !leaves->version) {
        leaves->pid = pid;
        leaves->version = csp_spaces_version(spaces, pid, time);
        csp_spaces_unchanged(spaces, time, &leaves->from, &leaves->to);
    }
    return leaves->version;
}

/* Programs jump to the same places again and again. */
static struct csp_leaf find_leaf(void *user, unsigned worker, uint32_t pid, uint64_t time,
                                 uint64_t pc)
{
    const struct delivery *delivery = user;
    struct leaves *leaves = &delivery->leaves[worker];
    struct known_leaf *known = &leaves->known[(pc >> 2) % KNOWN_LEAVES];
    bool keeps = time && !(pc >> 63); /* the kernel's mappings have versions of their own */
    uint32_t version = keeps ? version_of(delivery->recording->spaces, leaves, pid, time) : 0;
    if (version && known->version == version && known->pc == pc)
        return known->leaf;
    struct csp_leaf leaf = look_up_leaf(delivery, leaves, pid, time, pc);
    *known = (struct known_leaf){pc, version, leaf};
    return leaf;
}

static uint64_t to_sample_time(void *user, uint64_t timestamp)
{
    const struct delivery *delivery = user;
    return csp_time_conv_ns(&delivery->recording->time_conv, timestamp);
}

/* A sample that no other thread works on. */
static int pass_on(void *user, const struct csp_sample *sample)
{
    struct delivery *delivery = user;
    const struct csp_recording_samples_options *options = delivery->options;
    if (options->sample)
        return options->sample(options->user, sample);
    if (options->any_sample)
        options->any_sample(options->user, 0, sample);
    if (options->any_sample || !options->print)
        return 0;
    delivery->text.len = 0;
    options->print(options->user, sample, &delivery->text);
    return options->text(options->user, &delivery->text);
}

static void pass_any_on(void *user, unsigned worker, const struct csp_sample *sample)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    options->any_sample(options->user, worker, sample);
}

static void pass_stretch_on(void *user, unsigned worker, const struct csp_sample *sample,
                            const struct csp_stretch *stretch, csp_branches *turns)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    options->stretch(options->user, worker, sample, stretch, turns);
}

static void pass_end_on(void *user, unsigned worker)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    options->samples_end(options->user, worker);
}

static void print(void *user, const struct csp_sample *sample, struct csp_buf *text)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    options->print(options->user, sample, text);
}

static int pass_text_on(void *user, const struct csp_buf *text)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    return options->text(options->user, text);
}

static void take_frames(struct delivery *delivery, const struct csp_sample_record *record)
{
    struct csp_user_frames frames = csp_sample_user_frames(record);
    delivery->frames.len = 0;
    csp_vec_reserve(&delivery->frames, frames.len);
    for (uint64_t i = 0; i < frames.len; i++)
        delivery->frames.data[delivery->frames.len++] = csp_sample_frame(record, frames.first + i);
}

static void take_branches(struct delivery *delivery, const struct csp_sample_record *record)
{
    delivery->branches.len = 0;
    csp_vec_reserve(&delivery->branches, record->branch_len);
    for (uint64_t i = 0; i < record->branch_len; i++) {
        struct csp_branch_entry entry = csp_sample_branch(record, i);
        delivery->branches.data[delivery->branches.len++] =
            (struct csp_branch){entry.from, entry.to, CSP_BRANCH_UNKNOWN};
    }
}

/* A sample that brought its branch stack along. */
static int deliver_native(struct delivery *delivery, const struct csp_attr *attr,
                          const struct csp_record *where, struct csp_sample_record *record)
{
    take_frames(delivery, record);
    take_branches(delivery, record);
    struct csp_sample sample = {
        .time = record->time,
        .pid = record->pid,
        .tid = record->tid,
        .cpu = record->cpu,
        .event = where->attr,
        .count = 1,
        .ip = record->ip,
        .callchain = delivery->frames.data,
        .callchain_len = (uint32_t)delivery->frames.len,
        .branches = delivery->branches.data,
        .branch_len = (uint32_t)delivery->branches.len,
        .verdict = CSP_VERDICT_NATIVE,
    };
    sample.lr_valid = csp_sample_user_register(attr, record, PERF_REG_ARM64_LR, &sample.lr);
    return pass_on(delivery, &sample);
}

static int take_native(struct delivery *delivery, const struct csp_record *record,
                       struct csp_recording_samples_stats *stats)
{
    if (record->type != CSP_RECORD_SAMPLE)
        return 0;
    const struct csp_attr *attr =
        csp_perfdata_attr(csp_recording_perfdata(delivery->recording), record->attr);
    if (csp_attr_closes_window(attr) || attr->aux_action & CSP_AUX_RESUME ||
        !(attr->sample_type & CSP_SAMPLE_BRANCH_STACK))
        return 0;
    struct csp_sample_record sample;
    if (!csp_sample_parse(attr, record, &sample)) {
        stats->malformed++;
        return 0;
    }
    stats->native++;
    return deliver_native(delivery, attr, record, &sample);
}

static int deliver_all_native(struct delivery *delivery, struct csp_recording_samples_stats *stats)
{
    struct csp_records *records = csp_recording_records(delivery->recording);
    struct csp_record record;
    int error = 0;
    while (!error && csp_records_next(records, &record))
        error = take_native(delivery, &record, stats);
    return error;
}

/* The trace's clock is the samples' clock only when every trace unit says that it is the virtual
 * counter; a counter of another kind has another zero. */
static bool trace_clock_is_known(const struct csp_recording *recording)
{
    const struct csp_cs_etm_info *info = &csp_recording_auxtrace(recording)->cs_etm;
    for (size_t i = 0; i < info->cpus.len; i++)
        if (info->cpus.data[i].ts_source != 1)
            return false;
    return info->cpus.len != 0;
}

static void print_elements(void *user, struct csp_buf *text, const struct csp_element *elements,
                           size_t count)
{
    const struct csp_trace_consumer *tee = ((struct delivery *)user)->options->tee;
    tee->print(tee->user, text, elements, count);
}

static int sample_part(struct delivery *delivery, const struct csp_trace_part *part)
{
    int error = 0;
    for (size_t i = 0; i < part->done.len && error >= 0; i++) {
        const struct csp_windows_done *done = &part->done.data[i];
        struct csp_windows windows = csp_trace_part_windows(part, done);
        error = csp_trace_sampler_windows(delivery->sampler, done->source, done->chunk, &windows);
    }
    return error;
}

static int on_part(void *user, struct csp_trace_part *part)
{
    struct delivery *delivery = user;
    const struct csp_trace_consumer *tee = delivery->options->tee;
    int error = tee && tee->part ? tee->part(tee->user, part) : 0;
    if (error < 0)
        return error;
    return delivery->sampler ? sample_part(delivery, part)
                             : csp_stitcher_part(delivery->stitcher, part);
}

static void on_started(void *user, struct csp_engine *engine)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    options->started(options->tee->user, engine);
}

static bool needs_branches(const struct delivery *delivery)
{
    const struct csp_recording_samples_options *options = delivery->options;
    return delivery->sampler || options->sample || options->any_sample || options->print ||
           options->all_stats || (options->tee && (options->tee->part || options->tee->print));
}

static int decode_all(struct delivery *delivery, struct csp_recording_samples_stats *stats,
                      struct csp_diag *diag)
{
    const struct csp_recording_samples_options *options = delivery->options;
    struct csp_trace_consumer consumer = {
        .print = options->tee && options->tee->print ? print_elements : NULL,
        .part = on_part,
        .user = delivery};
    struct csp_trace_decode_options decode = {.create = options->create,
                                              .threads = options->threads,
                                              .sums_up = !needs_branches(delivery),
                                              .started = options->started ? on_started : NULL,
                                              .consumer = &consumer,
                                              .progress = options->progress};
    return csp_trace_decode(csp_recording_trace(delivery->recording), &decode, &stats->trace, diag);
}

static int stitch_all(struct delivery *delivery, const struct csp_pause_index *index,
                      struct csp_recording_samples_stats *stats, struct csp_diag *diag)
{
    bool convert = delivery->recording->converts && trace_clock_is_known(delivery->recording);
    delivery->stitcher = csp_stitcher_create(&(struct csp_stitcher_options){
        .input = csp_recording_trace(delivery->recording),
        .index = index,
        .reader = csp_recording_perfdata(delivery->recording),
        .tolerance = CLOCK_PRECISION_NS,
        .to_sample_time = convert ? to_sample_time : NULL,
        .recorded_stacks = delivery->options->recorded_stacks,
        .leaf = find_leaf,
        .stretch = delivery->options->stretch ? pass_stretch_on : NULL,
        .sample = delivery->options->sample ? pass_on : NULL,
        .any_sample = delivery->options->any_sample ? pass_any_on : NULL,
        .samples_end = pass_end_on,
        .print = delivery->options->print ? print : NULL,
        .text = pass_text_on,
        .all_stats = delivery->options->all_stats,
        .threads = delivery->options->threads,
        .user = delivery,
    });
    int error = decode_all(delivery, stats, diag);
    if (!error)
        error = csp_stitcher_finish(delivery->stitcher);
    stats->stitch = csp_stitcher_stats(delivery->stitcher);
    csp_stitcher_destroy(delivery->stitcher);
    return error;
}

static uint32_t pid_of(void *user, uint32_t tid)
{
    return csp_recording_pid(((struct delivery *)user)->recording, tid);
}

static int cut_all(struct delivery *delivery, struct csp_recording_samples_stats *stats,
                   struct csp_diag *diag)
{
    delivery->sampler = csp_trace_sampler_create(&(struct csp_trace_sampler_options){
        .input = csp_recording_trace(delivery->recording),
        .period = delivery->options->period,
        .pid = pid_of,
        .sample = pass_on,
        .user = delivery,
    });
    int error = decode_all(delivery, stats, diag);
    stats->cut = csp_trace_sampler_count(delivery->sampler);
    csp_trace_sampler_destroy(delivery->sampler);
    return error;
}

static void free_delivery(struct delivery *delivery, unsigned threads)
{
    for (unsigned t = 0; t < threads; t++) {
        for (size_t i = 0; i < delivery->leaves[t].images.len; i++) {
            csp_leaf_table_destroy(delivery->leaves[t].images.data[i].table);
            elf_end(delivery->leaves[t].images.data[i].elf);
        }
        csp_vec_free(&delivery->leaves[t].images);
    }
    free(delivery->leaves);
    csp_vec_free(&delivery->branches);
    csp_vec_free(&delivery->frames);
    csp_buf_free(&delivery->text);
}

int csp_recording_samples(struct csp_recording *recording,
                          const struct csp_recording_samples_options *options,
                          struct csp_recording_samples_stats *stats, struct csp_diag *diag)
{
    struct delivery delivery = {.recording = recording, .options = options};
    unsigned threads = options->threads ? options->threads : 1;
    const struct csp_pause_index *index = &recording->contents.pauses;
    if (recording->delivered)
        return csp_fail(diag, CSP_ERR_FAILED,
                        "%s: was decoded already, and its windows are forgotten: open it again",
                        csp_perfdata_path(csp_recording_perfdata(recording)));
    recording->delivered = true;
    elf_version(EV_CURRENT);
    delivery.leaves = csp_calloc(threads, sizeof *delivery.leaves);
    stats->samples += recording->contents.samples;
    stats->plain += recording->contents.plain;
    stats->lost += recording->contents.lost;
    stats->pauses = index->pauses;
    stats->resumes = index->resumes;
    int error = recording->contents.native ? deliver_all_native(&delivery, stats) : 0;
    stats->malformed += index->malformed;
    bool cut = options->period && !index->pauses;
    if (!error)
        error = cut ? cut_all(&delivery, stats, diag) : stitch_all(&delivery, index, stats, diag);
    free_delivery(&delivery, threads);
    return error;
}
