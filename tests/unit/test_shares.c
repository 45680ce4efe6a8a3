/* Work in a row, shared by workers. */
#include "unit.h"

#include "base/parallel.h"
#include "base/shares.h"

enum { WORKERS = 5, ITEMS = 20000 };

static void assert_next(struct csp_shares *shares, unsigned worker, uint32_t expected)
{
    uint32_t item;
    assert_true(csp_shares_next(shares, worker, &item));
    assert_int_equal(item, expected);
}

static void two_workers_take_from_both_ends_until_they_meet(void **state)
{
    (void)state;
    struct csp_shares shares;
    uint32_t item;
    csp_shares_begin(&shares, 5, 2);
    assert_next(&shares, 0, 0);
    assert_next(&shares, 1, 4);
    assert_next(&shares, 1, 3);
    assert_next(&shares, 0, 1);
    assert_next(&shares, 0, 2);
    assert_false(csp_shares_next(&shares, 0, &item));
    assert_false(csp_shares_next(&shares, 1, &item));
    csp_shares_free(&shares);
}

/* Six items: 0 to 3 are of the first two workers, 4 and 5 of the third one. */
static void who_has_none_left_helps_where_most_is_left(void **state)
{
    (void)state;
    struct csp_shares shares;
    csp_shares_begin(&shares, 6, 3);
    assert_next(&shares, 2, 4);
    assert_next(&shares, 2, 5);
    assert_next(&shares, 2, 3);
    assert_next(&shares, 0, 0);
    assert_next(&shares, 1, 2);
    assert_next(&shares, 2, 1);
    csp_shares_free(&shares);
}

static void one_worker_takes_all_in_order(void **state)
{
    (void)state;
    struct csp_shares shares;
    uint32_t item;
    csp_shares_begin(&shares, 3, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_next(&shares, 0, i);
    assert_false(csp_shares_next(&shares, 0, &item));
    csp_shares_free(&shares);
    csp_shares_begin(&shares, 0, 1);
    assert_false(csp_shares_next(&shares, 0, &item));
    csp_shares_free(&shares);
}

struct taking {
    struct csp_shares shares;
    unsigned taken[ITEMS];
};

static void take_all(void *user, unsigned worker)
{
    struct taking *taking = user;
    for (uint32_t item; csp_shares_next(&taking->shares, worker, &item);)
        __atomic_fetch_add(&taking->taken[item], 1, __ATOMIC_RELAXED);
}

static void each_item_is_taken_once(void **state)
{
    (void)state;
    static struct taking taking;
    csp_shares_begin(&taking.shares, ITEMS, WORKERS);
    csp_parallel(WORKERS, take_all, &taking);
    for (size_t i = 0; i < ITEMS; i++)
        assert_int_equal(taking.taken[i], 1);
    csp_shares_free(&taking.shares);
}

static void count_task(void *user, unsigned task)
{
    __atomic_fetch_add((unsigned *)user + task, 1, __ATOMIC_RELAXED);
}

static void each_task_is_done_once_by_any_number_of_threads(void **state)
{
    (void)state;
    for (unsigned threads = 0; threads <= 7; threads++) {
        unsigned done[5] = {0};
        csp_parallel_tasks(threads, 5, count_task, done);
        for (unsigned task = 0; task < 5; task++)
            assert_int_equal(done[task], 1);
        csp_parallel_tasks(threads, 0, count_task, done);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_workers_take_from_both_ends_until_they_meet),
        cmocka_unit_test(who_has_none_left_helps_where_most_is_left),
        cmocka_unit_test(one_worker_takes_all_in_order),
        cmocka_unit_test(each_item_is_taken_once),
        cmocka_unit_test(each_task_is_done_once_by_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
