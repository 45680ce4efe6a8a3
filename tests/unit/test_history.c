/* A window's runs beside the branch history that its pause sample gets from them. */
#include "coded_runs.h"
#include "unit.h"

#include "decode/history.h"

#include <string.h>

enum { MAX = 8 };

struct history_case {
    struct csp_run runs[MAX];
    uint32_t run_len;
    struct csp_branch branches[MAX];
    uint32_t limit;
    /* expected */
    uint64_t start, end;
    uint32_t joined;
    struct csp_branch newest_first[MAX];
    uint32_t newest_len;
};

static void check(const struct history_case *c)
{
    struct csp_windows list = {0};
    add_coded_runs(&list, c->runs, c->run_len, c->branches);
    struct csp_window window = {.run_len = c->run_len};
    struct csp_history history = {0};
    csp_history_of_window(&list, &window, c->limit, &history);
    assert_int_equal(history.start, c->start);
    assert_int_equal(history.end, c->end);
    assert_int_equal(history.runs, c->joined);
    assert_int_equal(history.branches.len, c->newest_len);
    for (uint32_t i = 0; i < c->newest_len; i++) {
        assert_int_equal(history.branches.data[i].from, c->newest_first[i].from);
        assert_int_equal(history.branches.data[i].to, c->newest_first[i].to);
    }
    csp_history_free(&history);
    csp_vec_free(&list.runs);
    csp_vec_free(&list.branches);
}

static void a_single_run_gives_its_branches_newest_first(void **state)
{
    (void)state;
    check(&(struct history_case){
        .runs = {{.start = 0x100,
                  .end = 0x308,
                  .how = CSP_RUN_EXCEPTION,
                  .return_address = 0x308,
                  .branch_len = 2}},
        .run_len = 1,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL}, {0x210, 0x300, CSP_BRANCH_DIRECT}},
        .start = 0x100,
        .end = 0x308,
        .joined = 1,
        .newest_first = {{0x210, 0x300, 0}, {0x110, 0x200, 0}},
        .newest_len = 2,
    });
}

/* A system call leaves a gap in a user-only trace, but execution goes on where the exception
 * returns to: the history from before the call is kept, without a branch for the gap. */
static void runs_around_a_system_call_join(void **state)
{
    (void)state;
    check(&(struct history_case){
        .runs = {{.start = 0x100,
                  .end = 0x204,
                  .how = CSP_RUN_EXCEPTION,
                  .return_address = 0x204,
                  .branch_len = 1},
                 {.start = 0x204,
                  .end = 0x304,
                  .how = CSP_RUN_EXCEPTION,
                  .return_address = 0x304,
                  .branch_first = 1,
                  .branch_len = 1}},
        .run_len = 2,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL}, {0x210, 0x300, CSP_BRANCH_DIRECT}},
        .start = 0x100,
        .end = 0x304,
        .joined = 2,
        .newest_first = {{0x210, 0x300, 0}, {0x110, 0x200, 0}},
        .newest_len = 2,
    });
}

static void a_signal_handler_does_not_join_what_it_interrupted(void **state)
{
    (void)state;
    check(&(struct history_case){
        .runs = {{.start = 0x100,
                  .end = 0x204,
                  .how = CSP_RUN_EXCEPTION,
                  .return_address = 0x204,
                  .branch_len = 1},
                 {.start = 0x900, .end = 0x910, .how = CSP_RUN_EXCEPTION, .return_address = 0x910}},
        .run_len = 2,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL}},
        .start = 0x900,
        .end = 0x910,
        .joined = 1,
    });
}

static void another_context_does_not_join(void **state)
{
    (void)state;
    check(&(struct history_case){
        .runs = {{.start = 0x100,
                  .end = 0x204,
                  .how = CSP_RUN_EXCEPTION,
                  .return_address = 0x204,
                  .context_id = 7},
                 {.start = 0x204, .end = 0x304, .how = CSP_RUN_EXCEPTION, .context_id = 8}},
        .run_len = 2,
        .start = 0x204,
        .end = 0x304,
        .joined = 1,
    });
}

static void a_limit_keeps_the_newest_and_claims_nothing_before(void **state)
{
    (void)state;
    check(&(struct history_case){
        .runs = {{.start = 0x100, .end = 0x308, .branch_len = 2}},
        .run_len = 1,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL}, {0x210, 0x300, CSP_BRANCH_DIRECT}},
        .limit = 1,
        .start = 0,
        .end = 0x308,
        .joined = 1,
        .newest_first = {{0x210, 0x300, 0}},
        .newest_len = 1,
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_run_gives_its_branches_newest_first),
        cmocka_unit_test(runs_around_a_system_call_join),
        cmocka_unit_test(a_signal_handler_does_not_join_what_it_interrupted),
        cmocka_unit_test(another_context_does_not_join),
        cmocka_unit_test(a_limit_keeps_the_newest_and_claims_nothing_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
