#include "decode/pause_index.h"

#include "base/big_vec.h"
#include "perfdata/sort.h"

#include <stdlib.h>
#include <string.h>

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
static uint64_t user_pc(const struct csp_sample_place *place)
{
    bool user = false;
    for (uint64_t i = 0; i < place->callchain_len; i++) {
        uint64_t entry = csp_load64(place->callchain + 8 * i);
        if (entry < CSP_CONTEXT_MAX && user)
            return entry;
        if (entry >= CSP_CONTEXT_MAX && user)
            break;
        user = entry == CSP_CONTEXT_USER;
    }
    return is_kernel_address(place->ip) ? 0 : place->ip;
}

static uint64_t cpu_key(uint32_t cpu)
{
    return cpu;
}

static uint64_t thread_key(uint32_t tid)
{
    return UINT64_C(1) << 32 | tid;
}

static uint64_t key_of(uint32_t cpu, uint32_t tid)
{
    return cpu != CSP_NO_TID ? cpu_key(cpu) : thread_key(tid);
}

static __attribute__((noinline)) struct csp_pause_stream *
look_up_stream(struct csp_pause_index *index, uint64_t key, uint32_t cpu, uint32_t tid)
{
    uint64_t *number = csp_map_at(&index->stream_of, key);
    if (!*number) {
        csp_vec_push(&index->streams,
                     (struct csp_pause_stream){.cpu = cpu, .tid = tid, .last_time = UINT64_MAX});
        *number = index->streams.len;
    }
    index->last_key = key;
    index->last = *number - 1;
    return &index->streams.data[index->last];
}

static inline struct csp_pause_stream *stream_of(struct csp_pause_index *index, uint32_t cpu,
                                                 uint32_t tid)
{
    uint64_t key = key_of(cpu, tid);
    return index->streams.len && index->last_key == key ? &index->streams.data[index->last]
                                                        : look_up_stream(index, key, cpu, tid);
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

static void add_incident(struct csp_pause_index *index, const struct csp_record *record)
{
    bool loss = tells_of_loss(record);
    if (!loss && !tells_of_switch(record))
        return;
    csp_vec_push(&index->incidents, (struct csp_pause_incident){.time = record->time,
                                                                .ordinal = record->ordinal,
                                                                .cpu = record->cpu,
                                                                .tid = record->tid,
                                                                .is_loss = loss});
}

static bool is_before(uint64_t time, uint64_t ordinal, uint64_t other_time, uint64_t other_ordinal)
{
    return time != other_time ? time < other_time : ordinal < other_ordinal;
}

static __attribute__((noinline)) void note_unusual(struct csp_pause_stream *stream, uint64_t time,
                                                   uint64_t ordinal)
{
    bool is_empty = !stream->pauses.len && !stream->resumes.len;
    stream->is_disordered |= !is_empty;
    if (is_empty || time > stream->last_time)
        stream->last_time = time;
    if (!is_empty && !is_before(time, ordinal, stream->first_time, stream->first_ordinal))
        return;
    stream->first_time = time;
    stream->first_ordinal = ordinal;
}

/* Before a sample is added to a stream. */
static inline void note_time(struct csp_pause_stream *stream, uint64_t time, uint64_t ordinal)
{
    if (time <= stream->last_time)
        note_unusual(stream, time, ordinal);
    else
        stream->last_time = time;
}

void csp_pause_index_add(struct csp_pause_index *index, const struct csp_perfdata *reader,
                         const struct csp_record *record)
{
    if (record->type != CSP_RECORD_SAMPLE) {
        add_incident(index, record);
        return;
    }
    const struct csp_attr *attr = csp_perfdata_attr(reader, record->attr);
    if (!csp_attr_closes_window(attr) && !(attr->aux_action & CSP_AUX_RESUME))
        return;
    struct csp_sample_place place;
    if (!csp_perfdata_sample_place(reader, record, &place)) {
        index->malformed++;
        return;
    }
    struct csp_pause_stream *stream = stream_of(index, record->cpu, record->tid);
    uint64_t pc = user_pc(&place);
    note_time(stream, record->time, record->ordinal);
    if (attr->aux_action & CSP_AUX_RESUME) {
        index->resumes++;
        csp_big_vec_push(&stream->resumes, (struct csp_stitch_resume){record->time, pc});
        return;
    }
    index->pauses++;
    csp_big_vec_push(&stream->pauses, (struct csp_stitch_pause){
                                          .time = record->time,
                                          .pc = pc,
                                          .sample = record->body,
                                          .event = record->attr,
                                          .context = record->tid != CSP_NO_TID ? record->tid : 0,
                                      });
}

void csp_pause_index_append(struct csp_pause_index *index, struct csp_pause_index *more)
{
    for (size_t i = 0; i < more->streams.len; i++) {
        struct csp_pause_stream *from = &more->streams.data[i];
        if (!from->pauses.len && !from->resumes.len)
            continue;
        struct csp_pause_stream *to = stream_of(index, from->cpu, from->tid);
        note_time(to, from->first_time, from->first_ordinal);
        to->is_disordered |= from->is_disordered;
        to->last_time = from->last_time > to->last_time ? from->last_time : to->last_time;
        from->last_time = UINT64_MAX;
        from->is_disordered = false;
        csp_big_vec_append(&to->pauses, &from->pauses);
        csp_big_vec_append(&to->resumes, &from->resumes);
    }
    for (size_t i = 0; i < more->incidents.len; i++)
        csp_vec_push(&index->incidents, more->incidents.data[i]);
    index->pauses += more->pauses;
    index->resumes += more->resumes;
    index->malformed += more->malformed;
    more->incidents.len = 0;
    more->pauses = more->resumes = more->malformed = 0;
}

/* ---- putting in order ---- */

static uint64_t time_of(const void *items, size_t size, size_t number)
{
    return *(const uint64_t *)(const void *)((const char *)items + number * size);
}

/* Items begin with their time. */
static bool are_in_order(const void *items, size_t count, size_t size)
{
    for (size_t i = 1; i < count; i++)
        if (time_of(items, size, i - 1) > time_of(items, size, i))
            return false;
    return true;
}

static void sort_items(void *items, size_t count, size_t size)
{
    if (are_in_order(items, count, size))
        return;
    struct csp_sort_entry *order = csp_big_resize(NULL, 0, count * sizeof *order);
    char *before = csp_big_resize(NULL, 0, count * size);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct csp_sort_entry){.time = time_of(items, size, i), .ordinal = i};
    csp_sort_by_time(order, count);
    memcpy(before, items, count * size);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)items + i * size, before + order[i].ordinal * size, size);
    csp_big_free(before, count * size);
    csp_big_free(order, count * sizeof *order);
}

