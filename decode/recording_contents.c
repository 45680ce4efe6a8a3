#include "decode/recording_contents.h"

#include "base/big_vec.h"
#include "base/ordered.h"
#include "perfdata/sections.h"

#include <stdlib.h>

static void note_snapshot(struct csp_recording_contents *contents, const struct csp_attr *attr,
                          const struct csp_record *record)
{
    struct csp_sample_record sample;
    if (!csp_sample_parse(attr, record, &sample) || !sample.aux_size)
        return;
    csp_big_vec_push(&contents->snapshots, (struct csp_sample_trace){.data = sample.aux,
                                                                     .size = sample.aux_size,
                                                                     .time = record->time,
                                                                     .ordinal = record->ordinal,
                                                                     .cpu = record->cpu,
                                                                     .pid = record->pid,
                                                                     .tid = record->tid});
}

static void note_sample(struct csp_recording_contents *contents, const struct csp_perfdata *reader,
                        const struct csp_record *record)
{
    const struct csp_attr *attr = csp_perfdata_attr(reader, record->attr);
    contents->samples++;
    csp_first_samples_add(&contents->first_samples, record);
    if (csp_attr_closes_window(attr) || attr->aux_action & CSP_AUX_RESUME)
        csp_pause_index_add(&contents->pauses, reader, record);
    else if (attr->sample_type & CSP_SAMPLE_BRANCH_STACK)
        contents->native++;
    else
        contents->plain++;
    if (attr->sample_type & CSP_SAMPLE_AUX)
        note_snapshot(contents, attr, record);
}

/* Whether it may change what later records mean: tells of processes, clocks or queues. */
static bool tells_more(const struct csp_record *record)
{
    switch (record->type) {
    case CSP_RECORD_MMAP:
    case CSP_RECORD_MMAP2:
    case CSP_RECORD_COMM:
    case CSP_RECORD_FORK:
    case CSP_RECORD_EXIT:
    case CSP_RECORD_TIME_CONV:
    case CSP_RECORD_AUXTRACE_INFO:
    case CSP_RECORD_AUX_OUTPUT_HW_ID:
    case CSP_RECORD_ID_INDEX:
    case CSP_RECORD_LOST:
        return true;
    default:
        return false;
    }
}

static void note_record(struct csp_recording_contents *contents, const struct csp_perfdata *reader,
                        const struct csp_record *record)
{
    struct csp_lost_event lost;
    if (record->type == CSP_RECORD_SAMPLE) {
        csp_thread_owners_add_usual(&contents->owners, record);
        note_sample(contents, reader, record);
        return;
    }
    if (record->type == CSP_RECORD_AUX || record->type == CSP_RECORD_AUXTRACE) {
        csp_thread_owners_add_usual(&contents->owners, record);
        csp_auxtrace_add(&contents->aux, record, NULL);
        return;
    }
    csp_thread_owners_add(&contents->owners, record);
    csp_pause_index_add(&contents->pauses, reader, record);
    if (csp_record_lost(record, &lost))
        contents->lost += lost.lost;
    if (tells_more(record))
        csp_big_vec_push(&contents->others, *record);
}

static void note_all(struct csp_recording_contents *contents, const struct csp_perfdata *reader,
                     struct csp_records *records)
{
    struct csp_record record;
    while (csp_records_next(records, &record))
        note_record(contents, reader, &record);
    contents->lost_bytes += csp_records_counts(records)->lost_bytes;
    contents->cut_offset += csp_records_counts(records)->cut_offset;
}

/* ---- sections ---- */

static void append(struct csp_recording_contents *contents, struct csp_recording_contents *more)
{
    csp_pause_index_append(&contents->pauses, &more->pauses);
    csp_first_samples_append(&contents->first_samples, &more->first_samples);
    csp_auxtrace_append(&contents->aux, &more->aux);
    csp_thread_owners_append(&contents->owners, &more->owners);
    csp_big_vec_append(&contents->snapshots, &more->snapshots);
    csp_big_vec_append(&contents->others, &more->others);
    contents->samples += more->samples;
    contents->native += more->native;
    contents->plain += more->plain;
    contents->lost += more->lost;
    contents->lost_bytes += more->lost_bytes;
    contents->cut_offset += more->cut_offset;
    more->samples = more->native = more->plain = more->lost = 0;
    more->lost_bytes = more->cut_offset = 0;
}

