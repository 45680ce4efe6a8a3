#include "emulate/packets.h"

#include "base/bytes.h"

#include <string.h>

enum {
    SYNC_SIZE = 12,
    CONTEXT_AT = 9, /* of an address with context: the byte that tells what follows */
    HAS_CONTEXT_ID = 1 << 7,
    ATOMS = 0xc0, /* these and all above */
};

/* Bytes of a number that has seven bits in each but the `most`th, from `at` on. */
static size_t number_size(const uint8_t *at, const uint8_t *end, size_t most)
{
    size_t size = 1;
    while (size < most && at + size < end && at[size - 1] & 0x80)
        size++;
    return size;
}

static void take_time(struct csp_packet_walk *walk, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint64_t field = (i == 8 ? UINT64_C(0xff) : UINT64_C(0x7f)) << (7 * i);
        uint64_t bits = (uint64_t)walk->packet[1 + i] << (7 * i);
        walk->time = (walk->time & ~field) | (bits & field);
    }
}

static size_t context_size(struct csp_packet_walk *walk)
{
    size_t size = CONTEXT_AT + 1, left = (size_t)(walk->end - walk->packet);
    walk->has_context_id = left > size && walk->packet[CONTEXT_AT] & HAS_CONTEXT_ID;
    if (!walk->has_context_id)
        return size;
    if (left >= size + 4)
        walk->context_id = csp_load32(walk->packet + size);
    return size + 4;
}

/* The size of the packet at walk->packet; 0 when it is none. */
static size_t measure(struct csp_packet_walk *walk, enum csp_packet_kind *kind)
{
    const uint8_t *at = walk->packet, *end = walk->end;
    size_t left = (size_t)(end - at), size;
    *kind = CSP_PACKET_OF_CORE;
    switch (at[0]) {
    case 0x00:
        *kind = CSP_PACKET_A_SYNC;
        return SYNC_SIZE;
    case 0x01: /* Trace Info: PLCTL, INFO, and the cycle count's threshold when PLCTL says so */
        *kind = CSP_PACKET_INFO;
        return left > 3 && at[1] & 8 ? 3 + number_size(at + 3, end, 2) : 3;
    case 0x02:
        if (left < 2)
            return 0;
        *kind = CSP_PACKET_TIME;
        size = number_size(at + 1, end, 9);
        take_time(walk, size);
        return 1 + size;
    case 0x04:
        *kind = CSP_PACKET_ON;
        return 1;
    case 0x06: /* an exception; its address is a packet of its own */
        return 2;
    case 0x0e: /* cycle counts: a number, or none */
        return left > 1 ? 1 + number_size(at + 1, end, 3) : 0;
    case 0x0f:
        return 1;
    case 0x85:
        *kind = CSP_PACKET_CONTEXT;
        return context_size(walk);
    case 0x90:
    case 0x91:
    case 0x92:
        return 1;
    case 0x95:
        return left > 1 ? 2 + (at[1] >> 7) : 0;
    case 0x9a:
        return 5;
    case 0x9d:
        return 9;
    default:
        return at[0] >= ATOMS ? 1 : 0;
    }
}

bool csp_packet_walk(struct csp_packet_walk *walk, enum csp_packet_kind *kind)
{
    walk->packet = walk->at;
    if (walk->at >= walk->end)
        return false;
    size_t size = measure(walk, kind);
    if (!size || size > (size_t)(walk->end - walk->packet))
        return false;
    walk->at += size;
    return true;
}

void csp_packets_strip(struct csp_buf *out, const void *packets, size_t size, bool times,
                       bool context_ids)
{
    struct csp_packet_walk walk = {.at = packets, .end = (const uint8_t *)packets + size};
    enum csp_packet_kind kind;
    while (csp_packet_walk(&walk, &kind)) {
        if (kind == CSP_PACKET_TIME && times)
            continue;
        bool strip = kind == CSP_PACKET_CONTEXT && walk.has_context_id && context_ids;
        if (!strip) {
            csp_buf_add(out, walk.packet, (size_t)(walk.at - walk.packet));
            continue;
        }
        csp_buf_add(out, walk.packet, CONTEXT_AT);
        csp_buf_add_u8(out, walk.packet[CONTEXT_AT] & (uint8_t)~HAS_CONTEXT_ID);
    }
}

size_t csp_packets_first_atom(const void *packets, size_t size)
{
    struct csp_packet_walk walk = {.at = packets, .end = (const uint8_t *)packets + size};
    enum csp_packet_kind kind;
    while (csp_packet_walk(&walk, &kind))
        if (walk.packet[0] >= ATOMS)
            return (size_t)(walk.at - (const uint8_t *)packets);
    return size;
}

void csp_frame_unpack(struct csp_buf *sources, const void *frames, size_t size)
{
    enum { FRAME_SIZE = 16, LAST = FRAME_SIZE - 1 };
    const uint8_t *frame = frames;
    unsigned id = 0;
    for (; size >= FRAME_SIZE; frame += FRAME_SIZE, size -= FRAME_SIZE) {
        unsigned next = id;
        for (unsigned i = 0; i < LAST; i++) {
            bool flag = frame[LAST] >> i / 2 & 1;
            if (i % 2) {
                csp_buf_add_u8(&sources[id], frame[i]);
                id = next;
            } else if (!(frame[i] & 1)) {
                csp_buf_add_u8(&sources[id], (uint8_t)(frame[i] | flag));
            } else {
                next = frame[i] >> 1;
                id = flag && i < LAST - 1 ? id : next; /* late: one more byte of the old one */
            }
        }
        id = next;
    }
}
