/* perf.data, byte by byte: both forms of the header, the order of records, compressed records, and
 * every kind of damage. */
#include "unit.h"

#include "perfdata_image.h"

#include <zstd.h>

/* LOST_SAMPLES with a time: u64 lost; under sample_id_all, u64 time. */
static const struct csp_attr timed = {
    .type = 1,
    .sample_type = CSP_SAMPLE_TIME,
    .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
};

static void add_lost(struct csp_buf *image, uint64_t lost, uint64_t time)
{
    image_record(image, CSP_RECORD_LOST_SAMPLES, 0, 24);
    csp_buf_add_u64(image, lost);
    csp_buf_add_u64(image, time);
}

/* "1@500 2@300 ..." : the lost counts and times of all records, in the order asked for. */
static const char *read_all(const struct csp_buf *image, enum csp_record_order order, char *message)
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
        assert_int_equal(csp_records_next(records, &record), 1);
        static const uint32_t expected[] = {CSP_NO_TID, 7, CSP_NO_TID};
        for (int i = 0; i < 3; i++) {
            assert_int_equal(csp_records_next(records, &record), 1);
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

/* One zstd stream of `plain`, cut into COMPRESSED records of a few bytes each. */
static void add_compressed(struct csp_buf *image, const struct csp_buf *plain, uint32_t type,
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

/* ---- damage ---- */

enum damage {
    EMPTY,
    NOT_PERF,
    SHORTER_THAN_MAGIC,
    OTHER_ENDIAN,
    HEADER_CUT,
    ATTR_SIZE_ZERO,
    ATTR_SIZE_ABSURD,
    ATTRS_BEYOND_END,
    NO_ATTRS,
    IDS_BEYOND_END,
    DATA_BEYOND_END,
    DATA_INSIDE_HEADER,
    DATA_CUT,
    DATA_SIZE_OVERFLOWS,
    NOT_COMPLETED,
    RECORD_OF_ZERO,
    RECORD_OF_FOUR,
    RECORD_BEYOND_END,
    RECORD_HEADER_CUT,
    AUXTRACE_BEYOND_END,
    AUXTRACE_OVERFLOWS,
    AUXTRACE_TOO_SHORT,
    FEATURES_BEYOND_END,
    COMPRESSED_GARBAGE,
    COMPRESSED_CUT,
    COMPRESSED_LENGTH,
    COMPRESSED_TWICE,
    COMPRESSED_ZERO_RECORD,
};

static void add_compressed_plain(struct csp_buf *image, struct csp_buf *plain)
{
    add_compressed(image, plain, CSP_RECORD_COMPRESSED, 4096);
    csp_buf_free(plain);
}

static void add_auxtrace(struct csp_buf *image, uint64_t size, uint16_t record_size)
{
    image_record(image, CSP_RECORD_AUXTRACE, 0, record_size);
    csp_buf_add_u64(image, size);
    for (unsigned i = 16; i < record_size; i++)
        csp_buf_add_u8(image, 0);
}

/* A good file of two records, 1@10 and 2@20, in which one thing is wrong. */
static void make_damaged(struct csp_buf *image, enum damage damage)
{
    struct csp_buf plain = {0};
    image_begin(image, &timed);
    add_lost(image, 1, 10);
    switch (damage) {
    case RECORD_OF_ZERO:
        image_record(image, CSP_RECORD_COMM, 0, 0);
        break;
    case RECORD_OF_FOUR:
        image_record(image, CSP_RECORD_COMM, 0, 4);
        break;
    case RECORD_BEYOND_END:
        image_record(image, CSP_RECORD_COMM, 0, 1000);
        break;
    case AUXTRACE_BEYOND_END:
        add_auxtrace(image, 4096, 48);
        break;
    case AUXTRACE_OVERFLOWS:
        add_auxtrace(image, UINT64_MAX - 47, 48);
        break;
    case AUXTRACE_TOO_SHORT:
        add_auxtrace(image, 0, 16);
        break;
    case COMPRESSED_GARBAGE:
        image_record(image, CSP_RECORD_COMPRESSED, 0, 16);
        csp_buf_add(image, "no zstd!", 8);
        break;
    case COMPRESSED_CUT:
        add_lost(&plain, 7, 15);
        plain.len -= 4;
        add_compressed_plain(image, &plain);
        break;
    case COMPRESSED_LENGTH:
        image_record(image, CSP_RECORD_COMPRESSED2, 0, 24);
        csp_buf_add_u64(image, 9);
        csp_buf_add_u64(image, 0);
        break;
    case COMPRESSED_TWICE:
        image_record(&plain, CSP_RECORD_COMPRESSED, 0, 16);
        csp_buf_add_u64(&plain, 0);
        add_compressed_plain(image, &plain);
        break;
    case COMPRESSED_ZERO_RECORD:
        image_record(&plain, CSP_RECORD_COMM, 0, 0);
        add_compressed_plain(image, &plain);
        break;
    default:
        break;
    }
    add_lost(image, 2, 20);
    if (damage == RECORD_HEADER_CUT)
        csp_buf_add_u32(image, CSP_RECORD_COMM);
    image_end(image);
    switch (damage) {
    case EMPTY:
        image->len = 0;
        break;
    case NOT_PERF:
        memcpy(image->data, "\177ELF\2\1\1", 8);
        break;
    case SHORTER_THAN_MAGIC:
        image->len = 7;
        break;
    case OTHER_ENDIAN:
        memcpy(image->data, "2ELIFREP", 8);
        break;
    case HEADER_CUT:
        image->len = 103;
        break;
    case ATTR_SIZE_ZERO:
        image_set64(image, 16, 0);
        break;
    case ATTR_SIZE_ABSURD:
        image_set64(image, 16, UINT64_C(1) << 40);
        break;
    case ATTRS_BEYOND_END:
        image_set64(image, 32, 144 * 1000);
        break;
    case NO_ATTRS:
        image_set64(image, 32, 0);
        break;
    case IDS_BEYOND_END:
        image_set64(image, 104 + IMAGE_ATTR + 8, 8000);
        break;
    case DATA_BEYOND_END:
        image_set64(image, 40, 100000);
        break;
    case DATA_INSIDE_HEADER:
        image_set64(image, 40, 8);
        break;
    case DATA_CUT:
        image->len -= 10;
        break;
    case DATA_SIZE_OVERFLOWS:
        image_set64(image, 48, UINT64_MAX);
        break;
    case NOT_COMPLETED:
        image_set64(image, 48, 0);
        break;
    case FEATURES_BEYOND_END:
        image->data[72] = 1 << 3; /* HOSTNAME, but no table after the records */
        break;
    default:
        break;
    }
}

static void damage_is_told_once_and_what_is_good_is_read(void **state)
{
    (void)state;
    static const struct {
        enum damage damage;
        const char *records;
        const char *message; /* "test.data: " before it */
    } rows[] = {
        {EMPTY, "not opened", "the file is empty, expected a perf.data file"},
        {NOT_PERF, "not opened", "not a perf.data file: expected magic PERFILE2 at offset 0"},
        {SHORTER_THAN_MAGIC, "not opened",
         "not a perf.data file: expected magic PERFILE2 at offset 0"},
        {OTHER_ENDIAN, "not opened",
         "recorded on a big-endian machine, which csprof does not read"},
        {HEADER_CUT, "not opened",
         "cut short inside the file header: 103 bytes, expected at least 104"},
        {ATTR_SIZE_ZERO, "not opened",
         "offset 16: attribute entries of 0 bytes, expected 80 to 65535; the header is damaged"},
        {ATTR_SIZE_ABSURD, "not opened",
         "offset 16: attribute entries of 1099511627776 bytes, expected 80 to 65535; the header is "
         "damaged"},
        {ATTRS_BEYOND_END, "not opened",
         "offset 24: the attributes (144000 bytes at 104) lie beyond the end of the file; it was "
         "cut short"},
        {NO_ATTRS, "not opened",
         "describes no event (no attributes); nothing in it can be understood"},
        {IDS_BEYOND_END, "not opened",
         "offset 104: the ids of attribute 0 (8000 bytes at 0) cannot all be in the file"},
        {DATA_BEYOND_END, "not opened",
         "offset 40: the records begin at 100000, outside the file of 296 bytes; it was cut short "
         "or is damaged"},
        {DATA_INSIDE_HEADER, "not opened",
         "offset 40: the records begin at 8, outside the file of 296 bytes; it was cut short or is "
         "damaged"},
        {DATA_CUT, "1@10 ",
         "cut short: the records should fill 48 bytes from offset 248 and the file has 286 bytes; "
         "reading what is there, without header features such as build-ids"},
        {DATA_SIZE_OVERFLOWS, "1@10 2@20 ",
         "cut short: the records should fill 18446744073709551615 bytes from offset 248 and the "
         "file has 296 bytes; reading what is there, without header features such as build-ids"},
        {NOT_COMPLETED, "1@10 2@20 ",
         "the recorder did not complete the file (data size 0 in its header); reading all complete "
         "records, without header features such as build-ids"},
        {RECORD_OF_ZERO, "1@10 ",
         "offset 272: a record of 0 bytes, expected at least 8; everything before it was read, 32 "
         "bytes were not"},
        {RECORD_OF_FOUR, "1@10 ",
         "offset 272: a record of 4 bytes, expected at least 8; everything before it was read, 32 "
         "bytes were not"},
        {RECORD_BEYOND_END, "1@10 ",
         "offset 272: cut short inside a record; everything before it was read, 32 bytes were not"},
        {RECORD_HEADER_CUT, "1@10 2@20 ",
         "offset 296: cut short inside a record; everything before it was read, 4 bytes were not"},
        {AUXTRACE_BEYOND_END, "1@10 ",
         "offset 272: cut short inside a record; everything before it was read, 72 bytes were not"},
        {AUXTRACE_OVERFLOWS, "1@10 ",
         "offset 272: cut short inside a record; everything before it was read, 72 bytes were not"},
        {AUXTRACE_TOO_SHORT, "1@10 ",
         "offset 272: cut short inside a record; everything before it was read, 40 bytes were not"},
        {FEATURES_BEYOND_END, "1@10 2@20 ",
         "the section of header feature 3 lies beyond the end of the file; it and the later "
         "features are unknown"},
        {COMPRESSED_GARBAGE, "1@10 2@20 ",
         "offset 272: the compressed records are damaged from here on (Unknown frame descriptor) "
         "and are not read"},
        {COMPRESSED_CUT, "1@10 2@20 ",
         "offset 272: the last compressed record ends inside a record; everything before it was "
         "read"},
        {COMPRESSED_LENGTH, "1@10 2@20 ",
         "offset 272: the compressed records are damaged from here on (a length beyond the record) "
         "and are not read"},
        {COMPRESSED_TWICE, "1@10 2@20 ",
         "offset 272: the compressed records are damaged from here on (compressed records inside "
         "them) and are not read"},
        {COMPRESSED_ZERO_RECORD, "1@10 2@20 ",
         "offset 272: the compressed records are damaged from here on (a record of less than 8 "
         "bytes) and are not read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char message[300], expected[300];
        struct csp_buf image;
        make_damaged(&image, rows[i].damage);
        snprintf(expected, sizeof expected, "test.data: %s", rows[i].message);
        assert_string_equal(read_all(&image, CSP_ORDER_FILE, message), rows[i].records);
        assert_string_equal(message, expected);
        read_all(&image, CSP_ORDER_TIME, message); /* the same story */
        assert_string_equal(message, expected);
        csp_buf_free(&image);
    }
}

/* Sections of ids may overlap in a crafted file: a thousand attributes, each with all of it. */
static void ids_are_not_read_more_often_than_the_file_can_hold_them(void **state)
{
    (void)state;
    struct csp_buf image = {0};
    struct csp_perfdata *reader;
    struct csp_diag diag = {0};
    enum { COUNT = 1000, END = 104 + COUNT * (IMAGE_ATTR + 16) };
    const uint64_t header[13] = {0x32454c4946524550, 104, IMAGE_ATTR + 16, 104, END - 104, END, 0};
    csp_buf_add(&image, header, sizeof header);
    for (unsigned i = 0; i < COUNT; i++) {
        csp_attr_encode(&timed, IMAGE_ATTR, &image);
        csp_buf_add_u64(&image, 0);
        csp_buf_add_u64(&image, END);
    }
    struct csp_file file = image_file(&image);
    assert_int_equal(csp_perfdata_open(&reader, &file, &diag), -CSP_ERR_INPUT);
    assert_int_equal(diag.failures, 1);
    csp_buf_free(&image);
}

/* Whoever cuts a file anywhere gets an error or some of its records, never a crash. */
static void every_prefix_of_a_file_is_safe(void **state)
{
    (void)state;
    char message[300];
    struct csp_buf image;
    make_damaged(&image, COMPRESSED_TWICE);
    for (size_t length = image.len; length-- > 0;) {
        struct csp_buf cut = {0};
        csp_buf_add(&cut, image.data, length);
        read_all(&cut, CSP_ORDER_TIME, message);
        assert_string_not_equal(message, "");
        csp_buf_free(&cut);
    }
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
        cmocka_unit_test(damage_is_told_once_and_what_is_good_is_read),
        cmocka_unit_test(ids_are_not_read_more_often_than_the_file_can_hold_them),
        cmocka_unit_test(every_prefix_of_a_file_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
