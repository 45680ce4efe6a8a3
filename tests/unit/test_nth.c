/* The n-th smallest, beside what sorting says. */
#include "unit.h"

#include "base/nth.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check(const int64_t *values, size_t count)
{
    int64_t sorted[1000];
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i];
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t n = 0; n < count; n++)
        assert_int_equal(csp_nth(values, count, n), sorted[n]);
}

static void of_few(void **state)
{
    (void)state;
    check((int64_t[]){7}, 1);
    check((int64_t[]){3, 3, 3}, 3);
    check((int64_t[]){2, -1, 5, -1, 0}, 5);
    check((int64_t[]){INT64_MAX, INT64_MIN, 0, -1, INT64_MAX, INT64_MIN + 1}, 6);
}

static void of_random_ones(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (unsigned bits = 1; bits <= 64; bits++) {
        int64_t values[1000];
        size_t count = 1 + 999 * bits / 64;
        for (size_t i = 0; i < count; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            values[i] = (int64_t)((seed ^ seed >> 31) << (64 - bits)) >> (64 - bits);
        }
        check(values, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_few),
        cmocka_unit_test(of_random_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
