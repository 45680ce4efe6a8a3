/* perf.data, byte by byte: both forms of the header, the order of records, compressed records. */
#include "lost_records.h"

/* As perf 7 records the resume and pause events: per CPU, but without CPU in their samples. */
static void a_cpu_that_only_the_id_index_tells_is_filled_in(void **state)
{
    (void)state;
    static const struct csp_attr attr = {
        .type = 1,
        .sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_TIME,
        .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
    };
    for (int order = CSP_ORDER_FILE; order <= CSP_ORDER_TIME; order++) {
        struct csp_buf image;
        image_begin(&image, &attr);
        image_record(&image, CSP_RECORD_ID_INDEX, 0, 8 + 8 + 2 * 32);
        csp_buf_add_u64(&image, 2);
        for (uint64_t cpu = 0; cpu < 2; cpu++) {
            csp_buf_add_u64(&image, 100 + cpu); /* id */
            csp_buf_add_u64(&image, 0);         /* ring */
            csp_buf_add_u64(&image, cpu ? 7 : UINT64_MAX);
            csp_buf_add_u64(&image, 55); /* thread */
        }
        for (uint64_t id = 100; id < 103; id++) {
            image_record(&image, CSP_RECORD_SAMPLE, 0, 24);
            csp_buf_add_u64(&image, id);
            csp_buf_add_u64(&image, 1000 + id);
        }
        image_end(&image);
        struct csp_file file = image_file(&image);
        struct csp_perfdata *reader;
        struct csp_records *records;
        struct csp_record record;
        assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
        assert_int_equal(csp_records_open(&records, reader, order, NULL), 0);
        assert_true(csp_records_next(records, &record));
        static const uint32_t expected[] = {CSP_NO_TID, 7, CSP_NO_TID};
        for (int i = 0; i < 3; i++) {
            assert_true(csp_records_next(records, &record));
            assert_int_equal(record.cpu, expected[i]);
        }
        csp_records_close(records);
        csp_perfdata_close(reader);
        csp_buf_free(&image);
    }
}

static void records_come_in_file_order_or_by_time(void **state)
{
    (void)state;
    char message[300];
    struct csp_buf image;
    image_begin(&image, &timed);
    add_lost(&image, 1, 500); /* the ring of one CPU */
    add_lost(&image, 2, 700);
    add_lost(&image, 3, 300); /* that of another */
    add_lost(&image, 4, 500); /* the same time as 1, later in the file */
    image_record(&image, CSP_RECORD_FINISHED_ROUND, 0, 8);
    add_lost(&image, 5, 100);
    image_end(&image);
    assert_string_equal(read_all(&image, CSP_ORDER_FILE, message),
                        "1@500 2@700 3@300 4@500 type68 5@100 ");
    /* What has no time comes first; equal times keep the order of the file. */
    assert_string_equal(read_all(&image, CSP_ORDER_TIME, message),
                        "type68 5@100 3@300 1@500 4@500 2@700 ");
    assert_string_equal(message, "");
    csp_buf_free(&image);
}

static void sorting_is_right_for_any_mixture_of_stretches(void **state)
{
    (void)state;
    struct csp_file file;
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_record record;
    struct csp_buf image;
    uint32_t random = 1;
    for (unsigned count = 0; count < 40; count++) {
        uint64_t time = 0, ordinal = 0, seen = 0;
        image_begin(&image, &timed);
        for (unsigned i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            add_lost(&image, i, 1 + (random >> 20) % (1 + count / 2));
        }
        image_record(&image, 200, 0, 8); /* of a kind we do not know: no time */
        image_end(&image);
        file = image_file(&image);
        assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
        assert_int_equal(csp_records_open(&records, reader, CSP_ORDER_TIME, NULL), 0);
        for (; csp_records_next(records, &record); seen++) {
            assert_true(record.time > time || (record.time == time && record.ordinal >= ordinal));
            time = record.time;
            ordinal = record.ordinal;
        }
        assert_int_equal(seen, count + 1);
        assert_int_equal(csp_records_counts(records)->other, 1);
        csp_records_close(records);
        csp_perfdata_close(reader);
        csp_buf_free(&image);
    }
}

