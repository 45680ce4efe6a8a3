/* A window's calls, the recorded frame-pointer chain, and the stack that was really there. */
#include "unit.h"

#include "decode/callchain.h"

enum { MAX = 8 };

struct chain_case {
    struct csp_branch branches[MAX]; /* oldest first, as they ran */
    uint64_t chain[MAX];             /* the PC, then return addresses; 0 ends it */
    uint64_t lr;
    struct csp_leaf leaf;
    /* expected */
    uint64_t stack[MAX];
    unsigned repair;
};

/* Of the PC; and every 0x100 a function begins. */
static struct csp_leaf leaf_of(void *user, uint64_t pc)
{
    const struct chain_case *c = user;
    uint64_t start = pc & ~UINT64_C(0xff);
    return pc == c->chain[0] ? c->leaf : (struct csp_leaf){CSP_LEAF_RECORD, start, start + 0x100};
}

static void check(const struct chain_case *c)
{
    csp_branches turns = {0};
    for (uint32_t i = 0; i < MAX; i++)
        if (csp_is_turn[c->branches[i].kind])
            csp_vec_push(&turns, c->branches[i]);
    uint32_t len = 0;
    while (len < MAX && c->chain[len])
        len++;
    csp_frames stack = {0};
    const struct csp_unwind_tables tables = {leaf_of, (void *)(uintptr_t)c};
    assert_int_equal(csp_callchain_repair(&turns, c->chain, len, c->lr, &tables, &stack),
                     c->repair);
    for (uint32_t i = 0; i < stack.len; i++)
        assert_int_equal(stack.data[i], c->stack[i]);
    assert_int_equal(c->stack[stack.len], 0);
    csp_vec_free(&stack);
    csp_vec_free(&turns);
}

#define CALL(from, to) {(from), (to), CSP_BRANCH_CALL}
#define RET(from, to) {(from), (to), CSP_BRANCH_RETURN}
#define INDIRECT(from, to) {(from), (to), CSP_BRANCH_INDIRECT}
#define JUMP(from, to) {(from), (to), CSP_BRANCH_DIRECT}

static void a_complete_chain_stays_as_it_is(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200)},
        .chain = {0x208, 0x104, 0x54},
        .stack = {0x208, 0x104, 0x54},
    });
}

static void a_leaf_without_a_frame_record_gets_its_caller_from_the_window(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300)},
        .chain = {0x304, 0x104, 0x54},
        .stack = {0x304, 0x224, 0x104, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
}

static void a_prologue_right_after_the_call_is_repaired(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200)},
        .chain = {0x200, 0x54},
        .stack = {0x200, 0x104, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
}

static void calls_that_returned_do_not_count(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300), RET(0x310, 0x224)},
        .chain = {0x228, 0x104, 0x54},
        .stack = {0x228, 0x104, 0x54},
    });
}

static void a_return_out_of_the_window_leaves_the_chain_alone(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {RET(0x310, 0x224), RET(0x230, 0x104)},
        .chain = {0x108, 0x54},
        .stack = {0x108, 0x54},
    });
}

static void a_tail_call_returns_to_the_first_caller(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200), JUMP(0x210, 0x300)},
        .chain = {0x304, 0x54},
        .stack = {0x304, 0x104, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
}

/* In the prologue of a recursive function every caller looks like the missing one. */
static void recursion_keeps_its_depth(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x210, 0x200), CALL(0x210, 0x200), CALL(0x210, 0x200)},
        .chain = {0x200, 0x214, 0x214, 0x214, 0x54},
        .leaf = {.state = CSP_LEAF_LR},
        .stack = {0x200, 0x214, 0x214, 0x214, 0x214, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
}

static void code_without_frame_pointers_in_the_middle_is_filled_in(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300), CALL(0x320, 0x400)},
        .chain = {0x408, 0x324, 0x104, 0x54},
        .stack = {0x408, 0x324, 0x224, 0x104, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
}

static void a_longjmp_leaves_the_chain_to_the_frame_pointers(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300), RET(0x330, 0x64)},
        .chain = {0x68, 0x54},
        .stack = {0x68, 0x54},
    });
    check(&(struct chain_case){
        /* `br x30` into the middle of another function */
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300), INDIRECT(0x330, 0x164)},
        .chain = {0x168, 0x54},
        .stack = {0x168, 0x54},
    });
    check(&(struct chain_case){
        /* a jump table, and a tail call */
        .branches = {CALL(0x100, 0x200), INDIRECT(0x220, 0x240), INDIRECT(0x250, 0x300)},
        .chain = {0x304, 0x54},
        .stack = {0x304, 0x104, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
}

static void the_link_register_helps_where_the_tables_say_so(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {JUMP(0x204, 0x210)},
        .chain = {0x214, 0x54},
        .lr = 0x104,
        .leaf = {.state = CSP_LEAF_LR},
        .stack = {0x214, 0x104, 0x54},
        .repair = CSP_REPAIR_LR,
    });
}

static void a_stale_link_register_is_not_believed(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .branches = {RET(0x310, 0x224)},
        .chain = {0x228, 0x104, 0x54},
        .lr = 0x224,
        .leaf = {CSP_LEAF_RECORD, 0x200, 0x300},
        .stack = {0x228, 0x104, 0x54},
    });
}

