/* The small tools that everything else is built from. */
#include "unit.h"

#include "base/bytes.h"
#include "base/counted.h"
#include "base/distinct.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/json.h"
#include "base/map.h"
#include "base/numbers.h"
#include "base/ordered.h"
#include "base/parallel.h"
#include "base/parse.h"
#include "base/search.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void keep_message(void *user, enum csp_severity severity, const char *message)
{
    (void)severity;
    snprintf(user, 256, "%s", message);
}

static void what_is_counted_agrees_with_its_count(void **state)
{
    static const struct {
        uint64_t count;
        const char *noun, *text;
    } rows[] = {
        {0, "sample", "0 samples"},  {1, "sample", "1 sample"},
        {2, "sample", "2 samples"},  {1, "branch", "1 branch"},
        {3, "branch", "3 branches"}, {2, "process", "2 processes"},
        {1, "process", "1 process"}, {5, "entry", "5 entries"},
        {1, "entry", "1 entry"},     {2, "bad packet", "2 bad packets"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(CSP_COUNTED(rows[i].count, rows[i].noun), rows[i].text);
    assert_string_equal(csp_by_count(1, "was", "were"), "was");
    assert_string_equal(csp_by_count(0, "was", "were"), "were");
}

static void counts_take_si_and_iec_suffixes(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0},           {"1500", 1500},
        {"0x10", 16},       {"2k", 2000},
        {"2K", 2000},       {"2Ki", 2048},
        {"3MB", 3000000},   {"3MiB", 3 * 1048576},
        {"1G", 1000000000}, {"1TiB", UINT64_C(1) << 40},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t value = 99;
        assert_true(csp_parse_count(rows[i].text, &value));
        assert_int_equal(value, rows[i].value);
    }
    static const char *const wrong[] = {"", "-1", " 1", "1x", "1kk", "1Kib", "99999999999G", "M"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t value;
        assert_false(csp_parse_count(wrong[i], &value));
    }
}

static void leb128_reads_the_dwarf_examples(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0x02, 0x7f, 0x80, 0x01, 0xb9, 0x64,
                                    0x7e, 0xff, 0x00, 0x80, 0x7f};
    struct csp_cursor at = csp_cursor(bytes, sizeof bytes);
    assert_int_equal(csp_cursor_uleb(&at), 2);
    assert_int_equal(csp_cursor_uleb(&at), 127);
    assert_int_equal(csp_cursor_uleb(&at), 128);
    assert_int_equal(csp_cursor_uleb(&at), 12857);
    assert_int_equal(csp_cursor_sleb(&at), -2);
    assert_int_equal(csp_cursor_sleb(&at), 127);
    assert_int_equal(csp_cursor_sleb(&at), -128);
    assert_false(at.overrun);
    csp_cursor_u8(&at);
    assert_true(at.overrun);
}

/* At the end of the bytes it is read one by one, before that eight at once. */
static void leb128_is_the_same_wherever_it_lies(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        const uint64_t value = UINT64_C(0x9d3a5c7e1f2b4680) >> bits;
        const int64_t negative = -(int64_t)(value >> 1);
        struct csp_buf bytes = {0};
        for (uint64_t rest = value; rest >> 7 || !bytes.len; rest >>= 7)
            csp_buf_add_u8(&bytes, (uint8_t)(rest | 0x80));
        csp_buf_add_u8(&bytes, (uint8_t)(value >> 7 * bytes.len & (bytes.len == 9 ? 1 : 0x7f)));
        size_t first = bytes.len;
        for (int64_t rest = negative; rest < -64; rest >>= 7)
            csp_buf_add_u8(&bytes, (uint8_t)(rest | 0x80));
        csp_buf_add_u8(&bytes, (uint8_t)(negative >> 7 * (bytes.len - first) & 0x7f));
        for (size_t beyond = 0; beyond <= 8; beyond += 8) {
            struct csp_cursor at = csp_cursor(bytes.data, bytes.len + beyond);
            assert_int_equal(csp_cursor_uleb(&at), value);
            assert_int_equal(csp_cursor_sleb(&at), negative);
            assert_int_equal(csp_cursor_left(&at), beyond);
            csp_buf_reserve(&bytes, 8);
            memset(bytes.data + bytes.len, 0xff, 8);
        }
        csp_buf_free(&bytes);
    }
}

static void a_leb128_without_end_is_an_overrun(void **state)
{
    (void)state;
    static const uint8_t bytes[12] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    struct csp_cursor at = csp_cursor(bytes, sizeof bytes);
    csp_cursor_uleb(&at);
    assert_true(at.overrun);
}