/* In a pipe the attribute is a record: its bytes, then its ids. */
static void a_pipe_carries_its_header_as_records(void **state)
{
    (void)state;
    struct csp_attr attr = timed;
    struct csp_buf image = {0};
    attr.sample_type |= CSP_SAMPLE_IDENTIFIER;
    csp_buf_add_string(&image, "PERFILE2");
    csp_buf_add_u64(&image, 16); /* the size of this header tells that it is a pipe's */
    for (uint64_t id = 70; id < 90; id += 10) {
        image_record(&image, CSP_RECORD_HEADER_ATTR, 0, 8 + 128 + 8);
        csp_attr_encode(&attr, 128, &image);
        csp_buf_add_u64(&image, id);
    }
    image_record(&image, CSP_RECORD_HEADER_FEATURE, 0, 8 + 8 + 4 + 8);
    csp_buf_add_u64(&image, 3); /* HOSTNAME: u32 length, text */
    csp_buf_add_u32(&image, 8);
    csp_buf_add(&image, "machine", 8);
    image_record(&image, CSP_RECORD_EVENT_UPDATE, 0, 8 + 24);
    csp_buf_add_u64(&image, 2); /* a name, for the event with this id */
    csp_buf_add_u64(&image, 80);
    csp_buf_add(&image, "cycles:u", 8);
    image_record(&image, CSP_RECORD_EVENT_UPDATE, 0, 8 + 24);
    csp_buf_add_u64(&image, 2);
    csp_buf_add_u64(&image, 80);
    csp_buf_add(&image, "cycles\0", 8);
    image_record(&image, CSP_RECORD_HEADER_BUILD_ID, CSP_MISC_CPUMODE_USER, 8 + 4 + 24 + 8);
    csp_buf_add_u32(&image, 100); /* pid; 20 bytes of build-id and 4 of padding; path */
    csp_buf_add(&image, "0123456789abcdefghij\0\0\0", 24);
    csp_buf_add(&image, "/bin/ab", 8);
    image_record(&image, CSP_RECORD_LOST_SAMPLES, 0, 8 + 8 + 16);
    csp_buf_add_u64(&image, 5);   /* lost */
    csp_buf_add_u64(&image, 900); /* time */
    csp_buf_add_u64(&image, 80);  /* identifier: last */

    struct csp_file file = image_file(&image);
    struct csp_perfdata *reader;
    struct csp_records *records;
    struct csp_record record;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    const struct csp_perfdata_info *info = csp_perfdata_info(reader);
    assert_true(info->pipe);
    assert_string_equal(info->hostname, "machine");
    assert_int_equal(info->build_id_count, 1);
    assert_int_equal(info->build_ids[0].build_id.size, 20);
    assert_string_equal(info->build_ids[0].path, "/bin/ab");
    assert_int_equal(csp_perfdata_attr_count(reader), 2);
    assert_int_equal(csp_perfdata_attr_of_id(reader, 80), 1);
    assert_null(csp_perfdata_attr(reader, 0)->name);
    assert_string_equal(csp_perfdata_attr(reader, 1)->name, "cycles"); /* the other lacked a NUL */
    assert_int_equal(csp_records_open(&records, reader, CSP_ORDER_FILE, NULL), 0);
    while (csp_records_next(records, &record) && record.type != CSP_RECORD_LOST_SAMPLES)
        continue;
    assert_int_equal(record.attr, 1);
    assert_int_equal(record.id, 80);
    assert_int_equal(record.time, 900);
    csp_records_close(records);
    csp_perfdata_close(reader);
    csp_buf_free(&image);
}

