#include "decode/trace/native/deframer.h"

#include "base/bytes.h"

#include <stdbool.h>

void csp_deframer_reset(struct csp_deframer *deframer)
{
    deframer->id = CSP_FRAME_NO_ID;
}

/* So far ahead bytes are fetched: what is decoded next follows in the file. */
enum { AHEAD = 1024 };

/* The low bit of every even byte of half a frame. */
static const uint64_t even_low_bits = UINT64_C(0x0001000100010001);

/* Bits 0 … 3, spread over the low bits of bytes 0, 2, 4 and 6. */
#define SPREAD(bits)                                                                               \
    ((uint64_t)((bits) & 1) | (uint64_t)((bits) >> 1 & 1) << 16 |                                  \
     (uint64_t)((bits) >> 2 & 1) << 32 | (uint64_t)((bits) >> 3) << 48)
static const uint64_t spread[16] = {
    SPREAD(0), SPREAD(1), SPREAD(2),  SPREAD(3),  SPREAD(4),  SPREAD(5),  SPREAD(6),  SPREAD(7),
    SPREAD(8), SPREAD(9), SPREAD(10), SPREAD(11), SPREAD(12), SPREAD(13), SPREAD(14), SPREAD(15),
};

static void close_run(struct csp_deframer *deframer, uint32_t end)
{
    deframer->runs.data[deframer->runs.len - 1].end = end;
}

static void open_run(struct csp_deframer *deframer, uint8_t id, uint32_t start)
{
    struct csp_deframed_run run = {.id = id, .start = start, .end = start};
    csp_vec_push(&deframer->runs, run);
}

static void change_source(struct csp_deframer *deframer, uint8_t id, uint32_t length)
{
    if (id == deframer->id)
        return;
    close_run(deframer, length);
    deframer->id = id;
    open_run(deframer, id, length);
}

/* The low bits of data, which its last byte has. */
static void restore_low_bits(uint64_t *low, uint64_t *high)
{
    *low |= spread[*high >> 56 & 15];
    *high = (*high & UINT64_MAX >> 8) | spread[*high >> 60];
}

/* A frame in which byte `at` names a source, and no other: what is behind it moves up. Whether the
 * source changes there or one byte later is in the place of its low bit. */
static uint32_t unpack_change(struct csp_deframer *deframer, uint64_t low, uint64_t high,
                              unsigned at, uint32_t length)
{
    uint8_t *out = deframer->bytes.data + length, bytes[2 * CSP_FRAME_SIZE] = {0};
    bool is_later = high >> (56 + at / 2) & 1 && at < CSP_FRAME_SIZE - 2;
    uint8_t id = (uint8_t)((at < 8 ? low >> 8 * at : high >> 8 * (at - 8)) & 0xff) >> 1;
    restore_low_bits(&low, &high);
    memcpy(bytes, &low, 8);
    memcpy(bytes + 8, &high, 8);
    memcpy(out, bytes, CSP_FRAME_SIZE);
    memcpy(out + at, bytes + at + 1, CSP_FRAME_SIZE);
    change_source(deframer, id, length + at + is_later);
    return length + CSP_FRAME_SIZE - 2;
}

/* A frame in which the source changes. Returns where its bytes end. */
static uint32_t unpack_mixed(struct csp_deframer *deframer, const uint8_t *frame, uint32_t length)
{
    uint8_t *out = deframer->bytes.data;
    for (unsigned i = 0; i < CSP_FRAME_SIZE; i += 2) {
        bool flag = frame[15] >> (i / 2) & 1;
        bool is_id = frame[i] & 1;
        if (!is_id)
            out[length++] = (uint8_t)(frame[i] | flag);
        if (is_id && flag && i < 14)
            out[length++] = frame[i + 1];
        if (is_id)
            change_source(deframer, frame[i] >> 1, length);
        if (!(is_id && flag) && i < 14)
            out[length++] = frame[i + 1];
    }
    return length;
}

static bool is_barrier(uint64_t low, uint64_t high)
{
    const uint64_t two_syncs = UINT64_C(0x7fffffff7fffffff);
    return low == two_syncs && high == two_syncs;
}

/* The byte that names a source, if there is a single one; else -1. */
static int only_name(uint64_t low, uint64_t high)
{
    uint64_t first = low & even_low_bits, second = high & even_low_bits;
    if (first && !second && !(first & (first - 1)))
        return __builtin_ctzll(first) / 8;
    if (second && !first && !(second & (second - 1)))
        return 8 + __builtin_ctzll(second) / 8;
    return -1;
}

static void take_barrier(struct csp_deframer *deframer, uint32_t length)
{
    close_run(deframer, length);
    open_run(deframer, CSP_FRAME_BARRIER, length);
    csp_deframer_reset(deframer);
    open_run(deframer, deframer->id, length);
}

void csp_deframe(struct csp_deframer *deframer, const uint8_t *data, uint32_t frame_count)
{
    deframer->runs.len = deframer->bytes.len = deframer->frames.len = 0;
    csp_vec_reserve(&deframer->bytes, (size_t)frame_count * CSP_FRAME_SIZE + CSP_FRAME_SIZE);
    csp_vec_reserve(&deframer->frames, frame_count);
    uint8_t *out = deframer->bytes.data;
    uint32_t *frames = deframer->frames.data;
    uint32_t length = 0;
    open_run(deframer, deframer->id, 0);
    for (const uint8_t *end = data + (size_t)frame_count * CSP_FRAME_SIZE; data != end;
         data += CSP_FRAME_SIZE) {
        uint64_t low = csp_load64(data), high = csp_load64(data + 8);
        __builtin_prefetch(data + AHEAD);
        *frames++ = length;
        if ((low | high) & even_low_bits) {
            int named = only_name(low, high);
            if (named >= 0)
                length = unpack_change(deframer, low, high, (unsigned)named, length);
            else if (is_barrier(low, high))
                take_barrier(deframer, length);
            else
                length = unpack_mixed(deframer, data, length);
            continue;
        }
        restore_low_bits(&low, &high);
        memcpy(out + length, &low, 8);
        memcpy(out + length + 8, &high, 8);
        length += CSP_FRAME_SIZE - 1;
    }
    deframer->frames.len = frame_count;
    deframer->bytes.len = length;
    close_run(deframer, length);
}

size_t csp_deframer_frame_of(const struct csp_deframer *deframer, uint32_t position)
{
    size_t low = position / (CSP_FRAME_SIZE - 1); /* no frame has more bytes */
    size_t high = deframer->frames.len;
    if (low + 1 < high && deframer->frames.data[low + 1] > position)
        return low;
    if (low >= high)
        low = 0;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (deframer->frames.data[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void csp_deframer_free(struct csp_deframer *deframer)
{
    csp_vec_free(&deframer->runs);
    csp_vec_free(&deframer->bytes);
    csp_vec_free(&deframer->frames);
}
