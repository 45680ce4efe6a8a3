/* A stable merge sort with the order as a callback. */
#ifndef MILL_MERGESORT_H
#define MILL_MERGESORT_H

#include "value.h"

struct order {
    int (*compare)(const struct order *order, struct value a, struct value b);
};
extern const struct order natural_order;
extern const struct order reverse_order;

void sort_values(struct value *values, size_t count, const struct order *order);

#endif
