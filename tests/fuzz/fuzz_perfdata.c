/* Any bytes at all, read as perf.data: they may be refused, but nothing worse may happen. */
#include "fuzz_perfdata.h"

#include "perfdata/perfdata.h"

/* Every byte that a sample points to is there: a sanitizer sees it when not. */
static uint64_t touch(const void *data, uint64_t size)
{
    const uint8_t *bytes = data;
    return bytes && size ? (uint64_t)bytes[0] + bytes[size - 1] : 0;
}

static uint64_t touch_sample(const struct csp_perfdata *reader, const struct csp_record *record)
{
    struct csp_sample_record sample;
    if (!csp_sample_parse(csp_perfdata_attr(reader, record->attr), record, &sample))
        return 0;
    return touch(sample.callchain, 8 * sample.callchain_len) +
           touch(sample.branches, 24 * sample.branch_len) + touch(sample.aux, sample.aux_size) +
           touch(sample.raw, sample.raw_size) + touch(sample.stack_user, sample.stack_user_size) +
           touch(sample.read, sample.read_size);
}

static uint64_t touch_trace(const struct csp_auxtrace *aux)
{
    uint64_t sum = 0, bytes = 0;
    for (size_t i = 0; i < aux->pieces.len; i++) {
        sum += touch(aux->pieces.data[i].data, aux->pieces.data[i].size);
        bytes += aux->pieces.data[i].size;
    }
    if (bytes > aux->stored_bytes)
        __builtin_trap(); /* a byte was delivered twice */
    if (aux->pieces.len > aux->fragments.len + aux->stored_bytes)
        __builtin_trap();
    return sum;
}

static uint64_t read_records(const struct csp_perfdata *reader, enum csp_record_order order)
{
    struct csp_records *records;
    struct csp_record record;
    struct csp_auxtrace aux = {0};
    uint64_t sum = 0;
    if (csp_records_open(&records, reader, order, NULL))
        return 0;
    struct csp_spaces *spaces = csp_spaces_create();
    csp_spaces_build_ids(spaces, csp_perfdata_info(reader));
    bool trace = true;
    while (csp_records_next(records, &record)) {
        sum += touch(record.body, record.body_size) + touch(record.payload, record.payload_size);
        sum += touch_sample(reader, &record);
        csp_spaces_add(spaces, &record);
        trace = trace && csp_auxtrace_add(&aux, &record, NULL) == 0;
        sum += csp_spaces_find(spaces, record.pid, record.time, record.offset) != NULL;
    }
    csp_auxtrace_finish(&aux, NULL);
    sum += touch_trace(&aux);
    csp_auxtrace_free(&aux);
    csp_spaces_destroy(spaces);
    csp_records_close(records);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile uint64_t sink;
    static char path[] = "fuzz";
    struct csp_file file = {.data = data, .size = size, .path = path};
    struct csp_perfdata *reader;
    if (csp_perfdata_open(&reader, &file, NULL) == 0) {
        sink += read_records(reader, CSP_ORDER_FILE);
        sink += read_records(reader, CSP_ORDER_TIME);
        csp_perfdata_close(reader);
    }
    return 0;
}
