/* Where a batch of stitched windows is done: which windows and pauses are stitched again with the
 * next ones. */
#include "unit.h"

#include "decode/stitch_batch.h"

#define NONE CSP_STITCH_NONE
enum { MAX = 8 };

struct batch_case {
    size_t windows, kept;
    uint32_t window_of[MAX]; /* the pauses' */
    size_t pauses;
    struct csp_stitch_batch_done expected;
};

static void check(const struct batch_case *c)
{
    struct csp_stitch_pair pairs[MAX];
    for (size_t i = 0; i < c->pauses; i++)
        pairs[i] = (struct csp_stitch_pair){.window = c->window_of[i]};
    struct csp_stitch_batch_done done = csp_stitch_cut_batch(pairs, c->pauses, c->windows, c->kept);
    assert_int_equal(done.windows, c->expected.windows);
    assert_int_equal(done.pauses, c->expected.pauses);
    assert_int_equal(done.used, c->expected.used);
}

/* A pause without a window is done with the windows around it, by which it is named. */
static void the_last_windows_are_stitched_again_with_their_pauses(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 10,
                               .kept = 2,
                               .window_of = {0, 1, NONE, 7, NONE, 8, 9},
                               .pauses = 7,
                               .expected = {.windows = 8, .pauses = 5, .used = 3}});
}

static void of_few_windows_half_are_kept(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 4,
                               .kept = 1024,
                               .window_of = {0, 1, 2, 3},
                               .pauses = 4,
                               .expected = {.windows = 2, .pauses = 2, .used = 2}});
}

/* The samples of the last windows were lost; the pauses are of windows that are still to come from
 * the same AUX record. */
static void pauses_behind_few_windows_wait_for_theirs(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 4,
                               .kept = 1024,
                               .window_of = {0, NONE, NONE, NONE},
                               .pauses = 4,
                               .expected = {.windows = 1, .pauses = 1, .used = 1}});
}

static void pauses_behind_many_windows_are_done(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 10,
                               .kept = 2,
                               .window_of = {0, 7, NONE, NONE},
                               .pauses = 4,
                               .expected = {.windows = 8, .pauses = 4, .used = 2}});
}

/* The samples of the windows in front were lost. */
static void pauses_of_kept_windows_are_not_done_where_no_other_has_one(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 10,
                               .kept = 2,
                               .window_of = {NONE, 8, 9},
                               .pauses = 3,
                               .expected = {.windows = 8, .pauses = 1, .used = 0}});
}

static void pauses_without_any_window_are_done(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 4,
                               .kept = 1024,
                               .window_of = {NONE, NONE},
                               .pauses = 2,
                               .expected = {.windows = 2, .pauses = 2, .used = 0}});
    check(&(struct batch_case){.windows = 10,
                               .kept = 2,
                               .window_of = {NONE, NONE, NONE},
                               .pauses = 3,
                               .expected = {.windows = 8, .pauses = 3, .used = 0}});
}

static void nothing_is_left_of_the_last_batch(void **state)
{
    (void)state;
    check(&(struct batch_case){.windows = 4,
                               .kept = 0,
                               .window_of = {0, NONE, 3, NONE},
                               .pauses = 4,
                               .expected = {.windows = 4, .pauses = 4, .used = 2}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_windows_are_stitched_again_with_their_pauses),
        cmocka_unit_test(of_few_windows_half_are_kept),
        cmocka_unit_test(pauses_behind_few_windows_wait_for_theirs),
        cmocka_unit_test(pauses_behind_many_windows_are_done),
        cmocka_unit_test(pauses_of_kept_windows_are_not_done_where_no_other_has_one),
        cmocka_unit_test(pauses_without_any_window_are_done),
        cmocka_unit_test(nothing_is_left_of_the_last_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
