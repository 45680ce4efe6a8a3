/* Files of LOST_SAMPLES records, plain and compressed, and what is read of them. */
#ifndef CSP_TESTS_LOST_RECORDS_H
#define CSP_TESTS_LOST_RECORDS_H

#include "unit.h"

#include "perfdata_image.h"

#include <zstd.h>

/* LOST_SAMPLES with a time: u64 lost; under sample_id_all, u64 time. */
static const struct csp_attr timed = {
    .type = 1,
    .sample_type = CSP_SAMPLE_TIME,
    .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
};

static inline void add_lost(struct csp_buf *image, uint64_t lost, uint64_t time)
{
    image_record(image, CSP_RECORD_LOST_SAMPLES, 0, 24);
    csp_buf_add_u64(image, lost);
    csp_buf_add_u64(image, time);
}

/* "1@500 2@300 ..." : the lost counts and times of all records, in the order asked for. */
static inline const char *read_all(const struct csp_buf *image, enum csp_record_order order,
                                   char *message)
{
    static char text[512];
    struct csp_file file = image_file(image);
    struct csp_diag diag = {.emit = image_message, .user = message};
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_record record;
    size_t used = 0;
    *message = '\0';
    *text = '\0';
    if (csp_perfdata_open(&reader, &file, &diag))
        return "not opened";
    if (csp_records_open(&records, reader, order, &diag)) {
        csp_perfdata_close(reader);
        return "not readable";
    }
    while (csp_records_next(records, &record)) {
        struct csp_lost_event lost = {0};
        if (csp_record_lost(&record, &lost))
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%llu@%llu ",
                                 (unsigned long long)lost.lost, (unsigned long long)record.time);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "type%u ", record.type);
    }
    csp_records_close(records);
    csp_perfdata_close(reader);
    return text;
}

/* One zstd stream of `plain`, cut into COMPRESSED records of a few bytes each. */
static inline void add_compressed(struct csp_buf *image, const struct csp_buf *plain, uint32_t type,
                                  size_t piece)
{
    char packed[4096];
    size_t size = ZSTD_compress(packed, sizeof packed, plain->data, plain->len, 3);
    assert_false(ZSTD_isError(size));
    for (size_t at = 0; at < size; at += piece) {
        size_t here = size - at < piece ? size - at : piece;
        if (type == CSP_RECORD_COMPRESSED) {
            image_record(image, type, 0, (uint16_t)(8 + here));
            csp_buf_add(image, packed + at, here);
            continue;
        }
        size_t padding = (8 - here % 8) % 8; /* COMPRESSED2: u64 size, bytes, padding */
        image_record(image, type, 0, (uint16_t)(16 + here + padding));
        csp_buf_add_u64(image, here);
        csp_buf_add(image, packed + at, here);
        csp_buf_add(image, "\xff\xff\xff\xff\xff\xff\xff", padding);
    }
}

#endif
