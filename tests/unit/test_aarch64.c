/* One encoding of every A64 instruction that matters to the flow of control, as llvm-mc -mattr=+all
 * assembles it. tests/golden/aarch64_classes.sh compares many more with llvm-objdump. */
#include "unit.h"

#include "decode/code/aarch64.h"

struct row {
    uint32_t opcode;
    enum csp_aarch64_type type;
    enum csp_branch_kind kind;
    int32_t offset;
};

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct csp_aarch64 got = csp_aarch64_classify(rows[i].opcode);
        if (got.type != rows[i].type || got.kind != rows[i].kind || got.offset != rows[i].offset)
            fail_msg("%08x: type %u kind %u offset %d", rows[i].opcode, got.type, got.kind,
                     got.offset);
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const struct row rows[] = {__VA_ARGS__};                                            \
        check(rows, sizeof rows / sizeof *rows);                                                   \
    } while (0)

static void direct_branches_carry_their_offset(void **state)
{
    (void)state;
    CHECK({0x14000002, CSP_AARCH64_BRANCH, CSP_BRANCH_DIRECT, 8},          /* b .+8 */
          {0x17ffffff, CSP_AARCH64_BRANCH, CSP_BRANCH_DIRECT, -4},         /* b .-4 */
          {0x16000000, CSP_AARCH64_BRANCH, CSP_BRANCH_DIRECT, -(1 << 27)}, /* the farthest back */
          {0x97fffffe, CSP_AARCH64_BRANCH, CSP_BRANCH_CALL, -8},           /* bl .-8 */
          {0x54000080, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 16},    /* b.eq .+16 */
          {0x54ffff91, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, -16},   /* bc.ne .-16 */
          {0xb4000101, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 32},    /* cbz x1, .+32 */
          {0x35ffffe1, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, -4},    /* cbnz w1, .-4 */
          {0xb6400203, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 64},    /* tbz x3, #40, .+64 */
          {0x3707ffe1, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, -4});   /* tbnz w1, #0, .-4 */
}

static void compare_and_branch_is_conditional_where_it_is_allocated(void **state)
{
    (void)state;
    CHECK({0xf4020041, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 8},     /* cbgt x1, x2, .+8 */
          {0x74623fc1, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, -8},    /* cbhs w1, w2, .-8 */
          {0x74c28061, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 12},    /* cbbeq w1, w2, .+12 */
          {0x74e2c061, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 12},    /* cbhne w1, w2, .+12 */
          {0xf5028041, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, 8},     /* cbgt x1, #5, .+8 */
          {0x757fa001, CSP_AARCH64_BRANCH, CSP_BRANCH_CONDITIONAL, -1024}, /* cblo w1, #63, … */
          {0x74820041, CSP_AARCH64_OTHER, CSP_BRANCH_UNKNOWN, 0},          /* condition 4 */
          {0x74024041, CSP_AARCH64_OTHER, CSP_BRANCH_UNKNOWN, 0},  /* neither word, byte nor half */
          {0xf4028041, CSP_AARCH64_OTHER, CSP_BRANCH_UNKNOWN, 0},  /* a byte of 64 bits */
          {0x7502c041, CSP_AARCH64_OTHER, CSP_BRANCH_UNKNOWN, 0}); /* bit 14 of an immediate form */
}

static void indirect_branches_are_told_from_returns(void **state)
{
    (void)state;
    CHECK({0xd61f0020, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT, 0},      /* br x1 */
          {0xd61f03c0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT, 0},      /* br x30 */
          {0xd71f0c22, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT, 0},      /* brab x1, x2 */
          {0xd61f0c3f, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT, 0},      /* brabz x1 */
          {0xd63f0040, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT_CALL, 0}, /* blr x2 */
          {0xd73f085f, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT_CALL, 0}, /* blraa x2, sp */
          {0xd63f087f, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_INDIRECT_CALL, 0}, /* blraaz x3 */
          {0xd65f03c0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0},        /* ret */
          {0xd65f00a0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0},        /* ret x5 */
          {0xd65f0bff, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0},        /* retaa */
          {0xd65f0fff, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0},        /* retab */
          {0x5500005f, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0}, /* retaasppc .-8 */
          {0x5520009f, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0}, /* retabsppc .-16 */
          {0xd65f0be3, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0}, /* retaasppcr x3 */
          {0xd65f0fe3, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_RETURN, 0}, /* retabsppcr x3 */
          {0xd69f03e0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_EXCEPTION_RETURN, 0}, /* eret */
          {0xd69f0bff, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_EXCEPTION_RETURN, 0}, /* eretaa */
          {0xd6bf03e0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_EXCEPTION_RETURN, 0}, /* drps */
          {0xd6ff03e0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_EXCEPTION_RETURN, 0}, /* texit */
          {0xd6ff07e0, CSP_AARCH64_BRANCH_INDIRECT, CSP_BRANCH_EXCEPTION_RETURN, 0}, /* texit nb */
          {0xd61f0021, CSP_AARCH64_OTHER, CSP_BRANCH_UNKNOWN, 0},  /* br with op4 set */
          {0xd61e0020, CSP_AARCH64_OTHER, CSP_BRANCH_UNKNOWN, 0}); /* op2 is not all ones */
}

