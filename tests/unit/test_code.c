/* Where instructions are, and which function an address is in. */
#include "unit.h"

#include "profgen/code.h"
#include "profgen/functions.h"

/* A letter is where an instruction begins (c: a call, b: a jump), and dashes what else it takes; a
 * dot is no instruction. */
static void add_code(struct csp_code *code, uint64_t start, const char *slots)
{
    uint64_t end = start;
    while (slots[end - start])
        end++;
    csp_code_add_section(code, start, end, NULL, 0);
    for (const char *slot = slots; *slot; slot++) {
        uint8_t marks = *slot == '-'   ? CSP_CODE_INSIDE
                        : *slot == '.' ? 0
                        : *slot == 'c' ? CSP_CODE_START | CSP_CODE_CALL
                        : *slot == 'b' ? CSP_CODE_START | CSP_CODE_BRANCH
                                       : CSP_CODE_START;
        csp_code_mark(code, start + (uint64_t)(slot - slots), marks);
    }
}

static int setup(void **state)
{
    static struct csp_code code;
    code = (struct csp_code){0};
    add_code(&code, 0x10, "x--x.c-b");
    add_code(&code, 0x20, "x-..x---c-");
    csp_code_seal(&code);
    *state = &code;
    return 0;
}

static int teardown(void **state)
{
    csp_code_free(*state);
    return 0;
}

static void what_is_marked_is_found(void **state)
{
    const struct csp_code *code = *state;
    assert_int_equal(csp_code_find(code, 0, CSP_CODE_CALL), 0x15);
    assert_int_equal(csp_code_find(code, 0x15, CSP_CODE_CALL), 0x15);
    assert_int_equal(csp_code_find(code, 0x16, CSP_CODE_CALL), 0x28);
    assert_int_equal(csp_code_find(code, 0x16, CSP_CODE_CALL | CSP_CODE_BRANCH), 0x17);
    assert_int_equal(csp_code_find(code, 0x29, CSP_CODE_CALL), 0);
    assert_int_equal(csp_code_from(code, 0x11), 0x13);
    assert_int_equal(csp_code_from(code, 0x18), 0x20);
}

static void instructions_that_begin_in_a_range_count_whole(void **state)
{
    const struct csp_code *code = *state;
    assert_int_equal(csp_code_bytes(code, 0x10, 0x18), 7);
    assert_int_equal(csp_code_bytes(code, 0x10, 0x11), 3);
    assert_int_equal(csp_code_bytes(code, 0x11, 0x13), 0);
    assert_int_equal(csp_code_bytes(code, 0, 0x100), 7 + 8);
    assert_int_equal(csp_code_bytes(code, 0x17, 0x21), 1 + 2);
    assert_int_equal(csp_code_bytes(code, 0x20, 0x20), 0);
}

static void an_address_is_in_one_function_whatever_was_asked_before(void **state)
{
    (void)state;
    struct csp_functions functions = {0};
    static const struct csp_function_range ranges[] = {
        {.start = 10, .end = 20, .function = 0},
        {.start = 20, .end = 40, .function = 1},
        {.start = 25, .end = 30, .function = 2},
        {.start = 50, .end = 60, .function = 0},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        csp_vec_push(&functions.ranges, ranges[i]);
    for (uint64_t before = 0; before < 70; before++)
        for (uint64_t address = 0; address < 70; address++) {
            size_t last = 0;
            csp_functions_near(&functions, before, &last);
            assert_int_equal(csp_functions_near(&functions, address, &last),
                             csp_functions_at(&functions, address));
        }
    csp_vec_free(&functions.ranges);
    size_t last = 0;
    assert_int_equal(csp_functions_near(&functions, 10, &last), CSP_NO_FUNCTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_marked_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(instructions_that_begin_in_a_range_count_whole, setup,
                                        teardown),
        cmocka_unit_test(an_address_is_in_one_function_whatever_was_asked_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
