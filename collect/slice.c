#include "collect/slice.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "perfdata/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    RECORD_HEADER = 8,
    /* Of a sink that stores a window at a time, as a drained one does, so many records are context.
     */
    CONTEXT_RECORDS = 8,
};

/* A record that counts, or that the next slice may need. */
struct sliced_record {
    const uint8_t *at;
    uint64_t time;
    uint32_t cpu;
    uint16_t size;
    bool is_sample;
};

struct csp_slice_view {
    struct csp_file file;
    struct csp_perfdata *reader;
    struct csp_auxtrace aux;
    csp_cpu_times newest; /* records */
    CSP_VEC(struct csp_record) lasting;
    CSP_VEC(struct sliced_record) passing;
    struct csp_arena expanded; /* what was compressed lives until the next record is read */
};

int csp_slice_create(struct csp_slice *slice, uint64_t context, struct csp_diag *diag)
{
    *slice = (struct csp_slice){.fd = memfd_create("csprof", MFD_CLOEXEC), .context = context};
    if (slice->fd < 0)
        return csp_fail(diag, CSP_ERR_FAILED, "cannot make a file in memory: %s", strerror(errno));
    snprintf(slice->path, sizeof slice->path, "/proc/self/fd/%d", slice->fd);
    return 0;
}

static uint64_t time_of(const csp_cpu_times *times, uint32_t cpu)
{
    return cpu < times->len ? times->data[cpu] : 0;
}