static void other_instructions_of_interest(void **state)
{
    (void)state;
    CHECK({0xd5033fdf, CSP_AARCH64_ISB, 0, 0},         /* isb */
          {0xd50333df, CSP_AARCH64_ISB, 0, 0},         /* isb #3 */
          {0xd503207f, CSP_AARCH64_WAIT, 0, 0},        /* wfi */
          {0xd503205f, CSP_AARCH64_WAIT, 0, 0},        /* wfe */
          {0xd5031003, CSP_AARCH64_WAIT, 0, 0},        /* wfet x3 */
          {0xd5031024, CSP_AARCH64_WAIT, 0, 0},        /* wfit x4 */
          {0xd5233063, CSP_AARCH64_TSTART, 0, 0},      /* tstart x3 */
          {0xd4000001, CSP_AARCH64_SYSTEM_CALL, 0, 0}, /* svc #0 */
          {0xd4000062, CSP_AARCH64_SYSTEM_CALL, 0, 0}, /* hvc #3 */
          {0xd4000023, CSP_AARCH64_SYSTEM_CALL, 0, 0}, /* smc #1 */
          {0xd4200020, CSP_AARCH64_TRAP, 0, 0},        /* brk #1 */
          {0xd4400040, CSP_AARCH64_TRAP, 0, 0},        /* hlt #2 */
          {0xd4a00001, CSP_AARCH64_TRAP, 0, 0},        /* dcps1 */
          {0x00000007, CSP_AARCH64_TRAP, 0, 0},        /* udf #7 */
          {0xd503241f, CSP_AARCH64_LANDING_PAD, 0, 0}, /* bti */
          {0xd50324df, CSP_AARCH64_LANDING_PAD, 0, 0}, /* bti jc */
          {0xd503233f, CSP_AARCH64_LANDING_PAD, 0, 0}, /* paciasp */
          {0xd503237f, CSP_AARCH64_LANDING_PAD, 0, 0}, /* pacibsp */
          {0xd50323bf, CSP_AARCH64_OTHER, 0, 0},       /* autiasp */
          {0xd5033fbf, CSP_AARCH64_OTHER, 0, 0},       /* dmb sy */
          {0xd503201f, CSP_AARCH64_OTHER, 0, 0},       /* nop */
          {0x55000000, CSP_AARCH64_OTHER, 0, 0});      /* unallocated */
}

static void waiting_ends_a_range_only_where_the_unit_says_so(void **state)
{
    (void)state;
    assert_false(csp_aarch64_is_waypoint(csp_aarch64_classify(0xd503207f), false));
    assert_true(csp_aarch64_is_waypoint(csp_aarch64_classify(0xd503207f), true));
    assert_true(csp_aarch64_is_waypoint(csp_aarch64_classify(0xd5033fdf), false));
    assert_true(csp_aarch64_is_waypoint(csp_aarch64_classify(0xd65f03c0), false));
    assert_false(csp_aarch64_is_waypoint(csp_aarch64_classify(0xd4000001), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct_branches_carry_their_offset),
        cmocka_unit_test(compare_and_branch_is_conditional_where_it_is_allocated),
        cmocka_unit_test(indirect_branches_are_told_from_returns),
        cmocka_unit_test(other_instructions_of_interest),
        cmocka_unit_test(waiting_ends_a_range_only_where_the_unit_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
