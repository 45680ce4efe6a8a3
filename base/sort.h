/* Sorting by a comparison that the compiler sees: of a few dozen small things that takes a fraction
 * of qsort's time. What is alike keeps its order. */
#ifndef CSP_BASE_SORT_H
#define CSP_BASE_SORT_H

#include "base/alloc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef bool csp_is_before(const void *a, const void *b);

enum { CSP_SORT_RUN = 16, CSP_SORT_LARGEST = 64 };

/* One by one. */
static inline __attribute__((always_inline)) void
csp_sort_few(char *items, size_t count, size_t size, csp_is_before *is_before)
{
    char item[CSP_SORT_LARGEST];
    for (size_t i = 1; i < count; i++) {
        size_t at = i;
        memcpy(item, items + i * size, size);
        for (; at && is_before(item, items + (at - 1) * size); at--)
            memcpy(items + at * size, items + (at - 1) * size, size);
        memcpy(items + at * size, item, size);
    }
}

/* Merges [first, middle) and [middle, end) of one array into the other. */
static inline __attribute__((always_inline)) void csp_sort_merge(const char *from, char *to,
                                                                 size_t first, size_t middle,
                                                                 size_t end, size_t size,
                                                                 csp_is_before *is_before)
{
    for (size_t i = first, a = first, b = middle; i < end; i++) {
        bool later = a == middle || (b < end && is_before(from + b * size, from + a * size));
        memcpy(to + i * size, from + (later ? b++ : a++) * size, size);
    }
}

/* `size`, of an item, is a constant up to CSP_SORT_LARGEST. */
static inline __attribute__((always_inline)) void csp_sort(void *items, size_t count, size_t size,
                                                           csp_is_before *is_before)
{
    char *from = items, *other = NULL;
    for (size_t first = 0; first < count; first += CSP_SORT_RUN)
        csp_sort_few(from + first * size,
                     count - first < CSP_SORT_RUN ? count - first : CSP_SORT_RUN, size, is_before);
    if (count <= CSP_SORT_RUN)
        return;
    char *to = other = csp_malloc(count * size);
    for (size_t width = CSP_SORT_RUN; width < count; width *= 2) {
        for (size_t first = 0; first < count; first += 2 * width) {
            size_t middle = count - first < width ? count : first + width;
            size_t end = count - middle < width ? count : middle + width;
            csp_sort_merge(from, to, first, middle, end, size, is_before);
        }
        char *merged = to;
        to = from;
        from = merged;
    }
    if (from != items)
        memcpy(items, from, count * size);
    free(other);
}

#endif
