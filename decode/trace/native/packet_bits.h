/* Reading packets in a few instructions each: inlined, for the processor that the includer is
 * compiled for. */
#ifndef CSP_DECODE_TRACE_PACKET_BITS_H
#define CSP_DECODE_TRACE_PACKET_BITS_H

#include "base/bytes.h"
#include "decode/trace/native/address_forms.h"
#include "decode/trace/native/walker.h"

#ifdef __BMI2__
#include <immintrin.h>
#endif

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define INLINE inline __attribute__((always_inline))

/* The bits of the payload that a form takes, one behind the other. */
static INLINE uint64_t take_bits(uint64_t payload, uint64_t taken)
{
#ifdef __BMI2__
    return _pext_u64(payload, taken);
#else
    return (payload & taken & 0x7f) | (payload & taken & 0x7f00) >> 1 |
           (taken == 0xff7f ? (payload & 0x8000) >> 1 : (payload & taken & ~UINT64_C(0xffff)) >> 2);
#endif
}

/* A header, and whether the byte behind it says that one follows: what tables go by. */
static INLINE unsigned header_at(uint64_t bytes)
{
#ifdef __BMI2__
    return (unsigned)_pext_u64(bytes, 0x80ff);
#else
    return (bytes & 0xff) | (bytes >> 7 & 0x100);
#endif
}

/* The region in force, by words from its base: those of which there are blocks. */
struct words {
    struct csp_block_table *table;
    uint64_t base, first, count;
};

static INLINE struct words words_of(const struct csp_region *region)
{
    const struct csp_code_region *code = &region->code;
    uint64_t first = (code->start - code->base + 3) / 4, end = (code->end - code->base) / 4;
    if (end > region->table->words)
        end = region->table->words;
    uint64_t count = end > first ? end - first : 0;
    return (struct words){region->table, code->base, first, count};
}

#endif
