/* Reading little-endian data that may be unaligned, short or hostile. */
#ifndef CSP_BASE_BYTES_H
#define CSP_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* csprof reads and writes little-endian formats on little-endian hosts (x86-64, AArch64) only. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "big-endian hosts are not supported");

/* How many bits are set: without an instruction for it, which not all x86-64 processors have, the
 * compiler's own counting is a call and takes twice as long. */
static inline unsigned csp_bits_set(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static inline uint16_t csp_load16(const void *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t csp_load32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t csp_load64(const void *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* A cursor over [at, end). Reading past the end yields zero and sets `overrun`, which stays set:
 * parse a whole structure, then check once. */
struct csp_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool overrun;
};

static inline struct csp_cursor csp_cursor(const void *data, size_t size)
{
    return (struct csp_cursor){data, (const uint8_t *)data + size, false};
}

static inline size_t csp_cursor_left(const struct csp_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* Skips `size` bytes and returns where they began, or null when there are fewer. */
static inline const uint8_t *csp_cursor_take(struct csp_cursor *cursor, size_t size)
{
    if (cursor->overrun || csp_cursor_left(cursor) < size) {
        cursor->overrun = true;
        return NULL;
    }
    const uint8_t *at = cursor->at;
    cursor->at += size;
    return at;
}

static inline uint8_t csp_cursor_u8(struct csp_cursor *cursor)
{
    const uint8_t *at = csp_cursor_take(cursor, 1);
    return at ? *at : 0;
}

static inline uint16_t csp_cursor_u16(struct csp_cursor *cursor)
{
    const uint8_t *at = csp_cursor_take(cursor, 2);
    return at ? csp_load16(at) : 0;
}

static inline uint32_t csp_cursor_u32(struct csp_cursor *cursor)
{
    const uint8_t *at = csp_cursor_take(cursor, 4);
    return at ? csp_load32(at) : 0;
}

static inline uint64_t csp_cursor_u64(struct csp_cursor *cursor)
{
    const uint8_t *at = csp_cursor_take(cursor, 8);
    return at ? csp_load64(at) : 0;
}

/* A number in LEB128 of at most eight bytes, without a branch for each: how many `bits` its bytes
 * have and seven of each. Zero bits: it is longer, or too close to the end to be read like this. */
struct csp_short_leb {
    uint64_t value;
    unsigned bits;
};

static inline struct csp_short_leb csp_cursor_short_leb(struct csp_cursor *cursor)
{
    if (cursor->overrun || csp_cursor_left(cursor) < 8)
        return (struct csp_short_leb){0};
    uint64_t bytes = csp_load64(cursor->at), ends = ~bytes & UINT64_C(0x8080808080808080);
    if (!ends)
        return (struct csp_short_leb){0};
    unsigned bits = (unsigned)__builtin_ctzll(ends) + 1;
    cursor->at += bits / 8;
    bytes &= UINT64_C(0x7f7f7f7f7f7f7f7f) & UINT64_MAX >> (64 - bits);
    bytes = (bytes & UINT64_C(0x007f007f007f007f)) | (bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
    bytes = (bytes & UINT64_C(0x00003fff00003fff)) | (bytes & UINT64_C(0x3fff00003fff0000)) >> 2;
    bytes = (bytes & UINT64_C(0x000000000fffffff)) | (bytes & UINT64_C(0x0fffffff00000000)) >> 4;
    return (struct csp_short_leb){bytes, bits};
}

/* DWARF LEB128 (DWARF 5, section 7.6). More than 64 bits of payload set `overrun`. */
static inline uint64_t csp_cursor_uleb(struct csp_cursor *cursor)
{
    struct csp_short_leb number = csp_cursor_short_leb(cursor);
    if (number.bits)
        return number.value;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = csp_cursor_u8(cursor);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->overrun = true;
    return 0;
}

/* The same of a number that nearly always has one byte. */
static inline uint64_t csp_cursor_small_uleb(struct csp_cursor *cursor)
{
    if (cursor->at < cursor->end && *cursor->at < 0x80 && !cursor->overrun)
        return *cursor->at++;
    return csp_cursor_uleb(cursor);
}

static inline int64_t csp_cursor_sleb(struct csp_cursor *cursor)
{
    struct csp_short_leb number = csp_cursor_short_leb(cursor);
    if (number.bits) {
        unsigned unused = 64 - number.bits / 8 * 7;
        return (int64_t)(number.value << unused) >> unused;
    }
    int64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = csp_cursor_u8(cursor);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift + 7 < 64)
            value |= ~UINT64_C(0) << (shift + 7);
        return (int64_t)value;
    }
    cursor->overrun = true;
    return 0;
}

#endif
