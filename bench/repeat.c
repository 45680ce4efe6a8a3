/* A large recording out of a small one: bench_repeat IN OUT COUNT writes the samples and the trace
 * of IN that many times, one behind the other, each time later. The timestamps in the trace stay
 * what they are, so that from the second time on only the records' times tell when it was. */
#include "perfdata/perfdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tools/perf/Documentation/perf.data-file-format.txt: struct perf_header. */
enum { HEADER_DATA = 40, HEADER_FLAGS = 72, HEADER_SIZE = 104, FEATURES = 256 };

/* A record that is repeated, and where in it the numbers lie that change. */
struct moving {
    uint64_t offset, size; /* with what follows an AUXTRACE record */
    uint32_t time, stream; /* offsets in the record; 0: none */
};

struct repeat {
    struct csp_file file;
    struct csp_perfdata *reader;
    CSP_VEC(struct moving) records;
    uint64_t first, last; /* times */
    uint64_t stream_end;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "bench_repeat: %s\n", what);
    exit(1);
}

static uint32_t count_bits(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

/* Of a sample in its body, behind IDENTIFIER, IP and TID; of another record in what ends it. */
static uint32_t time_offset(const struct csp_record *record, uint64_t sample_type)
{
    const uint64_t ids = CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_ID | CSP_SAMPLE_STREAM_ID |
                         CSP_SAMPLE_CPU | CSP_SAMPLE_IDENTIFIER;
    if (!(sample_type & CSP_SAMPLE_TIME) || !record->time)
        return 0;
    if (record->type == CSP_RECORD_SAMPLE)
        return 8 + 8 * count_bits(sample_type &
                                  (CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID));
    return record->size - 8 * count_bits(sample_type & ids) +
           8 * count_bits(sample_type & CSP_SAMPLE_TID);
}

static void take(struct repeat *repeat, const struct csp_record *record)
{
    const struct csp_attr *attr = csp_perfdata_attr(repeat->reader, record->attr);
    struct moving moving = {.offset = record->offset, .size = record->size + record->payload_size};
    const uint8_t *body = repeat->file.data + record->offset + 8;
    if (record->type == CSP_RECORD_AUX || record->type == CSP_RECORD_SAMPLE) {
        moving.time = time_offset(record, attr->sample_type);
        if (!moving.time)
            fail("a record without time");
        if (!repeat->first || record->time < repeat->first)
            repeat->first = record->time;
        if (record->time > repeat->last)
            repeat->last = record->time;
    }
    if (record->type == CSP_RECORD_AUX)
        moving.stream = 8;
    if (record->type == CSP_RECORD_AUXTRACE) {
        moving.stream = 16;
        uint64_t end = csp_load64(body) + csp_load64(body + 8);
        if (end > repeat->stream_end)
            repeat->stream_end = end;
    }
    csp_vec_push(&repeat->records, moving);
}

static void write_bytes(FILE *out, const void *data, size_t size)
{
    if (fwrite(data, 1, size, out) != size)
        fail("cannot write");
}

static uint64_t write_again(const struct repeat *repeat, FILE *out, uint64_t number)
{
    uint64_t written = 0;
    for (size_t i = 0; i < repeat->records.len; i++) {
        const struct moving *moving = &repeat->records.data[i];
        const uint8_t *record = repeat->file.data + moving->offset;
        uint32_t at = 0;
        const struct {
            uint32_t offset;
            uint64_t shift;
        } changes[] = {{moving->stream, number * repeat->stream_end},
                       {moving->time, number * (repeat->last - repeat->first + 1000000)}};
        for (unsigned k = 0; k < 2; k++) {
            if (!changes[k].offset)
                continue;
            uint64_t value = csp_load64(record + changes[k].offset) + changes[k].shift;
            write_bytes(out, record + at, changes[k].offset - at);
            write_bytes(out, &value, sizeof value);
            at = changes[k].offset + 8;
        }
        write_bytes(out, record + at, moving->size - at);
        written += moving->size;
    }
    return written;
}

/* The features lie behind the records, and a table before them tells where. */
static void write_features(const struct repeat *repeat, FILE *out, uint64_t data_end,
                           uint64_t added)
{
    const uint8_t *header = repeat->file.data;
    uint64_t at = data_end;
    for (unsigned i = 0; i < FEATURES; i++) {
        if (!(header[HEADER_FLAGS + i / 8] >> i % 8 & 1))
            continue;
        uint64_t entry[] = {csp_load64(header + at) + added, csp_load64(header + at + 8)};
        write_bytes(out, entry, sizeof entry);
        at += sizeof entry;
    }
    write_bytes(out, header + at, repeat->file.size - at);
}

int main(int argc, char **argv)
{
    struct repeat repeat = {0};
    struct csp_records *records;
    struct csp_record record;
    if (argc != 4) {
        fprintf(stderr, "usage: bench_repeat IN OUT COUNT\n");
        return 2;
    }
    if (csp_file_map(&repeat.file, argv[1], NULL) ||
        csp_perfdata_open(&repeat.reader, &repeat.file, NULL) ||
        csp_records_open(&records, repeat.reader, CSP_ORDER_FILE, NULL))
        fail("not a recording");
    while (csp_records_next(records, &record))
        if (record.type == CSP_RECORD_AUX || record.type == CSP_RECORD_SAMPLE ||
            record.type == CSP_RECORD_AUXTRACE || record.type == CSP_RECORD_FINISHED_ROUND)
            take(&repeat, &record);
    csp_records_close(records);
    uint64_t data = csp_load64(repeat.file.data + HEADER_DATA);
    uint64_t size = csp_load64(repeat.file.data + HEADER_DATA + 8), added = 0;
    FILE *out = fopen(argv[2], "w");
    if (!out)
        fail("cannot write");
    write_bytes(out, repeat.file.data, data + size);
    for (uint64_t i = 1; i < strtoull(argv[3], NULL, 0); i++)
        added += write_again(&repeat, out, i);
    write_features(&repeat, out, data + size, added);
    uint64_t whole = size + added;
    if (fseek(out, HEADER_DATA + 8, SEEK_SET) || fwrite(&whole, sizeof whole, 1, out) != 1 ||
        fclose(out))
        fail("cannot write");
    csp_vec_free(&repeat.records);
    csp_perfdata_close(repeat.reader);
    csp_file_unmap(&repeat.file);
    return 0;
}
