#include "validate/spe_packet.h"

#include <stdbool.h>

static uint64_t load(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* The kinds that may stand in a short header, beside addresses and counters. */
static bool short_kind(uint8_t header, enum csp_spe_kind *kind)
{
    if (header == 0x71)
        *kind = CSP_SPE_TIMESTAMP;
    else if ((header & 0xcf) == 0x42)
        *kind = CSP_SPE_EVENTS;
    else if ((header & 0xcf) == 0x43)
        *kind = CSP_SPE_DATA_SOURCE;
    else if ((header & 0xfc) == 0x64)
        *kind = CSP_SPE_CONTEXT;
    else if ((header & 0xfc) == 0x48)
        *kind = CSP_SPE_OPERATION;
    else
        return false;
    return true;
}

static bool indexed_kind(uint8_t header, enum csp_spe_kind *kind)
{
    if ((header & 0xf8) == 0xb0)
        *kind = CSP_SPE_ADDRESS;
    else if ((header & 0xf8) == 0x98)
        *kind = CSP_SPE_COUNTER;
    else
        return false;
    return true;
}

static enum csp_spe_result take_payload(const uint8_t *header, size_t left, size_t header_size,
                                        struct csp_spe_packet *packet)
{
    packet->payload_size = (uint8_t)(1U << (header[header_size - 1] >> 4 & 3));
    packet->size = header_size + packet->payload_size;
    if (left < packet->size)
        return CSP_SPE_SHORT;
    packet->payload = load(header + header_size, packet->payload_size);
    return CSP_SPE_PACKET;
}

static enum csp_spe_result read_alignment(uint8_t header, size_t left, uint64_t position,
                                          struct csp_spe_packet *packet)
{
    uint64_t multiple = UINT64_C(2) << (header & 15);
    packet->kind = CSP_SPE_ALIGNMENT;
    packet->size = (size_t)(multiple - (position & (multiple - 1)));
    if (packet->size < 2) /* the header itself reaches beyond the next multiple */
        packet->size += (size_t)multiple;
    return left < packet->size ? CSP_SPE_SHORT : CSP_SPE_PACKET;
}

static enum csp_spe_result read_extended(const uint8_t *at, size_t left, uint64_t position,
                                         struct csp_spe_packet *packet)
{
    if (left < 2)
        return CSP_SPE_SHORT;
    if (!at[1])
        return read_alignment(at[0], left, position, packet);
    if ((at[0] & 0xfc) != 0x20 || !indexed_kind(at[1], &packet->kind))
        return CSP_SPE_BAD;
    packet->index = (uint8_t)((at[0] & 3) << 3 | (at[1] & 7));
    return take_payload(at, left, 2, packet);
}

enum csp_spe_result csp_spe_packet_read(const uint8_t *at, size_t left, uint64_t position,
                                        struct csp_spe_packet *packet)
{
    *packet = (struct csp_spe_packet){.size = 1};
    if (!left)
        return CSP_SPE_SHORT;
    uint8_t header = at[0];
    if (header <= 1) {
        packet->kind = header ? CSP_SPE_END : CSP_SPE_PADDING;
        return CSP_SPE_PACKET;
    }
    if ((header & 0xf0) == 0x20)
        return read_extended(at, left, position, packet);
    if (short_kind(header, &packet->kind))
        packet->index =
            packet->kind == CSP_SPE_CONTEXT || packet->kind == CSP_SPE_OPERATION ? header & 3 : 0;
    else if (indexed_kind(header, &packet->kind))
        packet->index = header & 7;
    else
        return CSP_SPE_BAD;
    return take_payload(at, left, 1, packet);
}
