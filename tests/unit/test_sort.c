/* Lists of any length, sorted and in the order of what is alike. */
#include "unit.h"

#include "base/sort.h"

struct item {
    uint32_t key, place;
};

static bool is_before(const void *a, const void *b)
{
    return ((const struct item *)a)->key < ((const struct item *)b)->key;
}

static void assert_sorted(const struct item *items, size_t count, const uint8_t *keys)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].key, keys[items[i].place]);
        if (i && items[i - 1].key == items[i].key)
            assert_true(items[i - 1].place < items[i].place);
        else if (i)
            assert_true(items[i - 1].key < items[i].key);
    }
}

static void lists_are_sorted(void **state)
{
    (void)state;
    enum { MOST = 300 };
    struct item items[MOST + 1];
    uint8_t keys[MOST];
    uint64_t random = 1;
    for (size_t count = 0; count <= MOST; count++)
        for (unsigned range = 1; range <= 256; range *= 4) {
            for (size_t i = 0; i < count; i++) {
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
                keys[i] = (uint8_t)((random >> 40) % range);
                items[i] = (struct item){keys[i], (uint32_t)i};
            }
            items[count] = (struct item){7, 7};
            csp_sort(items, count, sizeof *items, is_before);
            assert_sorted(items, count, keys);
            assert_int_equal(items[count].place, 7);
        }
}

static void nothing_is_sorted(void **state)
{
    (void)state;
    csp_sort(NULL, 0, sizeof(struct item), is_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_sorted),
        cmocka_unit_test(nothing_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
