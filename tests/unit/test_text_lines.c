/* Texts read line by line: what stands there, and what is read of it. */
#include "unit.h"

#include "base/text_lines.h"

#include <string.h>

static struct csp_text_lines first_line(const char *text)
{
    struct csp_text_lines lines = csp_text_lines_of(text, strlen(text));
    assert_true(csp_text_lines_next(&lines));
    return lines;
}

static void lines_end_with_either_ending_or_the_text(void **state)
{
    static const char *expected[] = {"one", "", "two", "three"};
    const char *text = "one\n\r\ntwo\r\nthree";
    struct csp_text_lines lines = csp_text_lines_of(text, strlen(text));
    (void)state;
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(csp_text_lines_next(&lines));
        assert_int_equal(lines.number, i + 1);
        assert_int_equal(lines.line_end - lines.line, strlen(expected[i]));
        assert_true(csp_text_lines_take(&lines, expected[i]));
        assert_true(csp_text_lines_at_end(&lines));
    }
    assert_false(csp_text_lines_next(&lines));
    lines = csp_text_lines_of("", 0);
    assert_false(csp_text_lines_next(&lines));
}

static void what_is_taken_lies_in_the_line(void **state)
{
    (void)state;
    struct csp_text_lines lines = first_line(" \t->\n1");
    csp_text_lines_skip_blanks(&lines);
    assert_false(csp_text_lines_take(&lines, "->\n"));
    assert_true(csp_text_lines_take(&lines, "->"));
    uint64_t number;
    assert_false(csp_text_lines_take_number(&lines, 10, &number));
}

static void numbers(void **state)
{
    static const struct {
        const char *text;
        unsigned base;
        bool taken;
        uint64_t value;
        const char *left;
    } rows[] = {
        {"12:", 10, true, 12, ":"},
        {"12a", 10, true, 12, "a"},
        {"12aFg", 16, true, 0x12af, "g"},
        {"0x1", 16, true, 0, "x1"},
        {"18446744073709551615", 10, true, UINT64_MAX, ""},
        {"ffffffffffffffff-", 16, true, UINT64_MAX, "-"},
        {"18446744073709551616", 10, false, 0, NULL},
        {"10000000000000000", 16, false, 0, NULL},
        {"-1", 10, false, 0, NULL},
        {"", 16, false, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct csp_text_lines lines = csp_text_lines_of(rows[i].text, strlen(rows[i].text));
        csp_text_lines_next(&lines);
        uint64_t value;
        assert_int_equal(csp_text_lines_take_number(&lines, rows[i].base, &value), rows[i].taken);
        if (!rows[i].taken)
            continue;
        assert_int_equal(value, rows[i].value);
        assert_true(csp_text_lines_take(&lines, rows[i].left));
        assert_true(csp_text_lines_at_end(&lines));
    }
}

static void bytes_are_pairs_of_digits(void **state)
{
    uint8_t bytes[2];
    (void)state;
    struct csp_text_lines lines = first_line("0Aff1");
    assert_int_equal(csp_text_lines_take_bytes(&lines, bytes, sizeof bytes), 2);
    assert_int_equal(bytes[0], 0x0a);
    assert_int_equal(bytes[1], 0xff);
    assert_int_equal(csp_text_lines_take_bytes(&lines, bytes, sizeof bytes), 0);
    assert_true(csp_text_lines_take(&lines, "1"));
    lines = first_line("0x");
    assert_int_equal(csp_text_lines_take_bytes(&lines, bytes, sizeof bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_either_ending_or_the_text),
        cmocka_unit_test(what_is_taken_lies_in_the_line),
        cmocka_unit_test(numbers),
        cmocka_unit_test(bytes_are_pairs_of_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
