/* Takes apart what the trace core wrote, and only that: enough to find windows in the bytes of a
 * sink again, and to leave out what a trace unit was not asked for. */
#ifndef CSP_EMULATE_PACKETS_H
#define CSP_EMULATE_PACKETS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum csp_packet_kind {
    CSP_PACKET_OF_CORE, /* nothing of the below */
    CSP_PACKET_A_SYNC,
    CSP_PACKET_INFO,
    CSP_PACKET_ON,
    CSP_PACKET_TIME,
    CSP_PACKET_CONTEXT, /* an address with context */
};

struct csp_packet_walk {
    const uint8_t *at, *end; /* in */
    uint64_t time;           /* of the last timestamp */
    bool has_context_id;     /* the last CSP_PACKET_CONTEXT has one, */
    uint32_t context_id;     /* this one */
    const uint8_t *packet;   /* the current packet: up to `at` */
};

/* Goes to the next packet. False at the end, and where the bytes are none of the core's packets. */
bool csp_packet_walk(struct csp_packet_walk *walk, enum csp_packet_kind *kind);

/* Appends the packets without timestamps, without context IDs. */
void csp_packets_strip(struct csp_buf *out, const void *packets, size_t size, bool times,
                       bool context_ids);

/* Bytes up to and with the first atom; `size` when there is none. */
size_t csp_packets_first_atom(const void *packets, size_t size);

/* Appends to sources[ID] what the frames hold of each; sources has 128. */
void csp_frame_unpack(struct csp_buf *sources, const void *frames, size_t size);

#endif
