/* The express lane: the stretches of a trace that are nothing but atoms and addresses, which is
 * nearly all of it.
 *
 * Walking packet by packet, a processor mispredicts the end of every packet and of every run of
 * atoms, which costs more than the walk. So a stretch is first gathered: all its atoms in a row,
 * with a mark on those before which an address said where execution is, and the blocks at those
 * addresses. Then it is walked in one loop, in which a mark chooses between the link followed and
 * the next block of the list by a conditional move.
 */
#ifndef CSP_DECODE_TRACE_EXPRESS_H
#define CSP_DECODE_TRACE_EXPRESS_H

#include "decode/trace/native/packet.h"
#include "decode/trace/native/walker.h"

/* Takes what it can of [at, end), and returns where another kind of packet begins or less than
 * CSP_PACKET_SIZE_MAX is left. Everything before must have been resolved. */
const uint8_t *csp_express_take(struct csp_walker *walker, struct csp_packet_reader *reader,
                                const uint8_t *at, const uint8_t *end);

#endif
