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
    /* expected */
    uint64_t start, end;
    uint32_t joined;
    struct csp_branch newest_first[MAX];
    uint32_t newest_len;
    uint64_t turns[MAX]; /* where those leave, oldest first; 0 ends them */
};

static void check(const struct history_case *c)
{
    struct csp_windows list = {0};
    add_coded_runs(&list, c->runs, c->run_len, c->branches);
    struct csp_window window = {.run_len = c->run_len};
    csp_branches turns = {0}, branches = {0};
    const struct csp_stretch stretch = csp_stretch_of_window(&list, &window);
    csp_stretch_branches(&stretch, &turns, &branches);
    assert_int_equal(stretch.runs->start, c->start);
    assert_int_equal(stretch.runs[stretch.run_len - 1].end, c->end);
    assert_int_equal(stretch.run_len, c->joined);
    assert_int_equal(stretch.branch_len, c->newest_len);
    assert_int_equal(branches.len, c->newest_len);
    for (uint32_t i = 0; i < c->newest_len; i++) {
        assert_int_equal(branches.data[i].from, c->newest_first[i].from);
        assert_int_equal(branches.data[i].to, c->newest_first[i].to);
    }
    for (uint32_t i = 0; i < turns.len; i++)
        assert_int_equal(turns.data[i].from, c->turns[i]);
    assert_int_equal(c->turns[turns.len], 0);
    csp_vec_free(&turns);
    csp_vec_free(&branches);
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
        .turns = {0x110},
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
        .turns = {0x110},
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

static void branches_that_open_or_close_calls_are_picked_out(void **state)
{
    (void)state;
    check(&(struct history_case){
        .runs = {{.start = 0x100, .end = 0x170, .branch_len = 6}},
        .run_len = 1,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL},
                     {0x210, 0x300, CSP_BRANCH_CONDITIONAL},
                     {0x310, 0x400, CSP_BRANCH_INDIRECT},
                     {0x410, 0x500, CSP_BRANCH_INDIRECT_CALL},
                     {0x510, 0x414, CSP_BRANCH_RETURN},
                     {0x418, 0x160, CSP_BRANCH_DIRECT}},
        .start = 0x100,
        .end = 0x170,
        .joined = 1,
        .newest_first = {{0x418, 0x160, 0},
                         {0x510, 0x414, 0},
                         {0x410, 0x500, 0},
                         {0x310, 0x400, 0},
                         {0x210, 0x300, 0},
                         {0x110, 0x200, 0}},
        .newest_len = 6,
        .turns = {0x110, 0x310, 0x410, 0x510},
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_run_gives_its_branches_newest_first),
        cmocka_unit_test(runs_around_a_system_call_join),
        cmocka_unit_test(a_signal_handler_does_not_join_what_it_interrupted),
        cmocka_unit_test(another_context_does_not_join),
        cmocka_unit_test(branches_that_open_or_close_calls_are_picked_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