static void equal_bytes_get_equal_numbers(void **state)
{
    (void)state;
    struct csp_intern table = {0};
    assert_int_equal(csp_intern_find(&table, "a", 1), CSP_INTERN_NONE);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(csp_intern(&table, &i, sizeof i), i);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(csp_intern_find(&table, &i, sizeof i), i);
    assert_int_equal(csp_intern_string(&table, "name"), 10000);
    assert_string_equal(csp_intern_text(&table, 10000), "name");
    assert_int_equal(csp_intern(&table, NULL, 0), 10001);
    /* Bytes of another table become this one's, without a copy. */
    struct csp_intern other = {0};
    csp_intern_string(&other, "elsewhere");
    const void *kept = other.entries.data[0].data;
    assert_int_equal(csp_intern_kept(&table, kept, 9), 10002);
    assert_int_equal(csp_intern_string(&table, "elsewhere"), 10002);
    csp_arena_take(&table.arena, &other.arena);
    csp_intern_free(&other);
    assert_ptr_equal(csp_intern_text(&table, 10002), kept);
    csp_intern_free(&table);
    /* where equal ones are not looked for */
    struct csp_intern repeats = {0};
    assert_int_equal(csp_intern_another(&repeats, "again", 5), 0);
    assert_int_equal(csp_intern_another(&repeats, "again", 5), 1);
    assert_string_equal(csp_intern_text(&repeats, 1), "again");
    csp_intern_free(&repeats);
}

static void numbers_keep_the_place_that_they_came_at(void **state)
{
    (void)state;
    struct csp_numbers numbers = {0};
    assert_int_equal(csp_numbers_find(&numbers, 0), CSP_NUMBERS_NONE);
    for (uint64_t i = 0; i < 10000; i++) { /* neighbours, and pairs with the same lower half */
        assert_int_equal(csp_numbers_at(&numbers, i), 2 * i);
        assert_int_equal(csp_numbers_at(&numbers, (i + 1) << 32), 2 * i + 1);
    }
    for (uint64_t i = 0; i < 10000; i++) {
        assert_int_equal(csp_numbers_at(&numbers, i), 2 * i);
        assert_int_equal(csp_numbers_find(&numbers, (i + 1) << 32), 2 * i + 1);
    }
    assert_int_equal(csp_numbers_find(&numbers, UINT64_MAX), CSP_NUMBERS_NONE);
    assert_int_equal(numbers.list.len, 20000);
    csp_numbers_free(&numbers);
}

static void bounds_are_on_both_sides_of_what_is_equal(void **state)
{
    (void)state;
    struct {
        char before;
        uint64_t address;
    } *none = NULL, items[] = {{'a', 10}, {'b', 20}, {'c', 20}, {'d', UINT64_MAX}};
    assert_int_equal(csp_lower_bound(items, 4, address, 9), 0);
    assert_int_equal(csp_lower_bound(items, 4, address, 20), 1);
    assert_int_equal(csp_upper_bound(items, 4, address, 20), 3);
    assert_int_equal(csp_lower_bound(items, 4, address, 21), 3);
    assert_int_equal(csp_upper_bound(items, 4, address, UINT64_MAX), 4);
    assert_int_equal(csp_upper_bound(none, 0, address, 20), 0);
}

static void a_map_finds_what_was_put_in(void **state)
{
    (void)state;
    struct csp_map map = {0};
    assert_null(csp_map_find(&map, 7));
    for (uint64_t key = 0; key < 100000; key += 7)
        *csp_map_at(&map, key << 12) += key;
    uint64_t sum = 0;
    size_t cursor = 0;
    for (struct csp_map_entry *e; (e = csp_map_next(&map, &cursor));)
        sum += e->key == e->value << 12;
    assert_int_equal(sum, map.len);
    assert_int_equal(*csp_map_find(&map, UINT64_C(700) << 12), 700);
    assert_null(csp_map_find(&map, 1));
    csp_map_free(&map);
}

static void json_nests_and_escapes(void **state)
{
    (void)state;
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_string(&json, "path", "a \"b\"\n");
    csp_json_array(&json, "cpus");
    csp_json_number(&json, NULL, 1);
    csp_json_number(&json, NULL, 2);
    csp_json_end(&json);
    csp_json_array(&json, "none");
    csp_json_end(&json);
    csp_json_real(&json, "ratio", 0.5);
    csp_json_end(&json);
    assert_string_equal(out.data, "{\n  \"path\": \"a \\\"b\\\"\\u000a\",\n  \"cpus\": [\n    1,\n"
                                  "    2\n  ],\n  \"none\": [],\n  \"ratio\": 0.5\n}\n");
    csp_buf_free(&out);
}