/* Kernels and tools differ in how much of the attribute they know. */
static void attributes_may_have_any_size(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint32_t size = sizes[i];
        struct csp_attr attr = timed;
        struct csp_buf image = {0};
        attr.clockid = 4;    /* at byte 92 */
        attr.aux_action = 2; /* at 116 */
        attr.config3 = 77;   /* at 128 */
        const uint64_t header[13] = {0x32454c4946524550, 104, size + 16, 104, size + 16,
                                     104 + size + 16,    24};
        csp_buf_add(&image, header, sizeof header);
        csp_attr_encode(&attr, size < 136 ? size : 136, &image);
        while (image.len < 104 + size) /* fields of the future */
            csp_buf_add_u8(&image, 0xee);
        csp_buf_add_u64(&image, 0);
        csp_buf_add_u64(&image, 0);
        add_lost(&image, 9, 8);
        struct csp_file file = image_file(&image);
        struct csp_perfdata *reader;
        assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
        const struct csp_attr *read = csp_perfdata_attr(reader, 0);
        assert_int_equal(read->raw_size, size);
        assert_int_equal(read->sample_type, CSP_SAMPLE_TIME);
        assert_int_equal(read->clockid, size >= 96 ? 4 : 0);
        assert_int_equal(read->aux_action, size >= 120 ? 2 : 0);
        assert_int_equal(read->config3, size >= 136 ? 77 : 0);
        csp_perfdata_close(reader);
        csp_buf_free(&image);
    }
}

/* ---- compressed records ---- */

static void compressed_records_hold_records_that_straddle_them(void **state)
{
    (void)state;
    char message[300];
    static const uint32_t types[] = {CSP_RECORD_COMPRESSED, CSP_RECORD_COMPRESSED2};
    for (size_t i = 0; i < 2; i++) {
        for (size_t piece = 1; piece < 200; piece += 7) {
            struct csp_buf image, plain = {0};
            image_begin(&image, &timed);
            add_lost(&plain, 1, 500);
            add_lost(&plain, 2, 300);
            add_lost(&plain, 3, 400);
            add_lost(&image, 4, 350);
            add_compressed(&image, &plain, types[i], piece);
            add_lost(&image, 5, 300);
            image_end(&image);
            assert_string_equal(read_all(&image, CSP_ORDER_FILE, message),
                                "4@350 1@500 2@300 3@400 5@300 ");
            assert_string_equal(read_all(&image, CSP_ORDER_TIME, message),
                                "2@300 5@300 4@350 3@400 1@500 ");
            assert_string_equal(message, "");
            csp_buf_free(&plain);
            csp_buf_free(&image);
        }
    }
}

static void records_larger_than_the_window_of_one_step_come_out_whole(void **state)
{
    (void)state;
    enum { COUNT = 40, SIZE = 65528 }; /* 2.6 MB out of a few kilobytes */
    struct csp_buf image, plain = {0};
    image_begin(&image, &timed);
    for (unsigned i = 0; i < COUNT; i++) {
        image_record(&plain, 200 + i, 0, SIZE);
        memset(csp_buf_reserve(&plain, SIZE - 8), (int)i, SIZE - 8);
        plain.len += SIZE - 8;
    }
    add_compressed(&image, &plain, CSP_RECORD_COMPRESSED, 1000);
    image_end(&image);
    struct csp_file file = image_file(&image);
    for (int order = CSP_ORDER_FILE; order <= CSP_ORDER_TIME; order++) {
        struct csp_perfdata *reader;
        struct csp_records *records;
        struct csp_record record;
        struct csp_diag diag = {0};
        unsigned i = 0;
        assert_int_equal(csp_perfdata_open(&reader, &file, &diag), 0);
        int error = csp_records_open(&records, reader, (enum csp_record_order)order, &diag);
        if (order == CSP_ORDER_TIME) {
            /* To sort, they would all have to be kept: far more than a recording grows by. */
            assert_int_equal(error, -CSP_ERR_UNSUPPORTED);
            csp_perfdata_close(reader);
            continue;
        }
        while (csp_records_next(records, &record)) {
            assert_int_equal(record.type, 200 + i);
            assert_int_equal(record.body_size, SIZE - 8);
            assert_int_equal(record.body[SIZE - 9], i);
            i++;
        }
        assert_int_equal(i, COUNT);
        csp_records_close(records);
        csp_perfdata_close(reader);
    }
    csp_buf_free(&plain);
    csp_buf_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_in_file_order_or_by_time),
        cmocka_unit_test(a_cpu_that_only_the_id_index_tells_is_filled_in),
        cmocka_unit_test(sorting_is_right_for_any_mixture_of_stretches),
        cmocka_unit_test(a_pipe_carries_its_header_as_records),
        cmocka_unit_test(attributes_may_have_any_size),
        cmocka_unit_test(compressed_records_hold_records_that_straddle_them),
        cmocka_unit_test(records_larger_than_the_window_of_one_step_come_out_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