static void set_time(csp_cpu_times *times, uint32_t cpu, uint64_t time)
{
    while (times->len <= cpu)
        csp_vec_push(times, 0);
    times->data[cpu] = time;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_lasting(uint32_t type)
{
    switch (type) {
    case CSP_RECORD_MMAP:
    case CSP_RECORD_MMAP2:
    case CSP_RECORD_COMM:
    case CSP_RECORD_FORK:
    case CSP_RECORD_EXIT:
    case CSP_RECORD_AUX_OUTPUT_HW_ID:
        return true;
    default:
        return false;
    }
}

static bool is_passing(uint32_t type)
{
    switch (type) {
    case CSP_RECORD_SAMPLE:
    case CSP_RECORD_AUX:
    case CSP_RECORD_ITRACE_START:
    case CSP_RECORD_SWITCH:
    case CSP_RECORD_SWITCH_CPU_WIDE:
        return true;
    default:
        return false;
    }
}

static const uint8_t *keep_bytes(struct csp_slice_view *view, const struct csp_record *record)
{
    const uint8_t *at = record->body - RECORD_HEADER;
    if (at >= view->file.data && at < view->file.data + view->file.size)
        return at;
    uint8_t *copy = csp_arena_alloc(&view->expanded, record->size);
    memcpy(copy, at, record->size);
    return copy;
}

static void keep_record(struct csp_slice_view *view, const struct csp_record *record)
{
    if (is_lasting(record->type)) {
        struct csp_record kept = *record;
        kept.body = keep_bytes(view, record) + RECORD_HEADER;
        csp_vec_push(&view->lasting, kept);
    } else if (is_passing(record->type)) {
        csp_vec_push(&view->passing,
                     (struct sliced_record){.at = keep_bytes(view, record),
                                            .time = record->time,
                                            .cpu = record->cpu,
                                            .size = record->size,
                                            .is_sample = record->type == CSP_RECORD_SAMPLE});
    }
}

/* Records are read once, whatever is to be known of them. */
static bool read_image(struct csp_slice *slice, struct csp_slice_view *view)
{
    struct csp_records *records;
    struct csp_record record;
    if (csp_file_map(&view->file, slice->path, NULL) != 0)
        return false;
    if (csp_perfdata_open(&view->reader, &view->file, NULL) != 0 ||
        csp_records_open(&records, view->reader, CSP_ORDER_FILE, NULL) != 0)
        return false;
    while (csp_records_next(records, &record)) {
        csp_auxtrace_add(&view->aux, &record, NULL);
        keep_record(view, &record);
        if (record.type < CSP_RECORD_USER && record.time && record.cpu != CSP_NO_TID)
            set_time(&view->newest, record.cpu,
                     later(record.time, time_of(&view->newest, record.cpu)));
    }
    csp_records_close(records);
    csp_auxtrace_finish(&view->aux, NULL);
    return true;
}

/* ---- bounds ---- */

/* Trace that becomes complete together: that of a TRBE belongs to its CPU, that of an ETR to all
 * CPUs which use it. */
static uint64_t sink_of(const struct csp_slice_view *view, bool raw, uint32_t cpu)
{
    const struct csp_cs_etm_cpu *unit = csp_cs_etm_info_cpu(&view->aux.cs_etm, cpu);
    return raw ? cpu : unit ? unit->sink_id : 0;
}

struct stored { /* a fragment with trace */
    uint64_t sink, time, size;
};

static int by_sink_and_time(const void *left, const void *right)
{
    const struct stored *a = left, *b = right;
    if (a->sink != b->sink)
        return a->sink < b->sink ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Of one sink's fragments: when the newest was stored, and what was stored before the context. */
static void bound_sink(const struct stored *stored, size_t count, uint64_t context, uint64_t *to,
                       uint64_t *since)
{
    uint64_t bytes = 0;
    size_t first = count;
    while (first > 0 && bytes < context && count - first < CONTEXT_RECORDS)
        bytes += stored[--first].size;
    *to = stored[count - 1].time;
    *since = first ? stored[first - 1].time : 0;
}

static void bound_by_trace(struct csp_slice *slice)
{
    const struct csp_slice_view *view = slice->view;
    CSP_VEC(struct stored) stored = {0};
    bool raw = false;
    for (size_t i = 0; i < view->aux.fragments.len; i++)
        raw |= view->aux.fragments.data[i].raw;
    for (size_t i = 0; i < view->aux.fragments.len; i++) {
        const struct csp_aux_fragment *fragment = &view->aux.fragments.data[i];
        uint64_t found = csp_auxtrace_found(&view->aux, fragment);
        if (found && found == fragment->aux_size && fragment->cpu != CSP_NO_TID)
            csp_vec_push(&stored,
                         (struct stored){sink_of(view, raw, fragment->cpu), fragment->time, found});
    }
    if (stored.len)
        qsort(stored.data, stored.len, sizeof *stored.data, by_sink_and_time);
    for (size_t i = 0, end; i < stored.len; i = end) {
        uint64_t to, since;
        for (end = i; end < stored.len && stored.data[end].sink == stored.data[i].sink;)
            end++;
        bound_sink(&stored.data[i], end - i, slice->context, &to, &since);
        for (size_t c = 0; c < view->aux.cs_etm.cpus.len; c++) {
            uint32_t cpu = view->aux.cs_etm.cpus.data[c].cpu;
            if (sink_of(view, raw, cpu) != stored.data[i].sink)
                continue;
            set_time(&slice->to, cpu, later(to, time_of(&slice->to, cpu)));
            set_time(&slice->since, cpu, since);
        }
    }
    csp_vec_free(&stored);
}

static void copy_times(csp_cpu_times *to, const csp_cpu_times *from)
{
    to->len = 0;
    for (size_t i = 0; i < from->len; i++)
        csp_vec_push(to, from->data[i]);
}

/* Everything counts, and nothing is context of what follows. */
static void bound_by_end(struct csp_slice *slice)
{
    const csp_cpu_times *newest = &slice->view->newest;
    for (uint32_t cpu = 0; cpu < newest->len; cpu++)
        set_time(&slice->to, cpu, later(newest->data[cpu], time_of(&slice->to, cpu)));
    copy_times(&slice->since, &slice->to);
}

static void count_samples(struct csp_slice *slice)
{
    for (size_t i = 0; i < slice->view->passing.len; i++) {
        const struct sliced_record *record = &slice->view->passing.data[i];
        slice->samples += record->is_sample && csp_slice_counts(slice, record->cpu, record->time);
    }
}

/* Samples that carry their trace wait for nothing. */
static bool are_complete(const struct csp_perfdata *reader)
{
    for (size_t i = 0; i < csp_perfdata_attr_count(reader); i++)
        if (csp_perfdata_attr(reader, i)->sample_type & CSP_SAMPLE_AUX)
            return true;
    return false;
}

bool csp_slice_bound(struct csp_slice *slice, bool all)
{
    slice->view = csp_calloc(1, sizeof *slice->view);
    copy_times(&slice->to, &slice->from);
    if (!read_image(slice, slice->view))
        return false;
    if (all || !slice->view->aux.has_info || are_complete(slice->view->reader))
        bound_by_end(slice);
    else
        bound_by_trace(slice);
    count_samples(slice);
    return slice->samples != 0;
}

void csp_slice_follow(struct csp_slice *slice, const struct csp_slice *before)
{
    copy_times(&slice->from, &before->to);
    copy_times(&slice->since, &before->since);
}

bool csp_slice_counts(const struct csp_slice *slice, uint32_t cpu, uint64_t time)
{
    return time > time_of(&slice->from, cpu) && time <= time_of(&slice->to, cpu);
}

/* ---- what the next slice needs ---- */

/* The process that a lasting record tells something of; CSP_NO_TID: the machine. */
static uint32_t process_of(const struct csp_record *record)
{
    struct csp_mmap_event mmap;
    struct csp_comm_event comm;
    struct csp_task_event task;
    if (csp_record_mmap(record, &mmap))
        return mmap.pid;
    if (csp_record_comm(record, &comm))
        return comm.pid;
    if (csp_record_task(record, &task))
        return task.pid;
    return CSP_NO_TID;
}

/* From the newest to the oldest: a process that ended before the context is not needed, unless a
 * process that is needed was forked from it and has its mappings. */
static void mark_needed(const struct csp_slice *slice, uint8_t *needed)
{
    struct csp_map ended = {0}; /* by process: 1, from its end back to its beginning */
    struct csp_map ids = {0};   /* trace IDs seen: what was told newest is what is true */
    for (size_t i = slice->view->lasting.len; i-- > 0;) {
        const struct csp_record *record = &slice->view->lasting.data[i];
        struct csp_task_event task;
        uint32_t pid = process_of(record);
        if (record->type == CSP_RECORD_AUX_OUTPUT_HW_ID) {
            needed[i] = !(*csp_map_at(&ids, record->cpu))++;
            continue;
        }
        if (record->type == CSP_RECORD_EXIT && csp_record_task(record, &task) &&
            task.pid == task.tid && record->time <= time_of(&slice->since, record->cpu))
            *csp_map_at(&ended, pid) = 1;
        needed[i] = !*csp_map_at(&ended, pid);
        if (record->type != CSP_RECORD_FORK || !csp_record_task(record, &task) ||
            task.pid == task.parent_pid)
            continue;
        if (needed[i])
            *csp_map_at(&ended, task.parent_pid) = 0;
        *csp_map_at(&ended, pid) = 0; /* what came before was another process of that number */
    }
    csp_map_free(&ended);
    csp_map_free(&ids);
}

static void carry_records(const struct csp_slice *slice, struct csp_writer *next)
{
    const struct csp_slice_view *view = slice->view;
    uint8_t *needed = csp_calloc(view->lasting.len + 1, 1);
    mark_needed(slice, needed);
    for (size_t i = 0; i < view->lasting.len; i++) {
        const struct csp_record *record = &view->lasting.data[i];
        if (needed[i])
            csp_write_raw(next, record->body - RECORD_HEADER, record->size);
    }
    free(needed);
    for (size_t i = 0; i < view->passing.len; i++) {
        const struct sliced_record *record = &view->passing.data[i];
        if (record->time > time_of(&slice->since, record->cpu))
            csp_write_raw(next, record->at, record->size);
    }
}

static void carry_trace(const struct csp_slice *slice, struct csp_writer *next)
{
    const struct csp_auxtrace *aux = &slice->view->aux;
    for (size_t i = 0; i < aux->fragments.len; i++) {
        const struct csp_aux_fragment *fragment = &aux->fragments.data[i];
        const struct csp_aux_queue *queue = &aux->queues.data[fragment->queue];
        if (fragment->time <= time_of(&slice->since, fragment->cpu))
            continue;
        for (uint32_t p = 0; p < csp_aux_piece_count(fragment); p++) {
            const struct csp_aux_piece part = csp_aux_piece(aux, fragment, p);
            struct csp_auxtrace_event event = {.size = part.size,
                                               .aux_offset = part.aux_offset,
                                               .idx = queue->idx,
                                               .tid = queue->tid,
                                               .cpu = queue->cpu};
            csp_write_auxtrace(next, &event, part.data);
        }
    }
}

void csp_slice_carry(const struct csp_slice *slice, struct csp_writer *next)
{
    if (!slice->view || !slice->view->reader)
        return;
    carry_records(slice, next);
    carry_trace(slice, next);
}

void csp_slice_close_view(struct csp_slice *slice)
{
    struct csp_slice_view *view = slice->view;
    if (!view)
        return;
    csp_auxtrace_free(&view->aux);
    csp_vec_free(&view->newest);
    csp_vec_free(&view->lasting);
    csp_vec_free(&view->passing);
    csp_arena_free(&view->expanded);
    if (view->reader)
        csp_perfdata_close(view->reader);
    if (view->file.path)
        csp_file_unmap(&view->file);
    free(view);
    slice->view = NULL;
}

void csp_slice_free(struct csp_slice *slice)
{
    csp_slice_close_view(slice);
    if (slice->fd >= 0)
        close(slice->fd);
    csp_vec_free(&slice->from);
    csp_vec_free(&slice->to);
    csp_vec_free(&slice->since);
    *slice = (struct csp_slice){.fd = -1};
}
