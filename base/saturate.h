/* Counts that are added up for years stop at their maximum instead of starting again. */
#ifndef CSP_BASE_SATURATE_H
#define CSP_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t csp_add_saturating(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t csp_multiply_saturating(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
