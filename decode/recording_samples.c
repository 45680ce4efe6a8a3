#include "decode/recording_samples.h"

#include "decode/code/leaf_state.h"
#include "decode/trace_sampler.h"

enum {
    /* A timestamp counts whole ticks of a clock that may run as slowly as 10 MHz, and the
     * conversion rounds once more. */
    CLOCK_PRECISION_NS = 200,
    PERF_REG_ARM64_LR = 30,
};

/* One unwind table, made when an address of its file is first asked for. */
struct leaf_image {
    const struct csp_image *image;
    Elf *elf;
    struct csp_leaf_table *table; /* null: none */
};

struct delivery {
    struct csp_recording *recording;
    const struct csp_recording_samples_options *options;
    struct csp_stitcher *stitcher;
    struct csp_trace_sampler *sampler; /* instead, when there is nothing to stitch */
    bool convert;
    struct csp_time_conv_event time_conv;
    CSP_VEC(struct leaf_image) leaves;
    CSP_VEC(struct csp_branch) branches;
    csp_frames frames;
};

static struct csp_leaf_table *leaf_table_of(struct delivery *delivery,
                                            const struct csp_image *image)
{
    for (size_t i = 0; i < delivery->leaves.len; i++)
        if (delivery->leaves.data[i].image == image)
            return delivery->leaves.data[i].table;
    struct leaf_image leaf = {.image = image};
    elf_version(EV_CURRENT);
    leaf.elf = elf_memory((char *)(uintptr_t)image->data, image->size); /* only read */
    leaf.table = leaf.elf ? csp_leaf_table_create(leaf.elf) : NULL;
    csp_vec_push(&delivery->leaves, leaf);
    return leaf.table;
}

static enum csp_leaf_state find_leaf(void *user, uint32_t pid, uint64_t time, uint64_t pc)
{
    struct delivery *delivery = user;
    struct csp_location location;
    if (!csp_recording_locate(delivery->recording, pid, time, pc, &location) || !location.image)
        return CSP_LEAF_UNKNOWN;
    struct csp_leaf_table *table = leaf_table_of(delivery, location.image);
    return table ? csp_leaf_table_find(table, location.address) : CSP_LEAF_UNKNOWN;
}

static uint64_t to_sample_time(void *user, uint64_t timestamp)
{
    const struct delivery *delivery = user;
    return csp_time_conv_ns(&delivery->time_conv, timestamp);
}

static int pass_on(void *user, const struct csp_sample *sample)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    return options->sample ? options->sample(options->user, sample) : 0;
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

