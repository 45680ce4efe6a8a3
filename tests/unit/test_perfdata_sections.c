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

/* The same record, be it of any ordinal that is larger than those before. */
static void compare_record(const struct csp_record *record, struct csp_record *expected,
                           uint64_t *next_ordinal)
{
    assert_true(record->ordinal >= *next_ordinal);
    *next_ordinal = record->ordinal + 1;
    expected->ordinal = record->ordinal;
    assert_memory_equal(record, expected, sizeof *record);
}

/* Reads all sections. Returns how many there were. */
static size_t read_sections(struct csp_sections *sections, struct csp_diag *diag)
{
    struct csp_records *section;
    struct csp_record record;
    size_t number = 0;
    for (; (section = csp_sections_open(sections, number, diag)); number++) {
        while (csp_records_next(section, &record))
            ;
        csp_sections_close(sections, section);
    }
    return number;
}

/* Compares the sections with all records, and returns how many there were. */
static size_t compare_sections(const struct csp_buf *image, bool is_alone, size_t lost_bytes,
                               bool is_misled)
{
    struct csp_file file = image_file(image);
    struct csp_perfdata *reader;
    struct csp_records *all, *section;
    struct csp_record expected, record;
    struct csp_diag diag = {0};
    size_t number = 0, lost = 0;
    uint64_t ordinal = 0;
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    assert_int_equal(csp_records_open(&all, reader, CSP_ORDER_FILE, NULL), 0);
    struct csp_sections *sections = csp_sections_create(reader, is_alone);
    if (is_misled) {
        read_sections(sections, &diag);
        assert_int_equal(diag.warnings, 0);
        assert_true(csp_sections_start_over(sections));
    }
    for (; (section = csp_sections_open(sections, number, &diag)); number++) {
        while (csp_records_next(section, &record)) {
            assert_true(csp_records_next(all, &expected));
            compare_record(&record, &expected, &ordinal);
        }
        lost += csp_records_counts(section)->lost_bytes;
        csp_sections_close(sections, section);
    }
    assert_false(csp_records_next(all, &expected));
    assert_int_equal(lost, csp_records_counts(all)->lost_bytes);
    assert_int_equal(diag.warnings, lost != 0);
    assert_false(csp_sections_start_over(sections));
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
    size_t count = compare_sections(image, false, lost_bytes, false);
    assert_int_equal(compare_sections(image, true, lost_bytes, false), count);
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
    assert_true(csp_records_next(records, &first));
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

/* Records between two of trace, and so a section if the index tells where those are. */
enum { BETWEEN = 60000, TRACES = 4 };

/* As an image begins that has an index: the places of the trace's records are left to it. */
static void add_traced(struct csp_buf *image, uint64_t places[TRACES])
{
    image_begin(image, &timed);
    for (uint64_t i = 0; i < TRACES * BETWEEN; i++) {
        add_lost(image, i, 1 + i);
        if (i % BETWEEN == BETWEEN - 1) {
            places[i / BETWEEN] = image->len;
            add_auxtrace(image);
        }
    }
    add_lost(image, 1, 1);
}

/* Completes it with an index. */
static void end_with_index(struct csp_buf *image, const uint64_t *places, uint64_t count)
{
    enum { FEATURES = 72, FEATURE_AUXTRACE = 18 };
    image_end(image);
    image_set64(image, FEATURES, 1 << FEATURE_AUXTRACE);
    csp_buf_add_u64(image, image->len + 16);
    csp_buf_add_u64(image, 8 + 16 * count);
    csp_buf_add_u64(image, count);
    for (uint64_t i = 0; i < count; i++) {
        csp_buf_add_u64(image, places[i]);
        csp_buf_add_u64(image, 48);
    }
}

static void the_index_of_trace_tells_where_sections_begin(void **state)
{
    (void)state;
    static const struct {
        int64_t off[TRACES]; /* what the index says instead of the right places, in bytes */
        bool is_misled;
        size_t sections; /* 9 of them where they are found by hopping */
    } cases[] = {
        {{0}, false, 6},
        {{0, 8}, true, 9},                                      /* into a record */
        {{0, 0, 4096}, true, 9},                                /* into trace */
        {{0, -24, -24}, false, 8},                              /* to another record */
        {{0, 0, -(BETWEEN * 24 + 48 + PAYLOAD)}, false, 8},     /* twice to the same */
        {{0, 0, 0, INT64_C(1) << 60}, false, 7},                /* far behind the file */
        {{-(INT64_C(1) << 60), -(INT64_C(1) << 60)}, false, 8}, /* before all records */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct csp_buf image;
        uint64_t places[TRACES];
        add_traced(&image, places);
        for (size_t trace = 0; trace < TRACES; trace++)
            places[trace] += (uint64_t)cases[i].off[trace];
        end_with_index(&image, places, TRACES);
        assert_int_equal(compare_sections(&image, false, 0, cases[i].is_misled), cases[i].sections);
        assert_int_equal(compare_sections(&image, true, 0, false), 9);
        csp_buf_free(&image);
    }
}

static void damage_is_told_once_whatever_the_index_says(void **state)
{
    (void)state;
    struct csp_buf image;
    uint64_t places[TRACES];
    add_traced(&image, places);
    size_t damaged = places[1] + 48 + PAYLOAD + (size_t)24 * 1000;
    memset(image.data + damaged + 6, 0, 2);
    end_with_index(&image, places, TRACES);
    size_t lost = image.len - (16 + 8 + 16 * TRACES) - damaged;
    compare_sections(&image, false, lost, true);
    compare_sections(&image, true, lost, false);
    csp_buf_free(&image);
}

static void what_concerns_others_is_heard_in_what_the_index_jumps_over(void **state)
{
    (void)state;
    struct csp_buf image;
    uint64_t places[3];
    struct csp_perfdata *reader;
    add_records(&image); /* more than a section */
    for (size_t i = 0; i < 3; i++) {
        places[i] = image.len;
        add_auxtrace(&image);
        add_id_index(&image, 100, 7);
    }
    end_with_index(&image, places, 3);
    struct csp_file file = image_file(&image);
    assert_int_equal(csp_perfdata_open(&reader, &file, NULL), 0);
    struct csp_sections *sections = csp_sections_create(reader, false);
    size_t count = read_sections(sections, NULL);
    assert_true(csp_sections_start_over(sections));
    assert_false(csp_sections_were_told_late(sections));
    assert_int_equal(read_sections(sections, NULL), count);
    assert_false(csp_sections_start_over(sections));
    assert_true(csp_sections_were_told_late(sections));
    csp_sections_destroy(sections);
    csp_perfdata_close(reader);
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
        cmocka_unit_test(the_index_of_trace_tells_where_sections_begin),
        cmocka_unit_test(damage_is_told_once_whatever_the_index_says),
        cmocka_unit_test(what_concerns_others_is_heard_in_what_the_index_jumps_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