static void an_output_appears_only_when_complete(void **state)
{
    (void)state;
    char directory[] = "/tmp/csprof-test.XXXXXX";
    assert_non_null(mkdtemp(directory));
    char path[64];
    snprintf(path, sizeof path, "%s/out", directory);
    struct csp_output output;
    assert_int_equal(csp_output_open(&output, path, NULL), 0);
    fputs("half", output.stream);
    assert_int_not_equal(access(path, F_OK), 0);
    csp_output_abort(&output);
    assert_int_not_equal(access(path, F_OK), 0);

    assert_int_equal(csp_output_open(&output, path, NULL), 0);
    fputs("whole", output.stream);
    assert_int_equal(csp_output_commit(&output, NULL), 0);
    struct csp_file file;
    assert_int_equal(csp_file_map(&file, path, NULL), 0);
    assert_int_equal(file.size, 5);
    assert_memory_equal(file.data, "whole", 5);
    csp_file_unmap(&file);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

static void an_output_to_a_pipe_leaves_the_pipe(void **state)
{
    (void)state;
    char folder[] = "/tmp/csprof-test-XXXXXX", got[8] = {0};
    assert_non_null(mkdtemp(folder));
    char *path = csp_asprintf("%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDWR);
    struct csp_output output;
    assert_int_equal(csp_output_open(&output, path, NULL), 0);
    fputs("whole", output.stream);
    assert_int_equal(csp_output_commit(&output, NULL), 0);
    assert_int_equal(read(reader, got, sizeof got), 5);
    assert_string_equal(got, "whole");
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    close(reader);
    unlink(path);
    rmdir(folder);
    free(path);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    char message[256] = "";
    struct csp_diag diag = {.emit = keep_message, .user = message};
    struct csp_output output;
    assert_int_equal(csp_output_open(&output, "/dev/full", NULL), 0);
    fputs("x", output.stream);
    assert_int_equal(csp_output_commit(&output, &diag), -CSP_ERR_IO);
    assert_non_null(strstr(message, "No space left"));
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    char message[256] = "";
    struct csp_diag diag = {.emit = keep_message, .user = message};
    struct csp_file file;
    assert_int_equal(csp_file_map(&file, "/no/such/file", &diag), -CSP_ERR_INPUT);
    assert_string_equal(message, "/no/such/file: No such file or directory");
    assert_int_equal(csp_file_map(&file, "/tmp", &diag), -CSP_ERR_INPUT);
}

static void hexadecimal_is_as_printf_writes_it(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (uint64_t add = 0; add < 3; add++) {
            uint64_t value = (UINT64_C(0xfedcba9876543210) >> bit) + add;
            struct csp_buf fast = {0}, slow = {0};
            csp_buf_add_hex(&fast, value);
            csp_buf_printf(&slow, "%llx", (unsigned long long)value);
            assert_string_equal(fast.data, slow.data);
            csp_buf_free(&fast);
            csp_buf_free(&slow);
        }
    }
}

struct squares {
    uint64_t results[64]; /* by slot */
    uint64_t taken[100];
    size_t count, stop_at;
};

static void square(void *user, size_t item, unsigned worker, unsigned slot)
{
    struct squares *squares = user;
    assert_true(worker < 7);
    squares->results[slot] = item * item;
}

static int take_square(void *user, size_t item, unsigned slot)
{
    struct squares *squares = user;
    if (item == squares->stop_at)
        return -CSP_ERR_IO;
    squares->taken[squares->count++] = squares->results[slot];
    return 0;
}

static void no_more_threads_work_than_the_work_is_worth(void **state)
{
    (void)state;
    assert_int_equal(csp_parallel_worth(0, 1000, 10), 1);
    assert_int_equal(csp_parallel_worth(1, 1000, 10), 1);
    assert_int_equal(csp_parallel_worth(8, 0, 10), 1);
    assert_int_equal(csp_parallel_worth(8, 9, 10), 1);
    assert_int_equal(csp_parallel_worth(8, 10, 10), 2);
    assert_int_equal(csp_parallel_worth(8, 1000, 10), 8);
    assert_int_equal(csp_parallel_worth(8, UINT64_MAX, 1), 8);
}

static void results_are_taken_in_order_by_any_number_of_threads(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 7; threads++) {
        struct squares squares = {.stop_at = SIZE_MAX};
        struct csp_ordered job = {.count = 100,
                                  .threads = threads,
                                  .work = square,
                                  .take = take_square,
                                  .user = &squares};
        assert_int_equal(csp_ordered_run(&job), 0);
        assert_int_equal(squares.count, 100);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(squares.taken[i], i * i);
        squares = (struct squares){.stop_at = 40};
        assert_int_equal(csp_ordered_run(&job), -CSP_ERR_IO);
        assert_int_equal(squares.count, 40);
    }
}

