/* Hexadecimal digits without a loop. */
#ifndef CSP_BASE_HEX_H
#define CSP_BASE_HEX_H

#include <stdint.h>
#include <string.h>

enum { CSP_HEX_ROOM = 16 };

/* Eight digits, the highest in the lowest byte. */
static inline uint64_t csp_hex_digits(uint32_t value)
{
    uint64_t x = __builtin_bswap32(value);
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x >> 4 | x << 8) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    return x + UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
}

/* Writes lower-case digits without leading zeroes and returns what is behind them. There must be
 * CSP_HEX_ROOM bytes, of which all are written. Little-endian processors only, as is all of csprof.
 */
static inline char *csp_hex_put(char *at, uint64_t value)
{
    unsigned count = value ? (unsigned)(67 - __builtin_clzll(value)) / 4 : 1;
    uint64_t high = csp_hex_digits((uint32_t)(value >> 32));
    uint64_t low = csp_hex_digits((uint32_t)value);
    unsigned skipped = 16 - count;
    if (skipped >= 8) {
        low >>= 8 * (skipped - 8);
        memcpy(at, &low, 8);
    } else {
        uint64_t first = skipped ? high >> 8 * skipped | low << 8 * (8 - skipped) : high;
        uint64_t second = low >> 8 * skipped;
        memcpy(at, &first, 8);
        memcpy(at + 8, &second, 8);
    }
    return at + count;
}

#endif
