/* The first samples are those that sorting all of them would put first, however they come. */
#include "unit.h"

#include "base/alloc.h"
#include "decode/first_samples.h"

#include <stdlib.h>

enum { SAMPLES = 5 * CSP_FIRST_SAMPLES + 1234, SECTION = 3700 };

static uint64_t falling(uint64_t i)
{
    return SAMPLES - i;
}

static uint64_t rising(uint64_t i)
{
    return i;
}

static uint64_t mixed(uint64_t i)
{
    return i * 7919 % SAMPLES;
}

/* As of four rings, one behind the other in each round. */
static uint64_t in_rounds(uint64_t i)
{
    uint64_t round = i / 4000, ring = i / 1000 % 4;
    return UINT64_MAX - 4 * SAMPLES + round * 4000 + i % 1000 * 4 + ring;
}

static uint64_t few_times(uint64_t i)
{
    return i % 3;
}

static uint64_t no_times(uint64_t i)
{
    (void)i;
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct csp_first_sample *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return a->ordinal < b->ordinal ? -1 : 1;
}

/* By whole sections when `sections`, as threads read them; else one by one. */
static void collect(struct csp_first_samples *samples, uint64_t (*time)(uint64_t), size_t count,
                    bool sections)
{
    struct csp_first_samples part = {0};
    for (uint64_t i = 0; i < count; i++) {
        const struct csp_record record = {.time = time(i), .ordinal = i};
        csp_first_samples_add(sections ? &part : samples, &record);
        if (sections && (i % SECTION == SECTION - 1 || i + 1 == count))
            csp_first_samples_append(samples, &part);
    }
    csp_first_samples_free(&part);
    csp_first_samples_finish(samples);
}

static void check(uint64_t (*time)(uint64_t), size_t count, bool sections)
{
    struct csp_first_sample *all = csp_calloc(count + 1, sizeof *all);
    struct csp_first_samples samples = {0};
    for (size_t i = 0; i < count; i++)
        all[i] = (struct csp_first_sample){.time = time(i), .ordinal = i};
    qsort(all, count, sizeof *all, by_time);
    collect(&samples, time, count, sections);
    assert_int_equal(samples.list.len, count < CSP_FIRST_SAMPLES ? count : CSP_FIRST_SAMPLES);
    for (size_t i = 0; i < samples.list.len; i++)
        assert_int_equal(samples.list.data[i].ordinal, all[i].ordinal);
    csp_first_samples_free(&samples);
    free(all);
}

static void those_that_sorting_puts_first(void **state)
{
    static uint64_t (*const times[])(uint64_t) = {rising,    falling,   mixed,
                                                  in_rounds, few_times, no_times};
    static const size_t counts[] = {0, 1, 100, CSP_FIRST_SAMPLES, CSP_FIRST_SAMPLES + 1, SAMPLES};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            check(times[i], counts[k], false);
            check(times[i], counts[k], true);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_sorting_puts_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
