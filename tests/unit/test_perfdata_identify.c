/* Which event a record is of, when and where it was written. */
#include "unit.h"

#include "perfdata/perfdata.h"
#include "perfdata_image.h"

/* The id fields of all other records: pid and tid, time, id, stream id, cpu, identifier. */
static void every_record_of_the_kernel_says_who_when_and_where(void **state)
{
    (void)state;
    static const struct csp_attr attr = {
        .sample_type = CSP_SAMPLE_TID | CSP_SAMPLE_TIME | CSP_SAMPLE_ID | CSP_SAMPLE_STREAM_ID |
                       CSP_SAMPLE_CPU | CSP_SAMPLE_IDENTIFIER,
        .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
    };
    struct csp_buf image;
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_record record;
    image_begin(&image, &attr);
    image_record(&image, CSP_RECORD_AUX, 0, 8 + 24 + 48);
    for (uint64_t i = 0; i < 3; i++)
        csp_buf_add_u64(&image, i);
    csp_buf_add_u32(&image, 100);
    csp_buf_add_u32(&image, 101);
    csp_buf_add_u64(&image, 5000);
    csp_buf_add_u64(&image, 12);
    csp_buf_add_u64(&image, 13);
    csp_buf_add_u64(&image, 3);
    csp_buf_add_u64(&image, 12);
    image_record(&image, CSP_RECORD_COMM, 0, 16); /* of a tool that leaves them out */
    csp_buf_add_u64(&image, 0);
    image_end(&image);
    struct csp_file file = image_file(&image);
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    assert_int_equal(csp_records_open(&records, reader, CSP_ORDER_FILE, NULL), 0);
    assert_true(csp_records_next(records, &record));
    assert_int_equal(record.body_size, 24); /* without them */
    assert_int_equal(record.pid, 100);
    assert_int_equal(record.tid, 101);
    assert_int_equal(record.time, 5000);
    assert_int_equal(record.id, 12);
    assert_int_equal(record.stream_id, 13);
    assert_int_equal(record.cpu, 3);
    assert_int_equal(record.ids, attr.sample_type);
    assert_true(csp_records_next(records, &record));
    assert_int_equal(record.ids, 0);
    assert_int_equal(record.body_size, 8);
    assert_int_equal(record.tid, CSP_NO_TID);
    csp_records_close(records);
    csp_perfdata_close(reader);
    csp_buf_free(&image);
}

/* Two events with an ID but no IDENTIFIER: it is found behind the fields that come first. */
static void events_are_told_apart_by_id(void **state)
{
    (void)state;
    static const struct csp_attr attr = {
        .sample_type = CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_ID | CSP_SAMPLE_CPU,
        .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
    };
    struct csp_buf image = {0};
    csp_buf_add_string(&image, "PERFILE2");
    csp_buf_add_u64(&image, 16);
    for (uint64_t id = 70; id < 90; id += 10) {
        image_record(&image, CSP_RECORD_HEADER_ATTR, 0, 8 + 128 + 8);
        csp_attr_encode(&attr, 128, &image);
        csp_buf_add_u64(&image, id);
    }
    for (uint64_t id = 70; id < 100; id += 10) {
        image_record(&image, CSP_RECORD_SAMPLE, 0, 8 + 32);
        csp_buf_add_u64(&image, 0x4000); /* IP */
        csp_buf_add_u64(&image, 0);      /* TID */
        csp_buf_add_u64(&image, id);
        csp_buf_add_u64(&image, 1); /* CPU */
        image_record(&image, CSP_RECORD_LOST_SAMPLES, 0, 8 + 8 + 24);
        csp_buf_add_u64(&image, 5);
        csp_buf_add_u64(&image, 0); /* TID */
        csp_buf_add_u64(&image, id);
        csp_buf_add_u64(&image, 1); /* CPU */
    }
    struct csp_file file = image_file(&image);
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_record record;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    assert_int_equal(csp_records_open(&records, reader, CSP_ORDER_FILE, NULL), 0);
    csp_records_next(records, &record);
    csp_records_next(records, &record);
    static const uint32_t expected[] = {0, 0, 1, 1, 0, 0};
    for (size_t i = 0; i < 6; i++) {
        assert_true(csp_records_next(records, &record));
        assert_int_equal(record.attr, expected[i]);
        assert_int_equal(record.cpu, 1);
    }
    assert_int_equal(csp_records_counts(records)->unknown_ids, 2); /* 90 is nobody's */
    csp_records_close(records);
    csp_perfdata_close(reader);
    csp_buf_free(&image);
}

/* Samples that do not say their CPU have that of their event, which ID_INDEX tells. */
static void an_event_tells_the_cpu_of_its_samples(void **state)
{
    (void)state;
    static const struct csp_attr attr = {.sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_ID};
    static const uint64_t cpus[][2] = {{7, 2}, {9, 4}}; /* of these ids */
    static const struct {
        uint64_t identifier, id;
        uint16_t size;
        uint64_t expected_id;
        uint32_t expected_cpu;
    } samples[] = {
        {7, 7, 16, 7, 2},          {9, 9, 16, 9, 4},          {7, 7, 16, 7, 2},
        {9, 7, 16, 7, 2},         /* the event is by the first, all else by the second */
        {9, 9, 8, 0, CSP_NO_TID}, /* cut short */
        {8, 8, 16, 8, CSP_NO_TID}, {0, 0, 16, 0, CSP_NO_TID},
    };
    enum { SAMPLES = sizeof samples / sizeof *samples };
    struct csp_buf image;
    image_begin(&image, &attr);
    image_record(&image, CSP_RECORD_ID_INDEX, 0, 8 + 8 + 2 * 32);
    csp_buf_add_u64(&image, 2);
    for (size_t i = 0; i < 2; i++) {
        csp_buf_add_u64(&image, cpus[i][0]);
        csp_buf_add_u64(&image, 0); /* ring */
        csp_buf_add_u64(&image, cpus[i][1]);
        csp_buf_add_u64(&image, 0); /* thread */
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        image_record(&image, CSP_RECORD_SAMPLE, 0, (uint16_t)(8 + samples[i].size));
        csp_buf_add_u64(&image, samples[i].identifier);
        if (samples[i].size == 16)
            csp_buf_add_u64(&image, samples[i].id);
    }
    image_end(&image);
    struct csp_file file = image_file(&image);
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_record record;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    assert_int_equal(csp_records_open(&records, reader, CSP_ORDER_FILE, NULL), 0);
    assert_true(csp_records_next(records, &record));
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_true(csp_records_next(records, &record));
        assert_int_equal(record.id, samples[i].expected_id);
        assert_int_equal(record.cpu, samples[i].expected_cpu);
    }
    assert_int_equal(csp_records_counts(records)->unknown_ids, 0); /* all are of one event */
    csp_records_close(records);
    csp_perfdata_close(reader);
    csp_buf_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_of_the_kernel_says_who_when_and_where),
        cmocka_unit_test(events_are_told_apart_by_id),
        cmocka_unit_test(an_event_tells_the_cpu_of_its_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
