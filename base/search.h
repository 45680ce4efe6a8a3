/* Binary search in arrays of structs that are in order of a uint64_t member: addresses, times.
 *
 *     size_t at = csp_lower_bound(probes.data, probes.len, address, wanted);
 */
#ifndef CSP_BASE_SEARCH_H
#define CSP_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many members are below `key`: the place of the first that is not. */
#define csp_lower_bound(items, count, member, key)                                                 \
    csp_search((items), (count), sizeof *(items), csp_search_offset(items, member), (key), false)

/* How many members are not above `key`: the place of the first that is. */
#define csp_upper_bound(items, count, member, key)                                                 \
    csp_search((items), (count), sizeof *(items), csp_search_offset(items, member), (key), true)

/* Compiles for members of the right type alone. */
#define csp_search_offset(items, member)                                                           \
    (offsetof(__typeof__(*(items)), member) + _Generic((items)->member, uint64_t: 0))

static inline size_t csp_search(const void *items, size_t count, size_t size, size_t offset,
                                uint64_t key, bool equal_too)
{
    const char *bytes = items;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint64_t found = *(const uint64_t *)(const void *)(bytes + middle * size + offset);
        if (found < key || (equal_too && found == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
