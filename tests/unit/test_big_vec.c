/* Arrays that grow from the heap into mappings and files keep what they hold. */
#include "unit.h"

#include "base/big_vec.h"

#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_stay_while_arrays_grow_side_by_side),
        cmocka_unit_test(memory_that_was_given_back_is_taken_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
