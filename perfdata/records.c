/* Iterating the records of a file, in its own order or by time. */
#include "base/big_vec.h"
#include "perfdata/expand.h"
#include "perfdata/identify.h"
#include "perfdata/pieces.h"
#include "perfdata/records_private.h"
#include "perfdata/sort.h"

#include <inttypes.h>
#include <string.h>

/* A recording may grow this much when decompressed for sorting; real ones grow 3 to 30 times. */
enum { EXPANSION_MAX = 256 };
/* So much of the file is mapped at once and given back, and a record's size has 16 bits. */
enum { EXPECTED = 4 << 20, RECORD_SIZE_MAX = 1 << 16, RECORD_SIZE_MIN = 8 };

struct csp_records {
    const struct csp_perfdata *reader;
    struct csp_diag *diag;
    enum csp_record_order order;
    struct csp_record_counts counts;
    uint64_t at, end;     /* next record in the file, and behind the last */
    uint64_t limit;       /* no record that begins here or behind */
    const uint8_t *ahead; /* csp_records_fetch */
    bool fetches;
    uint64_t first;       /* ordinal of the first one */
    uint64_t expected_to; /* csp_file_expect */
    uint64_t done_to;     /* csp_file_done */
    bool stopped;
    /* The compressed stream. */
    struct csp_expander *expander; /* null until the first compressed record */
    uint64_t compressed_offset;    /* of the record being expanded */
    bool expanding, expander_broken;
    size_t consume; /* bytes of the record that was delivered last */
    struct csp_identifier identifier;
    bool is_section; /* knows all ID_INDEX records, and has no compressed ones */
    bool is_told;    /* struct csp_section */
    /* CSP_ORDER_TIME. Records without a time come first. They lie between the others, which would
     * be no stretches without them. */
    CSP_VEC(struct csp_sort_entry) untimed, sorted;
    size_t next;              /* of both */
    struct csp_pieces pieces; /* of the file */
    struct csp_arena arena;   /* contents of compressed records, each after its file offset */
    uint64_t arena_bytes;
};

static void count(struct csp_records *records, struct csp_record *record)
{
    struct csp_record_counts *counts = &records->counts;
    record->ordinal = records->first + counts->total++;
    if (record->type < CSP_RECORD_TYPES)
        counts->by_type[record->type]++;
    else
        counts->other++;
}

static void lose(struct csp_records *records, uint64_t offset, uint64_t size)
{
    if (!records->counts.lost_bytes)
        records->counts.cut_offset = offset;
    records->counts.lost_bytes += size;
}

/* The file ends inside a record, or nonsense stands where one should begin. */
static __attribute__((noinline)) void stop_at_damage(struct csp_records *records,
                                                     const struct csp_record *record)
{
    const struct csp_perfdata *reader = records->reader;
    uint64_t left = records->end - records->at;
    records->stopped = true;
    lose(records, records->at, left);
    if (left < 8 || record->size >= 8)
        csp_warn(records->diag,
                 "%s: offset %" PRIu64
                 ": cut short inside a record; everything before it was read, %" PRIu64
                 " bytes were not",
                 reader->file->path, records->at, left);
    else
        csp_warn(records->diag,
                 "%s: offset %" PRIu64
                 ": a record of %u bytes, expected at least 8; everything before it was read, "
                 "%" PRIu64 " bytes were not",
                 reader->file->path, records->at, record->size, left);
}

static void break_expander(struct csp_records *records, const char *reason)
{
    csp_warn(records->diag,
             "%s: offset %" PRIu64
             ": the compressed records are damaged from here on (%s) and are not read",
             records->reader->file->path, records->compressed_offset, reason);
    records->expander_broken = true;
    records->expanding = false;
}

/* The next record out of the compressed stream; false when it needs more input. */
static __attribute__((noinline)) bool next_expanded(struct csp_records *records,
                                                    struct csp_record *record)
{
    size_t size;
    const char *reason = "a record of less than 8 bytes";
    csp_expander_consume(records->expander, records->consume);
    records->consume = 0;
    const uint8_t *at = csp_expander_peek(records->expander, 8, &size, &reason);
    if (at && size >= 8)
        at = csp_expander_peek(records->expander, csp_load16(at + 6), &size, &reason);
    if (!at) {
        break_expander(records, reason);
        return false;
    }
    if (size < 8 || size < csp_load16(at + 6)) {
        records->expanding = false;
        return false;
    }
    if (!csp_record_split(record, at, size)) {
        break_expander(records, reason);
        return false;
    }
    if (record->payload_size) {
        break_expander(records, "trace inside them");
        return false;
    }
    record->offset = records->compressed_offset;
    records->consume = record->size;
    return true;
}

