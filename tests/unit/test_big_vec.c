/* Arrays that grow from the heap into mappings and files keep what they hold. */
#include "memory_stays.h"
#include "unit.h"

#include "base/big_vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARRAYS = 3, COUNT = 7 << 20 /* 56 MB each: more than all of them may have as memory */ };

static void contents_stay_while_arrays_grow_side_by_side(void **state)
{
    CSP_VEC(uint64_t) arrays[ARRAYS] = {0};
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++)
        for (uint64_t k = 0; k < ARRAYS; k++)
            csp_big_vec_push(&arrays[k], i * ARRAYS + k);
    for (uint64_t k = 0; k < ARRAYS; k++) {
        assert_int_equal(arrays[k].len, COUNT);
        for (uint64_t i = 0; i < COUNT; i++)
            if (arrays[k].data[i] != i * ARRAYS + k)
                fail_msg("array %d: element %d was lost", (int)k, (int)i);
        csp_big_vec_free(&arrays[k]);
    }
}

static void memory_that_was_given_back_is_taken_again(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        CSP_VEC(uint64_t) array = {0};
        csp_big_vec_reserve(&array, COUNT);
        array.data[0] = array.data[COUNT - 1] = 1;
        csp_big_vec_reserve(&array, 2 * COUNT);
        assert_int_equal(array.data[0] + array.data[COUNT - 1], 2);
        csp_big_vec_free(&array);
    }
}

static bool is_resident(const void *address)
{
    unsigned char resident;
    uintptr_t page = (uintptr_t)address & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
    assert_int_equal(mincore((void *)page, 1, &resident), 0);
    return resident & 1;
}

static void what_is_done_with_is_given_back_and_the_rest_stays(void **state)
{
    enum { DONE = COUNT / 2, STEP = 100000 };
    CSP_VEC(uint64_t) arrays[ARRAYS] = {0}; /* the last ones are files */
    (void)state;
    skip_where_memory_stays();
    for (uint64_t k = 0; k < ARRAYS; k++)
        for (uint64_t i = 0; i < COUNT; i++)
            csp_big_vec_push(&arrays[k], i);
    for (uint64_t k = 0; k < ARRAYS; k++) {
        for (uint64_t i = 0; i < DONE; i += STEP)
            csp_big_vec_done(&arrays[k], i, i + STEP < DONE ? i + STEP : DONE);
        assert_false(is_resident(&arrays[k].data[DONE / 2]));
        for (uint64_t i = DONE; i < COUNT; i++)
            if (arrays[k].data[i] != i)
                fail_msg("array %d: element %d was lost", (int)k, (int)i);
    }
    for (uint64_t k = 0; k < ARRAYS; k++)
        csp_big_vec_free(&arrays[k]);
}

static void small_arrays_are_not_given_back(void **state)
{
    CSP_VEC(uint64_t) array = {0};
    (void)state;
    csp_big_vec_done(&array, 0, 0);
    for (uint64_t i = 0; i < 1000; i++)
        csp_big_vec_push(&array, i);
    csp_big_vec_done(&array, 0, 999);
    assert_int_equal(array.data[999], 999);
    csp_big_vec_free(&array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_stay_while_arrays_grow_side_by_side),
        cmocka_unit_test(memory_that_was_given_back_is_taken_again),
        cmocka_unit_test(what_is_done_with_is_given_back_and_the_rest_stays),
        cmocka_unit_test(small_arrays_are_not_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
