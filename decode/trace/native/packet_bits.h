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

#endif
