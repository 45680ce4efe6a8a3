/* Distinct numbers, themselves numbered from zero in the order they first appear: pairs of small
 * ones in one word, in tables of millions. Zero-initialise. Not safe for concurrent use. */
#ifndef CSP_BASE_NUMBERS_H
#define CSP_BASE_NUMBERS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define CSP_NUMBERS_NONE UINT32_MAX

struct csp_numbers {
    CSP_VEC(uint64_t) list; /* may be filled with distinct ones while there are no slots */
    uint32_t *slots;        /* place in the list + 1, 0 is free; `mask` + 1 of them */
    uint32_t mask;
};

/* The place of a number, new or old. A new one has the place that `list.len` was. */
uint32_t csp_numbers_add(struct csp_numbers *numbers, uint64_t number);
/* Forgets all numbers; the memory stays for others. */
void csp_numbers_clear(struct csp_numbers *numbers);
void csp_numbers_free(struct csp_numbers *numbers);

/* Neighbours stay neighbours: what is looked up together is in the same lines of the cache. */
static inline uint32_t csp_numbers_hash(uint64_t number)
{
    uint64_t hash = (number >> 5) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32;
    return (uint32_t)hash + (uint32_t)(number & 31);
}

/* The place of a number, or CSP_NUMBERS_NONE. */
static inline uint32_t csp_numbers_find(const struct csp_numbers *numbers, uint64_t number)
{
    if (!numbers->slots)
        return CSP_NUMBERS_NONE;
    for (uint32_t i = csp_numbers_hash(number) & numbers->mask;; i = (i + 1) & numbers->mask) {
        uint32_t slot = numbers->slots[i];
        if (!slot)
            return CSP_NUMBERS_NONE;
        if (numbers->list.data[slot - 1] == number)
            return slot - 1;
    }
}

/* Fetches where a number is looked for, for many that are looked up one after the other in a table
 * larger than the processor's cache. */
static inline void csp_numbers_fetch(const struct csp_numbers *numbers, uint64_t number)
{
    if (numbers->slots)
        __builtin_prefetch(&numbers->slots[csp_numbers_hash(number) & numbers->mask]);
}

/* The same of the number itself, when that was fetched. Returns the place that it most likely has,
 * or CSP_NUMBERS_NONE. */
static inline uint32_t csp_numbers_fetch_number(const struct csp_numbers *numbers, uint64_t number)
{
    uint32_t slot = numbers->slots ? numbers->slots[csp_numbers_hash(number) & numbers->mask] : 0;
    if (slot)
        __builtin_prefetch(&numbers->list.data[slot - 1]);
    return slot - 1;
}

/* The same as csp_numbers_add, for loops where nearly all numbers are known. */
static inline uint32_t csp_numbers_at(struct csp_numbers *numbers, uint64_t number)
{
    uint32_t known = csp_numbers_find(numbers, number);
    return known == CSP_NUMBERS_NONE ? csp_numbers_add(numbers, number) : known;
}

#endif
