#include "perfdata/sort.h"

#include "base/big_vec.h"

#include <stdbool.h>

#include <string.h>

/* Where the stretch that begins at `first` ends. */
static size_t stretch_end(const struct csp_sort_entry *entries, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && entries[end - 1].time <= entries[end].time)
        end++;
    return end;
}

/* Merges [first, middle) and [middle, end) of `from` into the same place of `to`. */
static void merge(const struct csp_sort_entry *from, struct csp_sort_entry *to, size_t first,
                  size_t middle, size_t end)
{
    size_t left = first, right = middle;
    for (size_t i = first; i < end; i++) {
        bool take_left = left < middle && (right == end || from[left].time <= from[right].time);
        to[i] = take_left ? from[left++] : from[right++];
    }
}

void csp_sort_by_time(struct csp_sort_entry *entries, size_t count)
{
    CSP_VEC(size_t) ends = {0}; /* of the stretches */
    for (size_t at = 0; at < count; at = ends.data[ends.len - 1])
        csp_big_vec_push(&ends, stretch_end(entries, at, count));
    if (ends.len > 1) {
        struct csp_sort_entry *other = csp_big_resize(NULL, 0, count * sizeof *other);
        struct csp_sort_entry *from = entries, *to = other;
        while (ends.len > 1) {
            size_t first = 0, kept = 0;
            for (size_t i = 0; i < ends.len; i += 2) {
                size_t middle = ends.data[i];
                size_t end = i + 1 < ends.len ? ends.data[i + 1] : middle;
                merge(from, to, first, middle, end);
                first = ends.data[kept++] = end;
            }
            ends.len = kept;
            struct csp_sort_entry *swap = from;
            from = to;
            to = swap;
        }
        if (from != entries)
            memcpy(entries, from, count * sizeof *entries);
        csp_big_free(other, count * sizeof *other);
    }
    csp_big_vec_free(&ends);
}
