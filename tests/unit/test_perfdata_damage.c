/* perf.data with every kind of damage: it is told once, and what is good is read. */
#include "lost_records.h"

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
        cmocka_unit_test(damage_is_told_once_and_what_is_good_is_read),
        cmocka_unit_test(ids_are_not_read_more_often_than_the_file_can_hold_them),
        cmocka_unit_test(every_prefix_of_a_file_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
