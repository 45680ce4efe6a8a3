/* Samples in the order of their callers. */
#include "unit.h"

#include "profgen/sample_order.h"

static void add(struct csp_sample_set *set, const uint64_t *callers, size_t len)
{
    struct csp_flat_sample *sample = csp_sample_set_scratch(set, NULL, 0);
    sample->start = set->counts.len; /* each is another one */
    sample->callers = csp_intern(&set->callers, callers, len * sizeof *callers);
    csp_sample_set_count(set, sample, 1);
}

static void the_outermost_callers_decide(void **state)
{
    (void)state;
    static const struct {
        uint64_t callers[3]; /* innermost first */
        size_t len, place;
    } samples[] = {
        {{9, 2, 1}, 3, 3}, {{2, 1}, 2, 2}, {{0}, 0, 0},          {{1, 2}, 2, 6}, {{8, 1}, 2, 5},
        {{0}, 0, 1},       {{1, 9}, 2, 7}, {{UINT64_MAX}, 1, 8}, {{3, 1}, 2, 4},
    };
    enum { COUNT = sizeof samples / sizeof *samples };
    struct csp_sample_set set = {.contexts = true};
    for (size_t i = 0; i < COUNT; i++)
        add(&set, samples[i].callers, samples[i].len);
    uint32_t *order = csp_samples_by_callers(&set);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(order[samples[i].place], i);
    free(order);
    csp_sample_set_free(&set);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % below);
}

static void assert_not_behind(const struct csp_sample_set *set, uint32_t a, uint32_t b)
{
    uint32_t len, other_len;
    const uint64_t *calls = csp_flat_callers(set, csp_sample_set_at(set, a), &len);
    const uint64_t *others = csp_flat_callers(set, csp_sample_set_at(set, b), &other_len);
    while (len && other_len && calls[len - 1] == others[other_len - 1]) {
        len--;
        other_len--;
    }
    if (len && other_len)
        assert_true(calls[len - 1] < others[other_len - 1]);
    else
        assert_int_equal(len, 0);
}

/* Deep and shallow ones, in which few addresses come again and again. */
static void many_are_in_order(void **state)
{
    (void)state;
    enum { SAMPLES = 20000, DEPTH = 40 };
    struct csp_sample_set set = {.contexts = true};
    uint64_t callers[DEPTH], seed = 1;
    for (int i = 0; i < SAMPLES; i++) {
        size_t len = draw(&seed, DEPTH);
        for (size_t at = 0; at < len; at++)
            callers[at] = draw(&seed, draw(&seed, 8) ? 2 : 1000);
        add(&set, callers, len);
    }
    uint32_t *order = csp_samples_by_callers(&set);
    static uint8_t seen[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++)
        seen[order[i]]++;
    for (size_t i = 0; i < SAMPLES; i++)
        assert_int_equal(seen[i], 1);
    for (size_t i = 1; i < SAMPLES; i++)
        assert_not_behind(&set, order[i - 1], order[i]);
    free(order);
    csp_sample_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_callers_decide),
        cmocka_unit_test(many_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
