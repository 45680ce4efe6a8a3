#include "base/nth.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT = 8 /* bits looked at in one pass */ };

/* As unsigned numbers of the same order. */
static uint64_t key_of(int64_t value)
{
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

struct span {
    uint64_t low, high;
};

static struct span span_of(const int64_t *values, size_t count)
{
    struct span span = {UINT64_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t key = key_of(values[i]);
        span.low = key < span.low ? key : span.low;
        span.high = key > span.high ? key : span.high;
    }
    return span;
}

/* Values are dealt by the highest bits in which they differ, and only those that fall together with
 * the n-th are looked at again. */
int64_t csp_nth(const int64_t *values, size_t count, size_t n)
{
    int64_t *kept = csp_malloc(count * sizeof *kept);
    struct span span = span_of(values, count);
    while (span.low != span.high) {
        unsigned bits = 64 - (unsigned)__builtin_clzll(span.high - span.low);
        unsigned shift = bits > DIGIT ? bits - DIGIT : 0;
        uint32_t counts[1 << DIGIT] = {0};
        for (size_t i = 0; i < count; i++)
            counts[(key_of(values[i]) - span.low) >> shift]++;
        uint64_t digit = 0;
        for (; n >= counts[digit]; digit++)
            n -= counts[digit];
        size_t left = 0;
        for (size_t i = 0; i < count; i++) /* in place from the second pass on */
            if ((key_of(values[i]) - span.low) >> shift == digit)
                kept[left++] = values[i];
        values = kept;
        count = left;
        span = span_of(values, count);
    }
    free(kept);
    return (int64_t)(span.low ^ UINT64_C(1) << 63);
}
