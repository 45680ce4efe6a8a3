/* The characters of a perf-script text, eight at a time.
 *
 * Nine of ten bytes are hexadecimal digits and the flags after a branch, so this is where the time
 * goes that reading a text takes. "SWAR": eight bytes in one word, whose top bits tell of each byte
 * whether it is of a class. */
#ifndef CSP_PROFGEN_PERF_SCRIPT_TEXT_H
#define CSP_PROFGEN_PERF_SCRIPT_TEXT_H

#include "base/bytes.h"

#include <stdbool.h>

#define CSP_BYTES(value) (UINT64_C(0x0101010101010101) * (value))

enum {
    CSP_TEXT_MARGIN = 64, /* bytes after the end of a text that these functions may look at */
};

/* The top bit of each byte that is at least `limit`, of bytes below 0x80. */
static inline uint64_t csp_text_at_least(uint64_t bytes, uint8_t limit)
{
    return ((bytes | CSP_BYTES(0x80)) - CSP_BYTES(limit)) & CSP_BYTES(0x80);
}

static inline uint64_t csp_text_not_hex(uint64_t bytes)
{
    uint64_t lower = bytes | CSP_BYTES(0x20);
    uint64_t digit = csp_text_at_least(bytes, '0') & ~csp_text_at_least(bytes, '9' + 1);
    uint64_t letter = csp_text_at_least(lower, 'a') & ~csp_text_at_least(lower, 'f' + 1);
    return (~(digit | letter) | bytes) & CSP_BYTES(0x80);
}

/* The number that the first `count` of eight digits mean; 1 to 8. */
static inline uint64_t csp_text_hex8(uint64_t digits, unsigned count)
{
    uint64_t values = (digits & CSP_BYTES(0x0f)) + 9 * ((digits >> 6) & CSP_BYTES(0x01));
    values <<= 64 - 8 * count;
    values = (values << 4 | values >> 8) & UINT64_C(0x00ff00ff00ff00ff);
    values = (values << 8 | values >> 16) & UINT64_C(0x0000ffff0000ffff);
    return (values << 16 | values >> 32) & UINT64_C(0xffffffff);
}

/* How many hexadecimal digits there are at `at`, and what they mean; 17 stands for too many. */
static inline unsigned csp_text_hex(const char *at, uint64_t *value)
{
    uint64_t first = csp_load64(at);
    uint64_t other = csp_text_not_hex(first);
    if (other) {
        unsigned count = (unsigned)__builtin_ctzll(other) / 8;
        *value = count ? csp_text_hex8(first, count) : 0;
        return count;
    }
    uint64_t second = csp_load64(at + 8);
    other = csp_text_not_hex(second);
    unsigned count = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    uint64_t high = csp_text_hex8(first, 8);
    *value = count ? high << 4 * count | csp_text_hex8(second, count) : high;
    bool longer = count == 8 && !(csp_text_not_hex((uint8_t)at[16]) & 0x80);
    return longer ? 17 : 8 + count;
}

static inline bool csp_text_0x(const char *at)
{
    return at[0] == '0' && at[1] == 'x';
}

/* Reads "0xFROM/0xTO" and returns where it ends, or null when it is anything else. */
static inline const char *csp_text_branch(const char *at, uint64_t *from, uint64_t *to)
{
    if (!csp_text_0x(at))
        return NULL;
    unsigned digits = csp_text_hex(at + 2, from);
    at += 2 + digits;
    if (digits - 1 > 15 || *at != '/' || !csp_text_0x(at + 1))
        return NULL;
    digits = csp_text_hex(at + 3, to);
    return digits - 1 > 15 ? NULL : at + 3 + digits;
}

/* Behind the blanks at `at`. The text must have something else. */
static inline const char *csp_text_blanks_end(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* The first blank, or end of a line, from `at` on. The text must have one. */
static inline const char *csp_text_token_end(const char *at)
{
    for (;; at++) {
        uint64_t bytes = csp_load64(at);
        uint64_t low = (bytes - CSP_BYTES(0x21)) & ~bytes & CSP_BYTES(0x80);
        if (!low) {
            at += 7;
            continue;
        }
        at += __builtin_ctzll(low) / 8;
        if (*at == ' ' || *at == '\t' || *at == '\n')
            return at;
    }
}

/* The slashes in 32 bytes: a bit for each byte, the lowest for the first. */
static inline uint32_t csp_text_slashes(const char *at)
{
    uint64_t slashes = 0;
    for (unsigned i = 0; i < 32; i += 8) {
        uint64_t other = csp_load64(at + i) ^ CSP_BYTES('/');
        uint64_t low_bits = (other & CSP_BYTES(0x7f)) + CSP_BYTES(0x7f);
        uint64_t equal = ~(low_bits | other) & CSP_BYTES(0x80);
        slashes |= ((equal >> 7) * UINT64_C(0x0102040810204080) >> 56) << i;
    }
    return (uint32_t)slashes;
}

/* Where the next branch begins, or the line ends, behind the second slash of a branch at `at`:
 * flags come before it, mostly none. The line must have an end. */
static inline const char *csp_text_next_token(const char *at)
{
    static const char no_flags[8] = {'P', '/', '-', '/', '-', '/', '0', ' '};
    return csp_text_blanks_end(csp_load64(at) == csp_load64(no_flags) ? at + 8
                                                                      : csp_text_token_end(at));
}

#endif
