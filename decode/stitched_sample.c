#include "decode/stitched_sample.h"

enum {
    /* Pointer authentication puts its code above the 48 address bits that user space has. */
    ADDRESS_BITS = 48,
    PERF_REG_ARM64_LR = 30,
};

/* A sample is all of its record behind the header, whose last two bytes tell how large that is. */
static size_t size_of_body(const uint8_t *body)
{
    enum { HEADER = 8 };
    return csp_load16(body - 2) - (size_t)HEADER;
}

static void parse(const struct csp_stitched_maker *maker, const struct csp_stitch_pause *pause,
                  struct csp_sample_record *sample)
{
    struct csp_record record = {.type = CSP_RECORD_SAMPLE,
                                .body = pause->sample,
                                .body_size = size_of_body(pause->sample),
                                .attr = pause->event};
    const struct csp_attr *attr = csp_perfdata_attr(maker->reader, pause->event);
    csp_sample_parse(attr, &record, sample); /* it was well-formed when it was indexed */
}

static void take_chain(struct csp_stitched_maker *maker, const struct csp_sample_record *record)
{
    struct csp_user_frames user = csp_sample_user_frames(record);
    maker->chain.len = 0;
    csp_vec_reserve(&maker->chain, user.len);
    for (uint64_t i = 0; i < user.len; i++)
        maker->chain.data[maker->chain.len++] = csp_sample_frame(record, user.first + i);
}

/* Whose PCs they are that the unwind tables are asked about. */
struct asking {
    const struct csp_stitched_maker *maker;
    const struct csp_sample *sample;
};

static struct csp_leaf ask_tables(void *user, uint64_t pc)
{
    const struct asking *asking = user;
    const struct csp_stitched_maker *maker = asking->maker;
    return maker->leaf(maker->user, maker->worker, asking->sample->pid, asking->sample->time, pc);
}

static void repair_chain(struct csp_stitched_maker *maker, const struct csp_sample *sample)
{
    struct asking asking = {maker, sample};
    struct csp_unwind_tables tables = {maker->leaf ? ask_tables : NULL, &asking};
    unsigned repair =
        csp_callchain_repair(&maker->turns, maker->chain.data, (uint32_t)maker->chain.len,
                             sample->lr, &tables, &maker->frames);
    maker->stats.repaired_by_history += (repair & CSP_REPAIR_HISTORY) != 0;
    maker->stats.repaired_by_lr += (repair & CSP_REPAIR_LR) != 0;
    maker->stats.missing_callers += (repair & CSP_REPAIR_MISSING) != 0;
}

static void take_stretch(struct csp_stitched_maker *maker, const struct csp_stretch *stretch,
                         struct csp_sample *sample)
{
    const struct csp_run *last = &stretch->runs[stretch->run_len - 1];
    sample->start = stretch->runs->start;
    sample->end = last->end;
    sample->branch_len = stretch->branch_len;
    maker->stats.joined_runs += stretch->run_len - 1;
    if (maker->stretch) {
        maker->stretch(maker->user, maker->worker, sample, stretch, &maker->turns);
        return;
    }
    csp_stretch_branches(stretch, &maker->turns, &maker->branches);
    sample->branches = maker->branches.data;
}

struct csp_sample csp_stitched_sample(struct csp_stitched_maker *maker,
                                      const struct csp_pause_stream *stream, size_t number,
                                      const struct csp_stitch_pair *pair,
                                      const struct csp_windows *windows,
                                      const struct csp_window *window)
{
    const struct csp_stitch_pause *pause = &stream->pauses.data[number];
    struct csp_sample_record record;
    parse(maker, pause, &record);
    struct csp_sample sample = {
        .time = record.time,
        .pid = record.pid,
        .tid = record.tid,
        .cpu = record.cpu != CSP_NO_TID ? record.cpu : stream->cpu,
        .event = pause->event,
        .count = 1,
        .ip = record.ip,
        .verdict = (enum csp_verdict)pair->verdict,
        .unstitched = pair->reason,
    };
    const struct csp_attr *attr = csp_perfdata_attr(maker->reader, pause->event);
    sample.lr_valid = csp_sample_user_register(attr, &record, PERF_REG_ARM64_LR, &sample.lr);
    sample.lr &= (UINT64_C(1) << ADDRESS_BITS) - 1;
    maker->turns.len = 0;
    if (window && window->run_len) {
        const struct csp_stretch stretch = csp_stretch_of_window(windows, window);
        take_stretch(maker, &stretch, &sample);
    }
    take_chain(maker, &record);
    if (!maker->recorded_stacks)
        repair_chain(maker, &sample);
    const csp_frames *frames = maker->recorded_stacks ? &maker->chain : &maker->frames;
    sample.callchain = frames->data;
    sample.callchain_len = (uint32_t)frames->len;
    return sample;
}

void csp_stitched_maker_free(struct csp_stitched_maker *maker)
{
    csp_vec_free(&maker->turns);
    csp_vec_free(&maker->branches);
    csp_vec_free(&maker->chain);
    csp_vec_free(&maker->frames);
}