static void a_link_register_outside_of_the_function_is_fresh(void **state)
{
    (void)state;
    check(&(struct chain_case){
        /* the tables did not notice the epilogue */
        .chain = {0x228, 0x54},
        .lr = 0x104,
        .leaf = {CSP_LEAF_RECORD, 0x200, 0x300},
        .stack = {0x228, 0x104, 0x54},
        .repair = CSP_REPAIR_LR,
    });
    check(&(struct chain_case){
        /* the record is in place and says the same */
        .chain = {0x228, 0x104, 0x54},
        .lr = 0x104,
        .leaf = {CSP_LEAF_RECORD, 0x200, 0x300},
        .stack = {0x228, 0x104, 0x54},
    });
    check(&(struct chain_case){
        /* no frame pointers, and nothing called yet */
        .chain = {0x228, 0x54},
        .lr = 0x104,
        .leaf = {CSP_LEAF_STACK, 0x200, 0x300},
        .stack = {0x228, 0x104, 0x54},
        .repair = CSP_REPAIR_LR,
    });
}

static void what_nothing_tells_is_known_to_be_missing(void **state)
{
    (void)state;
    check(&(struct chain_case){
        .chain = {0x228, 0x54},
        .lr = 0x224,
        .leaf = {CSP_LEAF_STACK, 0x200, 0x300},
        .stack = {0x228, 0x54},
        .repair = CSP_REPAIR_MISSING,
    });
    check(&(struct chain_case){
        /* a leaf, and registers were not recorded */
        .chain = {0x228, 0x54},
        .leaf = {CSP_LEAF_LR, 0x200, 0x300},
        .stack = {0x228, 0x54},
        .repair = CSP_REPAIR_MISSING,
    });
}

/* The chain is that of the function at 0x400, which 0x54 called. */
static void a_longjmp_that_has_loaded_x29_is_not_called_by_whom_it_goes_to(void **state)
{
    (void)state;
    check(&(struct chain_case){
        /* called by a signal's handler, where the window begins; x30 is not loaded yet */
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300)},
        .chain = {0x364, 0x54},
        .lr = 0x224,
        .leaf = {CSP_LEAF_LONGJMP, 0x300, 0x400},
        .stack = {0x364, 0x224, 0x104},
        .repair = CSP_REPAIR_HISTORY | CSP_REPAIR_MISSING,
    });
    check(&(struct chain_case){
        /* x30 is, and tells as little of what is between 0x400 and 0x100 */
        .branches = {CALL(0x100, 0x200), CALL(0x220, 0x300)},
        .chain = {0x374, 0x54},
        .lr = 0x414,
        .leaf = {CSP_LEAF_LONGJMP, 0x300, 0x400},
        .stack = {0x374, 0x224, 0x104},
        .repair = CSP_REPAIR_HISTORY | CSP_REPAIR_MISSING,
    });
    check(&(struct chain_case){
        /* the function that it goes to made the window's first call */
        .branches = {CALL(0x420, 0x200), CALL(0x220, 0x300)},
        .chain = {0x374, 0x54},
        .lr = 0x414,
        .leaf = {CSP_LEAF_LONGJMP, 0x300, 0x400},
        .stack = {0x374, 0x224, 0x424, 0x54},
        .repair = CSP_REPAIR_HISTORY,
    });
    check(&(struct chain_case){
        /* the window saw it being called */
        .branches = {CALL(0x50, 0x400), CALL(0x420, 0x200), CALL(0x220, 0x300)},
        .chain = {0x364, 0x54, 0x14},
        .lr = 0x224,
        .leaf = {CSP_LEAF_LONGJMP, 0x300, 0x400},
        .stack = {0x364, 0x224, 0x424, 0x54, 0x14},
        .repair = CSP_REPAIR_HISTORY,
    });
    check(&(struct chain_case){
        /* whose x30 it is without a call in the window, nothing tells */
        .chain = {0x364, 0x54},
        .lr = 0x224,
        .leaf = {CSP_LEAF_LONGJMP, 0x300, 0x400},
        .stack = {0x364},
        .repair = CSP_REPAIR_MISSING,
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_chain_stays_as_it_is),
        cmocka_unit_test(a_leaf_without_a_frame_record_gets_its_caller_from_the_window),
        cmocka_unit_test(a_prologue_right_after_the_call_is_repaired),
        cmocka_unit_test(calls_that_returned_do_not_count),
        cmocka_unit_test(a_return_out_of_the_window_leaves_the_chain_alone),
        cmocka_unit_test(a_tail_call_returns_to_the_first_caller),
        cmocka_unit_test(recursion_keeps_its_depth),
        cmocka_unit_test(code_without_frame_pointers_in_the_middle_is_filled_in),
        cmocka_unit_test(a_longjmp_leaves_the_chain_to_the_frame_pointers),
        cmocka_unit_test(the_link_register_helps_where_the_tables_say_so),
        cmocka_unit_test(a_stale_link_register_is_not_believed),
        cmocka_unit_test(a_link_register_outside_of_the_function_is_fresh),
        cmocka_unit_test(what_nothing_tells_is_known_to_be_missing),
        cmocka_unit_test(a_longjmp_that_has_loaded_x29_is_not_called_by_whom_it_goes_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
