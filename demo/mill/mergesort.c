#include "mergesort.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT_RUN = 8 };

static int compare_naturally(const struct order *order, struct value a, struct value b)
{
    (void)order;
    return value_compare(a, b, ORDER);
}

static int compare_reversed(const struct order *order, struct value a, struct value b)
{
    (void)order;
    return value_compare(b, a, ORDER);
}

const struct order natural_order = {compare_naturally};
const struct order reverse_order = {compare_reversed};

static void sort_run(struct value *values, size_t count, const struct order *order)
{
    for (size_t i = 1; i < count; i++) {
        struct value value = values[i];
        size_t hole = i;
        while (hole && order->compare(order, value, values[hole - 1]) < 0) {
            values[hole] = values[hole - 1];
            hole--;
        }
        values[hole] = value;
    }
}

static void merge_runs(struct value *to, const struct value *a, size_t a_count,
                       const struct value *b, size_t b_count, const struct order *order)
{
    while (a_count && b_count) {
        if (order->compare(order, *b, *a) < 0)
            *to++ = *b++, b_count--;
        else
            *to++ = *a++, a_count--;
    }
    memcpy(to, a, a_count * sizeof(*a));
    memcpy(to + a_count, b, b_count * sizeof(*b));
}

static size_t at_most(size_t limit, size_t count)
{
    return count < limit ? count : limit;
}

void sort_values(struct value *values, size_t count, const struct order *order)
{
    for (size_t i = 0; i < count; i += SHORT_RUN)
        sort_run(values + i, at_most(SHORT_RUN, count - i), order);
    if (count <= SHORT_RUN)
        return;
    struct value *spare = malloc(count * sizeof(*spare));
    if (!spare)
        fatal("out of memory");
    for (size_t run = SHORT_RUN; run < count; run *= 2) {
        for (size_t i = 0; i < count; i += 2 * run) {
            size_t a = at_most(run, count - i);
            size_t b = at_most(run, count - i - a);
            merge_runs(spare + i, values + i, a, values + i + a, b, order);
        }
        memcpy(values, spare, count * sizeof(*values));
    }
    free(spare);
}
