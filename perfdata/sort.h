/* Sorting records by time. Recordings are made of stretches already in order, one ring buffer after
 * the other, so merging those stretches is faster than a general sort, and stable. */
#ifndef CSP_PERFDATA_SORT_H
#define CSP_PERFDATA_SORT_H

#include <stddef.h>
#include <stdint.h>

struct csp_sort_entry {
    uint64_t time;
    const uint8_t *at;
    uint64_t ordinal;
};

/* Sorts by time; equal times keep their order. */
void csp_sort_by_time(struct csp_sort_entry *entries, size_t count);

#endif
