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
    static const struct csp_context_numbers numbers = {contexts, 4};
    struct csp_counters counters = {0};
    struct csp_counter_log log = {0}, other = {0};
    assert_int_equal(csp_counters_span(&counters.ranges, 10, 11), 0);
    assert_int_equal(csp_counters_span(&counters.ranges, 20, 21), 1);
    csp_counter_log_add(&log, 3, 0, UINT64_MAX - 1);
    csp_counter_log_add(&other, 1, 1, 5);
    csp_counter_log_add(&other, 0, 0, 2);
    csp_counter_log_take(&log, &other, numbers, spans);
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
    csp_counters_free(&counters);
}

static void assert_is(const struct csp_counter_log *log, const struct csp_counted *expected,
                      size_t count)
{
    assert_int_equal(log->list.len, count);
    assert_int_equal(log->sorted, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(log->list.data[i].context, expected[i].context);
        assert_int_equal(log->list.data[i].span, expected[i].span);
        assert_int_equal(log->list.data[i].count, expected[i].count);
    }
}

/* Adds one to two spans of each of the other's contexts, and takes that: spans are numbered the
 * other way round. */
static void take(struct csp_counter_log *log, struct csp_context_numbers numbers, uint32_t count)
{
    static const uint32_t spans[] = {1, 0};
    struct csp_counter_log other = {0};
    for (uint32_t context = 0; context < count; context++)
        for (uint32_t span = 0; span < 2; span++)
            csp_counter_log_add(&other, context, span, 1);
    csp_counter_log_take(log, &other, numbers, spans);
    assert_int_equal(other.list.len, 0);
}

/* The first one's contexts, in its order, are known (2, 5), new (10, 11), known behind all that the
 * log has (9), and new (12). */
static void what_a_log_takes_is_in_order(void **state)
{
    (void)state;
    static const uint32_t contexts[] = {2, 10, 5, 11, 9, 12};
    static const struct csp_counted expected[] = {
        {1, 2, 0}, {11, 2, 1}, {7, 3, 0},  {7, 3, 1},  {1, 5, 0},  {1, 5, 1},  {1, 9, 0},
        {1, 9, 1}, {1, 10, 0}, {1, 10, 1}, {1, 11, 0}, {1, 11, 1}, {1, 12, 0}, {1, 12, 1}};
    struct csp_counter_log log = {0};
    csp_counter_log_add(&log, 3, 0, 7);
    csp_counter_log_add(&log, 3, 1, 7);
    csp_counter_log_add(&log, 2, 1, 10);
    take(&log, (struct csp_context_numbers){contexts, 10}, 6);
    assert_is(&log, expected, sizeof expected / sizeof *expected);
    csp_vec_free(&log.list);
}

/* Contexts that the log has nothing of, and that are known all the same (4, 5): one comes before a
 * new one and one behind it. Another log has all of them again. */
static void contexts_that_only_others_count_in_are_in_order(void **state)
{
    (void)state;
    static const uint32_t contexts[] = {4, 10, 5}, again[] = {10, 5, 11, 4};
    static const struct csp_counted once[] = {{7, 3, 0}, {1, 4, 0},  {1, 4, 1}, {1, 5, 0},
                                              {1, 5, 1}, {1, 10, 0}, {1, 10, 1}};
    static const struct csp_counted twice[] = {{7, 3, 0},  {2, 4, 0},  {2, 4, 1},
                                               {2, 5, 0},  {2, 5, 1},  {2, 10, 0},
                                               {2, 10, 1}, {1, 11, 0}, {1, 11, 1}};
    struct csp_counter_log log = {0};
    csp_counter_log_add(&log, 3, 0, 7);
    take(&log, (struct csp_context_numbers){contexts, 10}, 3);
    assert_is(&log, once, sizeof once / sizeof *once);
    take(&log, (struct csp_context_numbers){again, 11}, 4);
    assert_is(&log, twice, sizeof twice / sizeof *twice);
    csp_vec_free(&log.list);
}

/* Two logs, of which the second has numbers of its own, beside one of all. */
static void taking_adds_up_as_one_log_does(void **state)
{
    (void)state;
    struct csp_counters counters = {0}, others = {0}, expected = {0};
    struct csp_counter_log log = {0}, other = {0};
    uint32_t contexts[CONTEXTS + 50];
    const struct csp_context_numbers numbers = {contexts, 2 * CONTEXTS};
    uint64_t seed = 1;
    for (uint32_t i = 0; i < CONTEXTS + 50; i++) /* known the other way round, some are new */
        contexts[i] = i % 16 ? CONTEXTS + 50 - i : 2 * CONTEXTS + i;
    add(&log, &counters.ranges, &expected.ranges, &seed);
    struct csp_counter_table added = {0};
    add(&other, &others.ranges, &added, &seed);
    for (size_t i = 0; i < added.counts.len; i++) {
        const struct csp_counter counter = csp_counters_at(&added, i);
        csp_counters_add(&expected.ranges, contexts[counter.context], counter.from, counter.to,
                         counter.count);
    }
    uint32_t *spans = csp_counters_merge_spans(&counters.ranges, &others.ranges);
    csp_counter_log_take(&log, &other, numbers, spans);
    csp_counter_log_end(&log, &counters.ranges);
    assert_same(&counters.ranges, &expected.ranges);
    free(spans);
    csp_pairs_free(&added.spans);
    csp_numbers_free(&added.keys);
    csp_vec_free(&added.counts);
    csp_counters_free(&counters);
    csp_counters_free(&others);
    csp_counters_free(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_adds_up_as_a_table_does),
        cmocka_unit_test(a_log_is_taken_by_another_with_other_numbers),
        cmocka_unit_test(what_a_log_takes_is_in_order),
        cmocka_unit_test(contexts_that_only_others_count_in_are_in_order),
        cmocka_unit_test(taking_adds_up_as_one_log_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
