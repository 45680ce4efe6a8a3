/* What AUX records announced, as chunks of a stream. */
#ifndef CSP_DECODE_RECORDING_CHUNKS_H
#define CSP_DECODE_RECORDING_CHUNKS_H

#include "base/arena.h"
#include "decode/trace_input.h"
#include "perfdata/auxtrace.h"

/* Fragments of one stream, in order: numbers in csp_auxtrace.fragments. */
typedef CSP_VEC(uint32_t) csp_fragment_list;

/* What was put into a stream. */
struct csp_stream_contents {
    uint64_t bytes;
    uint32_t first_ring, last_ring; /* csp_aux_queue.idx: the lowest and the highest */
};

/* Puts the trace of fragments, of which there are some, into chunks of `stream`, whose lists of
 * pieces live in `arena`. There may be many: they are looked at once, and what is in order from the
 * first of all on may not be looked at any more then (csp_big_vec_done). */
struct csp_stream_contents csp_stream_fill(struct csp_stream *stream,
                                           const struct csp_auxtrace *aux,
                                           const csp_fragment_list *fragments,
                                           struct csp_arena *arena);

#endif
