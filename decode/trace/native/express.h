/* The express lane: the stretches of a trace that are nothing but atoms and addresses, which is
 * nearly all of it.
 *
 * Walking packet by packet, a processor mispredicts the end of every packet and of every run of
 * atoms, which costs more than the walk. So a stretch is first gathered: all its atoms in a row,
 * and the addresses, with the atoms before which they said where execution is. Then the blocks at
 * the addresses are looked up, all of them at once. Then it is walked in one loop, in which the
 * next block is the link followed or that of an address, without a branch that chooses.
 *
 * In that loop each step waits for the one before: which block follows is known when the block has
 * been read. But what follows an address waits for nothing. So four parts of the stretch, each from
 * an address on, are walked at the same time, each to its place in the batch of elements, which is
 * known because every atom makes one range.
 */
#ifndef CSP_DECODE_TRACE_EXPRESS_H
#define CSP_DECODE_TRACE_EXPRESS_H

#include "decode/trace/native/packet.h"
#include "decode/trace/native/walker.h"

/* What is gathered, and the memory for it. Nothing is kept in it from one call to the next. */
struct csp_express;

struct csp_express *csp_express_create(void);
void csp_express_destroy(struct csp_express *express);

/* Takes what it can of [at, end), and returns where another kind of packet begins, or one that is
 * not complete. Everything before must have been resolved. */
const uint8_t *csp_express_take(struct csp_express *express, struct csp_walker *walker,
                                struct csp_packet_reader *reader, const uint8_t *at,
                                const uint8_t *end);

/* Its two builds. csp_express_take has made sure that the instruction set is A64 and that there is
 * no return stack. */
typedef const uint8_t *csp_express_take_fn(struct csp_express *express, struct csp_walker *walker,
                                           struct csp_packet_reader *reader, const uint8_t *at,
                                           const uint8_t *end);
csp_express_take_fn csp_express_take_anywhere, csp_express_take_avx2;

#endif
