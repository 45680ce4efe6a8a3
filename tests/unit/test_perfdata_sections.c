/* The sections of a file, one after the other, have the records that csp_records_open has. */
#include "lost_records.h"

#include "perfdata/sections.h"

enum { LOST_RECORDS = 100000, PAYLOAD = 3 << 20 };

static void add_id_index(struct csp_buf *image, uint64_t id, uint64_t cpu)
{
    image_record(image, CSP_RECORD_ID_INDEX, 0, 8 + 8 + 32);
    csp_buf_add_u64(image, 1);
    csp_buf_add_u64(image, id);
    csp_buf_add_u64(image, 0);
    csp_buf_add_u64(image, cpu);
    csp_buf_add_u64(image, 55);
}

/* Trace that is larger than a section. */
static void add_auxtrace(struct csp_buf *image)
{
    static const uint8_t payload[PAYLOAD];
    image_record(image, CSP_RECORD_AUXTRACE, 0, 48);
    csp_buf_add_u64(image, sizeof payload);
    for (int i = 0; i < 4; i++)
        csp_buf_add_u64(image, 0);
    csp_buf_add(image, payload, sizeof payload);
}

static void add_records(struct csp_buf *image)
{
    image_begin(image, &timed);
    for (uint64_t i = 0; i < LOST_RECORDS; i++) {
        add_lost(image, i, 1 + i * 7919 % LOST_RECORDS);
        if (i == LOST_RECORDS / 3)
            add_auxtrace(image);
    }
}

/* Compares the sections with all records, and returns how many there were. */
static size_t compare_sections(const struct csp_buf *image, bool is_alone, size_t lost_bytes)
{
    struct csp_file file = image_file(image);
    struct csp_perfdata *reader;
    struct csp_records *all, *section;
    struct csp_record expected, record;
    size_t number = 0, lost = 0;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    assert_int_equal(csp_records_open(&all, reader, CSP_ORDER_FILE, NULL), 0);
    struct csp_sections *sections = csp_sections_create(reader, is_alone);
    for (; (section = csp_sections_open(sections, number, NULL)); number++) {
        while (csp_records_next(section, &record)) {
            assert_int_equal(csp_records_next(all, &expected), 1);
            assert_memory_equal(&record, &expected, sizeof record);
        }
        lost += csp_records_counts(section)->lost_bytes;
        csp_sections_close(sections, section);
    }
    assert_int_equal(csp_records_next(all, &expected), 0);
    assert_int_equal(lost, csp_records_counts(all)->lost_bytes);
    assert_int_equal(lost, lost_bytes);
    assert_true(number <= csp_sections_most(sections));
    assert_false(csp_sections_are_compressed(sections));
    csp_sections_destroy(sections);
    csp_records_close(all);
    csp_perfdata_close(reader);
    return number;
}

/* They are the same whether they are found by hopping or by reading them. */
static size_t compare(const struct csp_buf *image, size_t lost_bytes)
{
    size_t count = compare_sections(image, false, lost_bytes);
    assert_int_equal(compare_sections(image, true, lost_bytes), count);
    return count;
}

static void sections_together_have_all_records(void **state)
{
    (void)state;
    struct csp_buf image;
    add_records(&image);
    image_end(&image);
    assert_int_equal(compare(&image, 0), 3);
    csp_buf_free(&image);
}

static void a_section_may_have_no_record(void **state)
{
    (void)state;
    struct csp_buf image;
    image_begin(&image, &timed);
    csp_buf_add_u64(&image, 0); /* less than any record needs */
    image_end(&image);
    assert_int_equal(compare(&image, 8), 1);
    csp_buf_free(&image);
}

static void what_is_damaged_belongs_to_one_section(void **state)
{
    (void)state;
    struct csp_buf image;
    add_records(&image);
    image_record(&image, CSP_RECORD_LOST_SAMPLES, 0, 4);
    add_lost(&image, 1, 1);
    image_end(&image);
    assert_int_equal(compare(&image, 8 + 24), 3);
    csp_buf_free(&image);
}

/* Whether somebody else has to read them is known when all sections were read. */
static void read_compressed(const struct csp_buf *image, bool is_alone)
{
    struct csp_file file = image_file(image);
    struct csp_perfdata *reader;
    struct csp_records *section;
    struct csp_record record;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    struct csp_sections *sections = csp_sections_create(reader, is_alone);
    for (size_t number = 0; (section = csp_sections_open(sections, number, NULL)); number++) {
        while (csp_records_next(section, &record))
            assert_int_equal(record.type, number ? CSP_RECORD_LOST_SAMPLES : CSP_RECORD_AUXTRACE);
        csp_sections_close(sections, section);
    }
    assert_true(csp_sections_are_compressed(sections));
    csp_sections_destroy(sections);
    csp_perfdata_close(reader);
}

static void compressed_records_are_left_to_others(void **state)
{
    (void)state;
    struct csp_buf image, plain = {0};
    add_lost(&plain, 1, 1);
    for (int is_behind = 0; is_behind < 2; is_behind++) { /* the first section */
        image_begin(&image, &timed);
        if (is_behind)
            add_auxtrace(&image);
        add_lost(&image, 1, 1);
        add_compressed(&image, &plain, CSP_RECORD_COMPRESSED, 4096);
        image_end(&image);
        read_compressed(&image, false);
        read_compressed(&image, true);
        csp_buf_free(&image);
    }
    csp_buf_free(&plain);
}

/* The CPU of the first record, which ID_INDEX tells. */
static uint32_t first_cpu(struct csp_sections *sections)
{
    struct csp_record first, record;
    struct csp_records *records = csp_sections_open(sections, 0, NULL);
    assert_int_equal(csp_records_next(records, &first), 1);
    while (csp_records_next(records, &record))
        ;
    csp_sections_close(sections, records);
    return first.cpu;
}

static void read_what_is_told_late(const struct csp_buf *image, bool is_alone)
{
    struct csp_file file = image_file(image);
    struct csp_perfdata *reader;
    struct csp_record record;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    struct csp_sections *sections = csp_sections_create(reader, is_alone);
    assert_int_equal(first_cpu(sections), CSP_NO_TID);
    assert_false(csp_sections_were_told_late(sections));
    struct csp_records *second = csp_sections_open(sections, 1, NULL);
    while (csp_records_next(second, &record))
        ;
    csp_sections_close(sections, second);
    assert_true(csp_sections_were_told_late(sections));
    assert_int_equal(first_cpu(sections), 7);
    csp_sections_destroy(sections);
    csp_perfdata_close(reader);
}

static void what_is_told_late_is_known_the_second_time(void **state)
{
    (void)state;
    static const struct csp_attr identified = {
        .type = 1,
        .sample_type = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_TIME,
        .flags = UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL,
    };
    struct csp_buf image;
    image_begin(&image, &identified);
    image_record(&image, CSP_RECORD_SAMPLE, 0, 24);
    csp_buf_add_u64(&image, 100);
    csp_buf_add_u64(&image, 1);
    add_auxtrace(&image);
    add_id_index(&image, 100, 6);
    add_id_index(&image, 100, 7);
    image_end(&image);
    read_what_is_told_late(&image, false);
    read_what_is_told_late(&image, true);
    csp_buf_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_together_have_all_records),
        cmocka_unit_test(a_section_may_have_no_record),
        cmocka_unit_test(what_is_damaged_belongs_to_one_section),
        cmocka_unit_test(compressed_records_are_left_to_others),
        cmocka_unit_test(what_is_told_late_is_known_the_second_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