/* What comes before the item's end, in pieces, as it may be too much to be held. */
struct pieces {
    struct csp_ordered_turns *turns;
    size_t order[200];
    size_t count;
    bool failed;
};

static void work_in_pieces(void *user, size_t item, unsigned worker, unsigned slot)
{
    struct pieces *pieces = user;
    (void)worker, (void)slot;
    if (item % 3 || !csp_ordered_await_turn(pieces->turns, item))
        return;
    pieces->order[pieces->count++] = item;
}

static int take_the_end(void *user, size_t item, unsigned slot)
{
    struct pieces *pieces = user;
    (void)slot;
    pieces->order[pieces->count++] = item;
    return pieces->failed && item == 20 ? -CSP_ERR_IO : 0;
}

static void a_large_result_is_taken_in_pieces_when_it_is_its_turn(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 7; threads++) {
        struct pieces pieces = {0};
        struct csp_ordered job = {.count = 99,
                                  .threads = threads,
                                  .work = work_in_pieces,
                                  .take = take_the_end,
                                  .user = &pieces,
                                  .turns = &pieces.turns};
        assert_int_equal(csp_ordered_run(&job), 0);
        assert_int_equal(pieces.count, 99 + 33);
        size_t at = 0;
        for (size_t item = 0; item < 99; item++) {
            if (item % 3 == 0)
                assert_int_equal(pieces.order[at++], item);
            assert_int_equal(pieces.order[at++], item);
        }
        pieces = (struct pieces){.failed = true};
        assert_int_equal(csp_ordered_run(&job), -CSP_ERR_IO);
    }
}

static uint64_t mix(uint64_t value) /* Steele and others' splitmix64 */
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static void distinct_values_are_counted_exactly_up_to_a_limit_and_estimated_beyond(void **state)
{
    (void)state;
    struct csp_distinct few = {0}, many = {0}, backwards = {0};
    for (uint64_t i = 0; i < 3000; i++)
        csp_distinct_add(&few, mix(i % 1000));
    assert_int_equal(csp_distinct_count(&few), 1000);
    const uint64_t count = 3 * (uint64_t)CSP_DISTINCT_MAX;
    for (uint64_t i = 0; i < count; i++) {
        csp_distinct_add(&many, mix(i));
        csp_distinct_add(&backwards, mix(count - 1 - i));
    }
    assert_int_equal(csp_distinct_count(&many), csp_distinct_count(&backwards));
    assert_in_range(csp_distinct_count(&many), count - count / 100, count + count / 100);
    assert_true(many.kept.len <= CSP_DISTINCT_MAX);
    csp_distinct_free(&few);
    csp_distinct_free(&many);
    csp_distinct_free(&backwards);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hexadecimal_is_as_printf_writes_it),
        cmocka_unit_test(results_are_taken_in_order_by_any_number_of_threads),
        cmocka_unit_test(a_large_result_is_taken_in_pieces_when_it_is_its_turn),
        cmocka_unit_test(no_more_threads_work_than_the_work_is_worth),
        cmocka_unit_test(distinct_values_are_counted_exactly_up_to_a_limit_and_estimated_beyond),
        cmocka_unit_test(what_is_counted_agrees_with_its_count),
        cmocka_unit_test(counts_take_si_and_iec_suffixes),
        cmocka_unit_test(leb128_reads_the_dwarf_examples),
        cmocka_unit_test(leb128_is_the_same_wherever_it_lies),
        cmocka_unit_test(a_leb128_without_end_is_an_overrun),
        cmocka_unit_test(equal_bytes_get_equal_numbers),
        cmocka_unit_test(numbers_keep_the_place_that_they_came_at),
        cmocka_unit_test(bounds_are_on_both_sides_of_what_is_equal),
        cmocka_unit_test(a_map_finds_what_was_put_in),
        cmocka_unit_test(json_nests_and_escapes),
        cmocka_unit_test(an_output_appears_only_when_complete),
        cmocka_unit_test(an_output_to_a_pipe_leaves_the_pipe),
        cmocka_unit_test(a_full_disk_is_reported),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
