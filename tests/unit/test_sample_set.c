/* Samples of a program with more branches than two bytes can number. */
#include "unit.h"

#include "profgen/sample_set.h"

enum { BRANCHES = 70000, LEN = 3 };

/* Some samples, by the addresses of their branches / 4. */
static const uint32_t chosen[][LEN] = {
    {0, 1, 2},             /* the least */
    {65533, 65534, 65535}, /* as large as two bytes can be, from either end */
    {4464, 4465, 65536},
    {69997, 69998, 69999}, /* the largest */
    {69999, 0, 35000},     /* of both */
};

/* … and enough more for several threads to be worth it. */
enum { CHOSEN = sizeof chosen / sizeof *chosen, SAMPLES = 4 * CSP_SAMPLES_WORTH_A_THREAD };

static uint32_t branch_of(size_t sample, size_t branch)
{
    if (sample < CHOSEN)
        return chosen[sample][branch];
    return (uint32_t)((sample * 7919 + branch) % BRANCHES);
}

/* A set whose numbers of branches grow with their addresses, or fall. */
static struct csp_sample_set set_of_branches(bool falling)
{
    struct csp_sample_set set = {.contexts = true};
    for (uint32_t i = 0; i < BRANCHES; i++) {
        uint32_t at = falling ? BRANCHES - 1 - i : i;
        csp_pairs_at(&set.branches, 4 * (uint64_t)at, 8);
        csp_vec_push(&set.branch_infos, (struct csp_set_branch){0});
    }
    return set;
}

static void add_samples(struct csp_sample_set *set, bool falling)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        uint32_t numbers[LEN];
        for (size_t b = 0; b < LEN; b++)
            numbers[b] = falling ? BRANCHES - 1 - branch_of(i, b) : branch_of(i, b);
        struct csp_flat_sample *sample = csp_sample_set_scratch(set, numbers, LEN);
        sample->callers = csp_intern(&set->callers, "", 0);
        csp_sample_set_count(set, sample, 1);
    }
}

static void assert_counted(const struct csp_sample_set *set, uint64_t count)
{
    assert_int_equal(set->counts.len, SAMPLES);
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(set->counts.data[i], count);
        for (size_t b = 0; b < LEN; b++)
            assert_int_equal(csp_flat_branch(set, csp_sample_set_at(set, i), b)->first,
                             4 * branch_of(i, b));
    }
}

static void numbers_of_any_size_are_kept(void **state)
{
    struct csp_sample_set set = set_of_branches(false);
    uint32_t numbers[LEN];
    (void)state;
    add_samples(&set, false);
    assert_counted(&set, 1);
    for (size_t i = 0; i < SAMPLES; i++) {
        csp_flat_unpack(csp_sample_set_at(&set, i), numbers);
        for (size_t b = 0; b < LEN; b++)
            assert_int_equal(numbers[b], branch_of(i, b));
    }
    csp_sample_set_free(&set);
}

/* By which those that had two bytes get four, and the other way. */
static void samples_are_the_same_when_they_are_numbered_anew(void **state)
{
    struct csp_sample_set set = set_of_branches(false);
    (void)state;
    add_samples(&set, false);
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct csp_sample_set other = set_of_branches(true);
        add_samples(&other, true);
        if (threads == 3)
            csp_sample_set_merge(&set, &other, 1);
        else
            csp_sample_set_take(&set, &other, threads);
        assert_counted(&set, 1 + threads);
        csp_sample_set_free(&other);
    }
    csp_sample_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_any_size_are_kept),
        cmocka_unit_test(samples_are_the_same_when_they_are_numbered_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