static void expand(struct csp_records *records, const struct csp_record *record)
{
    if (records->expander_broken) {
        lose(records, record->offset, record->size);
        return;
    }
    struct csp_cursor at = csp_cursor(record->body, record->body_size);
    uint64_t size = record->body_size;
    if (record->type == CSP_RECORD_COMPRESSED2)
        size = csp_cursor_u64(&at);
    const uint8_t *data = csp_cursor_take(&at, size);
    if (!records->expander)
        records->expander = csp_expander_create();
    records->compressed_offset = record->offset;
    records->expanding = true;
    if (data)
        csp_expander_feed(records->expander, data, size);
    else
        break_expander(records, "a length beyond the record");
}

/* What is left of the compressed stream when the file ends is a record without its end. */
static void end_expansion(struct csp_records *records)
{
    size_t size = 0;
    const char *reason;
    if (!records->expander || records->expander_broken ||
        !csp_expander_peek(records->expander, 0, &size, &reason) || !size)
        return;
    lose(records, records->compressed_offset, size);
    csp_warn(records->diag,
             "%s: offset %" PRIu64
             ": the last compressed record ends inside a record; everything before it was read",
             records->reader->file->path, records->compressed_offset);
}

static __attribute__((noinline)) void expect(struct csp_records *records)
{
    uint64_t left = records->end - records->at;
    csp_file_done(records->reader->file, records->done_to, records->at - records->done_to);
    csp_file_expect(records->reader->file, records->at, left < EXPECTED ? left : EXPECTED);
    records->expected_to = records->at + EXPECTED;
    records->done_to = records->at;
}

static __attribute__((noinline)) void stop_at_end(struct csp_records *records)
{
    records->stopped = true;
    end_expansion(records);
}

/* The next record as it is in the file; false at its end. */
static inline bool next_stored(struct csp_records *records, struct csp_record *record)
{
    uint64_t left = records->end - records->at;
    if (records->at >= records->limit) {
        stop_at_end(records);
        return false;
    }
    if (records->at + RECORD_SIZE_MAX > records->expected_to)
        expect(records);
    if (records->fetches)
        csp_records_fetch(&records->ahead, records->reader->file->data + records->at);
    if (!csp_record_split(record, records->reader->file->data + records->at, left)) {
        stop_at_damage(records, record);
        return false;
    }
    record->offset = records->at;
    records->at += record->size + record->payload_size;
    return true;
}

static void take_compressed(struct csp_records *records, const struct csp_record *record,
                            bool expanded)
{
    if (expanded)
        break_expander(records, "compressed records inside them");
    else if (records->is_section)
        records->stopped = true;
    else
        expand(records, record);
}

/* Of a record that perf wrote: false when the records in it come instead. */
static __attribute__((noinline)) bool take_own(struct csp_records *records,
                                               const struct csp_record *record, bool expanded)
{
    if (record->type == CSP_RECORD_COMPRESSED || record->type == CSP_RECORD_COMPRESSED2) {
        take_compressed(records, record, expanded);
        return false;
    }
    if (record->type == CSP_RECORD_ID_INDEX && !records->is_section)
        csp_identifier_learn(&records->identifier, record);
    return true;
}

static bool next_in_file(struct csp_records *records, struct csp_record *record)
{
    while (!records->stopped) {
        bool expanded = records->expanding;
        if (!(expanded ? next_expanded(records, record) : next_stored(records, record)))
            continue;
        count(records, record);
        if (record->type < CSP_RECORD_USER) {
            records->counts.unknown_ids += !csp_identify(&records->identifier, record);
            return true;
        }
        if (take_own(records, record, expanded))
            return true;
    }
    return false;
}

static const uint8_t *keep_expanded(struct csp_records *records, const struct csp_record *record)
{
    uint8_t *copy = csp_arena_alloc(&records->arena, 8 + (size_t)record->size);
    memcpy(copy, &record->offset, 8);
    memcpy(copy + 8, record->body - 8, record->size);
    records->arena_bytes += record->size;
    return copy + 8;
}

static bool in_file(const struct csp_records *records, const uint8_t *at)
{
    const struct csp_file *file = records->reader->file;
    return at >= file->data && at < file->data + file->size;
}

