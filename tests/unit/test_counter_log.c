/* Counters that were written down first beside those that were added one by one. */
#include "unit.h"

#include "profgen/counter_log.h"

enum { SPANS = 5000, CONTEXTS = 70000, ADDED = 1000000 };

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % below);
}

static void assert_same(const struct csp_counter_table *table,
                        const struct csp_counter_table *expected)
{
    struct csp_counter *a = csp_counters_sorted(table), *b = csp_counters_sorted(expected);
    assert_int_equal(table->counts.len, expected->counts.len);
    for (size_t i = 0; i < table->counts.len; i++) {
        assert_int_equal(a[i].context, b[i].context);
        assert_int_equal(a[i].from, b[i].from);
        assert_int_equal(a[i].count, b[i].count);
    }
    free(a);
    free(b);
}

/* Adds some counters, near each other as unwinding has them, to a log and to a table. */
static void add(struct csp_counter_log *log, struct csp_counter_table *table,
                struct csp_counter_table *expected, uint64_t *state)
{
    for (uint32_t i = 0; i < ADDED; i++) {
        uint32_t context = i / (ADDED / CONTEXTS + 1) + draw(state, 50), from = draw(state, SPANS);
        uint64_t count = draw(state, 1000);
        csp_counter_log_add(log, context, csp_counters_span(table, from, from), count);
        csp_counters_add(expected, context, from, from, count);
    }
}

/* To a table without counters, and to the same again. */
static void a_log_adds_up_as_a_table_does(void **state)
{
    (void)state;
    struct csp_counters counters = {0}, expected = {0};
    struct csp_counter_log log = {0};
    uint64_t seed = 1;
    for (int round = 0; round < 2; round++) {
        add(&log, &counters.ranges, &expected.ranges, &seed);
        csp_counter_log_end(&log, &counters.ranges);
        assert_same(&counters.ranges, &expected.ranges);
    }
    csp_counters_free(&counters);
    csp_counters_free(&expected);
}

static void a_log_is_taken_by_another_with_other_numbers(void **state)
{
    (void)state;
    static const uint32_t contexts[] = {7, 3}, spans[] = {1, 0};
    struct csp_counters counters = {0};
    struct csp_counter_log log = {0}, other = {0};
    assert_int_equal(csp_counters_span(&counters.ranges, 10, 11), 0);
    assert_int_equal(csp_counters_span(&counters.ranges, 20, 21), 1);
    csp_counter_log_add(&log, 3, 0, UINT64_MAX - 1);
    csp_counter_log_add(&other, 1, 1, 5);
    csp_counter_log_add(&other, 0, 0, 2);
    csp_counter_log_take(&log, &other, contexts, spans);
    csp_counter_log_end(&log, &counters.ranges);
    struct csp_counter *sorted = csp_counters_sorted(&counters.ranges);
    assert_int_equal(counters.ranges.counts.len, 2);
    assert_int_equal(sorted[0].context, 3);
    assert_int_equal(sorted[0].from, 10);
    assert_true(sorted[0].count == UINT64_MAX); /* it does not wrap */
    assert_int_equal(sorted[1].context, 7);
    assert_int_equal(sorted[1].from, 20);
    assert_int_equal(sorted[1].count, 2);
    free(sorted);
    csp_vec_free(&other.list);
    csp_counters_free(&counters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_adds_up_as_a_table_does),
        cmocka_unit_test(a_log_is_taken_by_another_with_other_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