struct reading {
    struct csp_recording_contents *contents;
    const struct csp_perfdata *reader;
    struct csp_sections *sections;
    struct csp_recording_contents *parts; /* by slot; null: a thread that is alone needs none */
    struct csp_diag *diag;
};

static void read_section(void *user, size_t number, unsigned worker, unsigned slot)
{
    struct reading *reading = user;
    struct csp_records *records = csp_sections_open(reading->sections, number, reading->diag);
    (void)worker;
    if (!records)
        return;
    note_all(reading->parts ? &reading->parts[slot] : reading->contents, reading->reader, records);
    csp_sections_close(reading->sections, records);
}

static int take_section(void *user, size_t number, unsigned slot)
{
    struct reading *reading = user;
    csp_sections_done(reading->sections, number + 1);
    if (reading->parts)
        append(reading->contents, &reading->parts[slot]);
    return 0;
}

static void read_sections(struct reading *reading, unsigned threads)
{
    unsigned slots = threads > 1 ? csp_ordered_slots(threads) : 0;
    reading->parts = slots ? csp_calloc(slots, sizeof *reading->parts) : NULL;
    csp_ordered_run(&(struct csp_ordered){.count = csp_sections_most(reading->sections),
                                          .threads = threads,
                                          .work = read_section,
                                          .take = take_section,
                                          .user = reading});
    for (unsigned i = 0; i < slots; i++)
        csp_recording_contents_free(&reading->parts[i]);
    free(reading->parts);
}

static void start_over(struct reading *reading)
{
    csp_recording_contents_free(reading->contents);
    reading->diag = NULL; /* it was told */
}

/* ---- putting in order ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int snapshots_by_time(const void *left, const void *right)
{
    const struct csp_sample_trace *a = left, *b = right;
    return a->time != b->time ? compare(a->time, b->time) : compare(a->ordinal, b->ordinal);
}

static int records_by_time(const void *left, const void *right)
{
    const struct csp_record *a = left, *b = right;
    return a->time != b->time ? compare(a->time, b->time) : compare(a->ordinal, b->ordinal);
}

static void put_in_order(struct csp_recording_contents *contents)
{
    csp_pause_index_finish(&contents->pauses);
    csp_first_samples_finish(&contents->first_samples);
    if (contents->snapshots.len)
        qsort(contents->snapshots.data, contents->snapshots.len, sizeof *contents->snapshots.data,
              snapshots_by_time);
    if (contents->others.len)
        qsort(contents->others.data, contents->others.len, sizeof *contents->others.data,
              records_by_time);
}

int csp_recording_contents_read(struct csp_recording_contents *contents,
                                const struct csp_perfdata *reader, unsigned threads,
                                struct csp_records **kept, struct csp_diag *diag)
{
    struct reading reading = {.contents = contents, .reader = reader, .diag = diag};
    int error = 0;
    reading.sections = csp_sections_create(reader, threads <= 1);
    read_sections(&reading, threads);
    if (csp_sections_start_over(reading.sections)) {
        csp_recording_contents_free(contents);
        read_sections(&reading, threads);
    }
    if (csp_sections_are_compressed(reading.sections)) {
        start_over(&reading);
        error = csp_records_open(kept, reader, CSP_ORDER_TIME, diag);
        if (!error)
            note_all(contents, reader, *kept);
    } else if (csp_sections_were_told_late(reading.sections)) {
        start_over(&reading);
        read_sections(&reading, threads);
    }
    csp_sections_destroy(reading.sections);
    put_in_order(contents);
    return error;
}

void csp_recording_contents_free(struct csp_recording_contents *contents)
{
    csp_pause_index_free(&contents->pauses);
    csp_first_samples_free(&contents->first_samples);
    csp_auxtrace_free(&contents->aux);
    csp_thread_owners_free(&contents->owners);
    csp_big_vec_free(&contents->snapshots);
    csp_big_vec_free(&contents->others);
    *contents = (struct csp_recording_contents){0};
}