static int sort_records(struct csp_records *records)
{
    const struct csp_file *file = records->reader->file;
    struct csp_record record;
    csp_pieces_begin(&records->pieces, file);
    while (next_in_file(records, &record)) {
        const uint8_t *at = record.body - 8;
        if (in_file(records, at))
            csp_pieces_add(&records->pieces, record.offset);
        else
            at = keep_expanded(records, &record);
        if (records->arena_bytes / EXPANSION_MAX > file->size)
            return csp_fail(records->diag, CSP_ERR_UNSUPPORTED,
                            "%s: offset %" PRIu64
                            ": the compressed records grow to more than %d times the file's size; "
                            "no recording does, so it is not read further",
                            file->path, record.offset, EXPANSION_MAX);
        struct csp_sort_entry entry = {record.time, at, record.ordinal};
        if (record.time)
            csp_big_vec_push(&records->sorted, entry);
        else
            csp_big_vec_push(&records->untimed, entry);
    }
    csp_sort_by_time(records->sorted.data, records->sorted.len);
    return 0;
}

static __attribute__((noinline)) bool next_by_time(struct csp_records *records,
                                                   struct csp_record *record)
{
    size_t number = records->next, first = records->untimed.len;
    if (number == first + records->sorted.len)
        return false;
    struct csp_sort_entry entry =
        number < first ? records->untimed.data[number] : records->sorted.data[number - first];
    records->next++;
    const struct csp_file *file = records->reader->file;
    bool plain = in_file(records, entry.at);
    csp_record_split(record, entry.at,
                     plain ? (uint64_t)(file->data + file->size - entry.at)
                           : csp_load16(entry.at + 6));
    record->offset = plain ? (uint64_t)(entry.at - file->data) : csp_load64(entry.at - 8);
    record->ordinal = entry.ordinal;
    if (plain)
        csp_pieces_read(&records->pieces, record->offset);
    csp_identify(&records->identifier, record);
    return true;
}

static struct csp_records *create(const struct csp_perfdata *reader, uint64_t begin, uint64_t end,
                                  struct csp_diag *diag)
{
    struct csp_records *records = csp_calloc(1, sizeof *records);
    records->reader = records->identifier.reader = reader;
    records->diag = diag;
    records->at = records->done_to = begin;
    records->end = records->limit = end;
    return records;
}

int csp_records_open(struct csp_records **out, const struct csp_perfdata *reader,
                     enum csp_record_order order, struct csp_diag *diag)
{
    struct csp_records *records = create(reader, reader->data_offset, reader->data_end, diag);
    records->order = order;
    int error = order == CSP_ORDER_TIME ? sort_records(records) : 0;
    if (error) {
        csp_records_close(records);
        records = NULL;
    }
    *out = records;
    return error;
}

struct csp_records *csp_records_open_section(const struct csp_perfdata *reader,
                                             const struct csp_section *section,
                                             const uint8_t *const *id_indexes,
                                             size_t id_index_count, struct csp_diag *diag)
{
    struct csp_records *records = create(reader, section->begin, section->end, diag);
    struct csp_record record;
    records->order = CSP_ORDER_FILE;
    records->first = section->begin / RECORD_SIZE_MIN;
    records->limit = section->limit;
    /* Whoever hopped as far as its end has done so. */
    records->fetches = section->limit != section->end || section->is_told;
    records->is_told = section->is_told;
    records->expected_to = UINT64_MAX; /* fetching does as much */
    records->is_section = true;
    for (size_t i = 0; i < id_index_count; i++) {
        csp_record_split(&record, id_indexes[i], csp_load16(id_indexes[i] + 6));
        csp_identifier_learn(&records->identifier, &record);
    }
    return records;
}

uint64_t csp_records_at(const struct csp_records *records)
{
    return records->at;
}

bool csp_records_concern_others(const struct csp_records *records)
{
    const struct csp_record_counts *counts = &records->counts;
    return counts->by_type[CSP_RECORD_ID_INDEX] || counts->by_type[CSP_RECORD_COMPRESSED] ||
           counts->by_type[CSP_RECORD_COMPRESSED2] || counts->lost_bytes;
}

bool csp_records_are_as_told(const struct csp_records *records)
{
    return records->is_told ? !csp_records_concern_others(records) : !records->counts.lost_bytes;
}

bool csp_records_next(struct csp_records *records, struct csp_record *record)
{
    if (records->order == CSP_ORDER_TIME)
        return next_by_time(records, record);
    return next_in_file(records, record);
}

void csp_records_rewind(struct csp_records *records)
{
    records->next = 0;
    csp_pieces_rewind(&records->pieces);
}

const struct csp_record_counts *csp_records_counts(const struct csp_records *records)
{
    return &records->counts;
}

void csp_records_close(struct csp_records *records)
{
    if (!records)
        return;
    csp_expander_destroy(records->expander);
    csp_big_vec_free(&records->untimed);
    csp_big_vec_free(&records->sorted);
    csp_pieces_free(&records->pieces);
    csp_identifier_free(&records->identifier);
    csp_arena_free(&records->arena);
    free(records);
}