/* Most often they are in order: those of one CPU lie in one ring. */
static void sort_samples(struct csp_pause_stream *stream)
{
    if (!stream->is_disordered)
        return;
    sort_items(stream->pauses.data, stream->pauses.len, sizeof *stream->pauses.data);
    sort_items(stream->resumes.data, stream->resumes.len, sizeof *stream->resumes.data);
}

static int by_first(const void *left, const void *right)
{
    const struct csp_pause_stream *a = left, *b = right;
    return is_before(b->first_time, b->first_ordinal, a->first_time, a->first_ordinal) -
           is_before(a->first_time, a->first_ordinal, b->first_time, b->first_ordinal);
}

static void sort_streams(struct csp_pause_index *index)
{
    if (!index->streams.len)
        return;
    qsort(index->streams.data, index->streams.len, sizeof *index->streams.data, by_first);
    for (size_t i = 0; i < index->streams.len; i++)
        *csp_map_at(&index->stream_of,
                    key_of(index->streams.data[i].cpu, index->streams.data[i].tid)) = i + 1;
}

/* What happened before a stream's first sample is of no interest. */
static bool concerns(const struct csp_pause_incident *incident,
                     const struct csp_pause_stream *stream)
{
    return is_before(stream->first_time, stream->first_ordinal, incident->time, incident->ordinal);
}

static void add_to_stream(struct csp_pause_stream *stream,
                          const struct csp_pause_incident *incident)
{
    if (!concerns(incident, stream))
        return;
    if (incident->is_loss)
        csp_big_vec_push(&stream->losses, incident->time);
    else
        csp_big_vec_push(&stream->switches, incident->time);
}

/* The stream of an incident's CPU, else of its thread, that had begun; null without any. */
static struct csp_pause_stream *stream_of_incident(const struct csp_pause_index *index,
                                                   const struct csp_pause_incident *incident)
{
    const uint64_t keys[] = {cpu_key(incident->cpu), thread_key(incident->tid)};
    const bool are_known[] = {incident->cpu != CSP_NO_TID, incident->tid != CSP_NO_TID};
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t *number = are_known[i] ? csp_map_find(&index->stream_of, keys[i]) : NULL;
        struct csp_pause_stream *stream = number ? &index->streams.data[*number - 1] : NULL;
        if (stream && concerns(incident, stream))
            return stream;
    }
    return NULL;
}

static void place_incidents(struct csp_pause_index *index)
{
    sort_items(index->incidents.data, index->incidents.len, sizeof *index->incidents.data);
    for (size_t i = 0; i < index->incidents.len; i++) {
        const struct csp_pause_incident *incident = &index->incidents.data[i];
        bool is_known = incident->cpu != CSP_NO_TID || incident->tid != CSP_NO_TID;
        struct csp_pause_stream *of = is_known ? stream_of_incident(index, incident) : NULL;
        if (of)
            add_to_stream(of, incident);
        for (size_t k = 0; !is_known && k < index->streams.len; k++)
            add_to_stream(&index->streams.data[k], incident);
    }
    csp_vec_free(&index->incidents);
}

void csp_pause_index_finish(struct csp_pause_index *index)
{
    for (size_t i = 0; i < index->streams.len; i++)
        sort_samples(&index->streams.data[i]);
    sort_streams(index);
    place_incidents(index);
}

void csp_pause_index_free(struct csp_pause_index *index)
{
    for (size_t i = 0; i < index->streams.len; i++) {
        csp_big_vec_free(&index->streams.data[i].pauses);
        csp_big_vec_free(&index->streams.data[i].resumes);
        csp_big_vec_free(&index->streams.data[i].losses);
        csp_big_vec_free(&index->streams.data[i].switches);
    }
    csp_vec_free(&index->streams);
    csp_vec_free(&index->incidents);
    csp_map_free(&index->stream_of);
    *index = (struct csp_pause_index){0};
}
