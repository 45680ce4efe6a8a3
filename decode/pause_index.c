#include "decode/pause_index.h"

#include "base/big_vec.h"

struct csp_user_frames csp_sample_user_frames(const struct csp_sample_record *sample)
{
    struct csp_user_frames frames = {0, 0};
    bool user = false;
    for (uint64_t i = 0; i < sample->callchain_len; i++) {
        uint64_t entry = csp_sample_frame(sample, i);
        if (entry >= CSP_CONTEXT_MAX) {
            if (user)
                break;
            user = entry == CSP_CONTEXT_USER;
            frames.first = i + 1;
        } else if (user) {
            frames.len++;
        }
    }
    return user ? frames : (struct csp_user_frames){0, 0};
}

static bool is_kernel_address(uint64_t address)
{
    return address >> 55 & 1; /* Arm ARM, "Address size configuration": bit 55 selects TTBR1 */
}

/* The first user frame; without a callchain the sample's own address when that is one. As
 * csp_sample_user_frames finds it, without counting those that follow. */
static uint64_t user_pc(const struct csp_sample_record *sample)
{
    bool user = false;
    for (uint64_t i = 0; i < sample->callchain_len; i++) {
        uint64_t entry = csp_sample_frame(sample, i);
        if (entry < CSP_CONTEXT_MAX && user)
            return entry;
        if (entry >= CSP_CONTEXT_MAX && user)
            break;
        user = entry == CSP_CONTEXT_USER;
    }
    return is_kernel_address(sample->ip) ? 0 : sample->ip;
}

static uint64_t cpu_key(uint32_t cpu)
{
    return cpu;
}

static uint64_t thread_key(uint32_t tid)
{
    return UINT64_C(1) << 32 | tid;
}

static struct csp_pause_stream *stream_of(struct csp_pause_index *index, uint32_t cpu, uint32_t tid)
{
    uint64_t key = cpu != CSP_NO_TID ? cpu_key(cpu) : thread_key(tid);
    if (index->streams.len && index->last_key == key)
        return &index->streams.data[index->last];
    uint64_t *number = csp_map_at(&index->stream_of, key);
    if (!*number) {
        csp_vec_push(&index->streams, (struct csp_pause_stream){.cpu = cpu, .tid = tid});
        *number = index->streams.len;
    }
    index->last_key = key;
    index->last = *number - 1;
    return &index->streams.data[index->last];
}

const struct csp_pause_stream *csp_pause_index_find(const struct csp_pause_index *index,
                                                    uint32_t cpu, uint32_t tid)
{
    const uint64_t *number =
        cpu != CSP_NO_TID ? csp_map_find(&index->stream_of, cpu_key(cpu)) : NULL;
    if (!number && tid != CSP_NO_TID)
        number = csp_map_find(&index->stream_of, thread_key(tid));
    return number ? &index->streams.data[*number - 1] : NULL;
}

static bool tells_of_loss(const struct csp_record *record)
{
    return record->type == CSP_RECORD_LOST || record->type == CSP_RECORD_LOST_SAMPLES ||
           record->type == CSP_RECORD_THROTTLE || record->type == CSP_RECORD_UNTHROTTLE;
}

/* ITRACE_START: the kernel tells that the trace's event was scheduled in. */
static bool tells_of_switch(const struct csp_record *record)
{
    return record->type == CSP_RECORD_SWITCH || record->type == CSP_RECORD_SWITCH_CPU_WIDE ||
           record->type == CSP_RECORD_ITRACE_START;
}

/* What happened before a stream's first sample is of no interest. */
static void add_incident(struct csp_pause_index *index, const struct csp_record *record)
{
    bool loss = tells_of_loss(record);
    if (!loss && !tells_of_switch(record))
        return;
    bool known = record->cpu != CSP_NO_TID || record->tid != CSP_NO_TID;
    const struct csp_pause_stream *of = csp_pause_index_find(index, record->cpu, record->tid);
    for (size_t i = 0; i < index->streams.len; i++) {
        struct csp_pause_stream *stream = &index->streams.data[i];
        if (known && stream != of)
            continue;
        if (loss)
            csp_big_vec_push(&stream->losses, record->time);
        else
            csp_big_vec_push(&stream->switches, record->time);
    }
}

void csp_pause_index_add(struct csp_pause_index *index, const struct csp_perfdata *reader,
                         const struct csp_record *record)
{
    if (record->type != CSP_RECORD_SAMPLE) {
        add_incident(index, record);
        return;
    }
    const struct csp_attr *attr = csp_perfdata_attr(reader, record->attr);
    if (!csp_attr_closes_window(attr) && !(attr->aux_action & CSP_AUX_RESUME)) {
        index->others++;
        return;
    }
    struct csp_sample_record sample;
    if (!csp_sample_parse(attr, record, &sample)) {
        index->malformed++;
        return;
    }
    struct csp_pause_stream *stream = stream_of(index, record->cpu, record->tid);
    uint64_t pc = user_pc(&sample);
    if (attr->aux_action & CSP_AUX_RESUME) {
        index->resumes++;
        csp_big_vec_push(&stream->resumes, (struct csp_stitch_resume){record->time, pc});
        return;
    }
    index->pauses++;
    uint64_t context = record->tid != CSP_NO_TID ? record->tid : 0;
    csp_big_vec_push(&stream->pauses, (struct csp_stitch_pause){record->time, pc, context});
    csp_big_vec_push(&stream->refs, (struct csp_sample_ref){
                                        record->body, (uint32_t)record->body_size, record->attr});
}

void csp_pause_index_free(struct csp_pause_index *index)
{
    for (size_t i = 0; i < index->streams.len; i++) {
        csp_big_vec_free(&index->streams.data[i].pauses);
        csp_big_vec_free(&index->streams.data[i].refs);
        csp_big_vec_free(&index->streams.data[i].resumes);
        csp_big_vec_free(&index->streams.data[i].losses);
        csp_big_vec_free(&index->streams.data[i].switches);
    }
    csp_vec_free(&index->streams);
    csp_map_free(&index->stream_of);
    *index = (struct csp_pause_index){0};
}
