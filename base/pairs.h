/* Distinct pairs of numbers, numbered from zero in the order they first appear: branches, edges of
 * a tree, transitions of a machine. Zero-initialise. Not safe for concurrent use. */
#ifndef CSP_BASE_PAIRS_H
#define CSP_BASE_PAIRS_H

#include "base/vec.h"

#include <stdint.h>

struct csp_pair {
    uint64_t first, second;
};

struct csp_pairs {
    CSP_VEC(struct csp_pair) list;
    uint32_t *slots; /* number + 1, 0 is free; `mask` + 1 of them */
    uint32_t mask;
};

/* The number of a pair, new or old. A new one has the number that `list.len` was. */
uint32_t csp_pairs_add(struct csp_pairs *pairs, uint64_t first, uint64_t second);
void csp_pairs_free(struct csp_pairs *pairs);

/* Neighbours stay neighbours: what is looked up together is in the same lines of the cache. */
static inline uint32_t csp_pairs_hash(uint64_t first, uint64_t second)
{
    uint64_t hash = ((first >> 5) + (second << 32 | second >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32;
    return (uint32_t)hash + (uint32_t)(first & 31);
}

#define CSP_NO_PAIR UINT32_MAX

/* The number of a pair that is known, or CSP_NO_PAIR. */
static inline uint32_t csp_pairs_find(const struct csp_pairs *pairs, uint64_t first,
                                      uint64_t second)
{
    if (!pairs->slots)
        return CSP_NO_PAIR;
    for (uint32_t i = csp_pairs_hash(first, second) & pairs->mask;; i = (i + 1) & pairs->mask) {
        uint32_t slot = pairs->slots[i];
        if (!slot)
            return CSP_NO_PAIR;
        const struct csp_pair *known = &pairs->list.data[slot - 1];
        if (known->first == first && known->second == second)
            return slot - 1;
    }
}

/* Fetches where a pair is looked for, for many that are looked up one after the other in a table
 * larger than the processor's cache. */
static inline void csp_pairs_fetch(const struct csp_pairs *pairs, uint64_t first, uint64_t second)
{
    if (pairs->slots)
        __builtin_prefetch(&pairs->slots[csp_pairs_hash(first, second) & pairs->mask]);
}

/* The same of the pair itself, when that was fetched. Returns the number that it most likely has,
 * or CSP_NO_PAIR. */
static inline uint32_t csp_pairs_fetch_pair(const struct csp_pairs *pairs, uint64_t first,
                                            uint64_t second)
{
    uint32_t slot = pairs->slots ? pairs->slots[csp_pairs_hash(first, second) & pairs->mask] : 0;
    if (slot)
        __builtin_prefetch(&pairs->list.data[slot - 1]);
    return slot - 1;
}

/* As csp_pairs_add, for loops where nearly all pairs are known. */
static inline uint32_t csp_pairs_at(struct csp_pairs *pairs, uint64_t first, uint64_t second)
{
    uint32_t known = csp_pairs_find(pairs, first, second);
    return known != CSP_NO_PAIR ? known : csp_pairs_add(pairs, first, second);
}

#endif