static int take_record(struct delivery *delivery, struct csp_pause_index *index,
                       const struct csp_record *record, struct csp_recording_samples_stats *stats)
{
    const struct csp_perfdata *reader = csp_recording_perfdata(delivery->recording);
    struct csp_lost_event lost;
    if (csp_record_lost(record, &lost))
        stats->lost += lost.lost;
    struct csp_time_conv_event time_conv;
    if (csp_record_time_conv(record, &time_conv)) {
        delivery->time_conv = time_conv;
        delivery->convert = time_conv.cap_user_time_zero;
    }
    if (record->type != CSP_RECORD_SAMPLE)
        return 0;
    stats->samples++;
    const struct csp_attr *attr = csp_perfdata_attr(reader, record->attr);
    if (attr->aux_action & (CSP_AUX_PAUSE | CSP_AUX_RESUME)) {
        csp_pause_index_add(index, reader, record);
        return 0;
    }
    if (!(attr->sample_type & CSP_SAMPLE_BRANCH_STACK)) {
        stats->plain++;
        return 0;
    }
    struct csp_sample_record sample;
    if (!csp_sample_parse(attr, record, &sample)) {
        stats->malformed++;
        return 0;
    }
    stats->native++;
    return deliver_native(delivery, attr, record, &sample);
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

static int on_elements(void *user, const struct csp_element *elements, size_t count)
{
    const struct csp_trace_consumer *tee = ((struct delivery *)user)->options->tee;
    return tee->elements(tee->user, elements, count);
}

static int on_windows(void *user, uint32_t source, const struct csp_chunk *chunk,
                      const struct csp_windows *windows)
{
    struct delivery *delivery = user;
    const struct csp_trace_consumer *tee = delivery->options->tee;
    int error = tee && tee->windows ? tee->windows(tee->user, source, chunk, windows) : 0;
    if (error < 0)
        return error;
    if (delivery->sampler)
        return csp_trace_sampler_windows(delivery->sampler, source, chunk, windows);
    return csp_stitcher_windows(delivery->stitcher, source, chunk, windows);
}

static void on_started(void *user, struct csp_engine *engine)
{
    const struct csp_recording_samples_options *options = ((struct delivery *)user)->options;
    if (options->started)
        options->started(options->tee->user, engine);
}

static int decode_all(struct delivery *delivery, struct csp_recording_samples_stats *stats,
                      struct csp_diag *diag)
{
    const struct csp_recording_samples_options *options = delivery->options;
    const struct csp_trace_input *trace = csp_recording_trace(delivery->recording);
    struct csp_trace_consumer consumer = {.windows = on_windows, .user = delivery};
    if (options->tee && options->tee->elements)
        consumer.elements = on_elements;
    int error = 0;
    for (uint32_t stream = 0; !error && stream < trace->streams.len; stream++) {
        error = csp_trace_decode(trace, stream, options->create, &consumer, on_started,
                                 &stats->trace, diag);
        if (options->progress)
            csp_progress_at(options->progress, stats->trace.engine.bytes);
    }
    return error;
}

static int stitch_all(struct delivery *delivery, const struct csp_pause_index *index,
                      struct csp_recording_samples_stats *stats, struct csp_diag *diag)
{
    bool convert = delivery->convert && trace_clock_is_known(delivery->recording);
    delivery->stitcher = csp_stitcher_create(&(struct csp_stitcher_options){
        .input = csp_recording_trace(delivery->recording),
        .index = index,
        .reader = csp_recording_perfdata(delivery->recording),
        .tolerance = CLOCK_PRECISION_NS,
        .to_sample_time = convert ? to_sample_time : NULL,
        .leaf = find_leaf,
        .sample = pass_on,
        .user = delivery,
    });
    int error = decode_all(delivery, stats, diag);
    if (!error)
        error = csp_stitcher_finish(delivery->stitcher);
    stats->stitch = *csp_stitcher_stats(delivery->stitcher);
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

static void free_delivery(struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->leaves.len; i++) {
        csp_leaf_table_destroy(delivery->leaves.data[i].table);
        elf_end(delivery->leaves.data[i].elf);
    }
    csp_vec_free(&delivery->leaves);
    csp_vec_free(&delivery->branches);
    csp_vec_free(&delivery->frames);
}

int csp_recording_samples(struct csp_recording *recording,
                          const struct csp_recording_samples_options *options,
                          struct csp_recording_samples_stats *stats, struct csp_diag *diag)
{
    struct delivery delivery = {.recording = recording, .options = options};
    struct csp_pause_index index = {0};
    struct csp_records *records;
    /* What is wrong with the records was told when they were first read. */
    int error = csp_records_open(&records, csp_recording_perfdata(recording), CSP_ORDER_TIME, NULL);
    if (error)
        return error;
    struct csp_record record;
    while (!error && csp_records_next(records, &record) > 0)
        error = take_record(&delivery, &index, &record, stats);
    stats->pauses = index.pauses;
    stats->resumes = index.resumes;
    stats->malformed += index.malformed;
    bool cut = options->period && !index.pauses;
    if (!error)
        error = cut ? cut_all(&delivery, stats, diag) : stitch_all(&delivery, &index, stats, diag);
    csp_pause_index_free(&index);
    csp_records_close(records);
    free_delivery(&delivery);
    return error;
}
