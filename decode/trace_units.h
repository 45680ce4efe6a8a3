/* Where a trace is cut so that its parts can be decoded apart, by several threads.
 *
 * Behind a chunk that nothing continues, the decoder forgets everything: that is a place to cut.
 * Within raw trace another is the enabling of a trace unit, A-Sync, Trace Info and TRACE_ON with
 * nothing between them that was executed (Arm ETM architecture specification, "Trace Info packet":
 * it resets what packets leave out). Places depend on the trace alone, never on the number of
 * threads, and both engines are made to forget everything there.
 */
#ifndef CSP_DECODE_TRACE_UNITS_H
#define CSP_DECODE_TRACE_UNITS_H

#include "decode/trace_input.h"

/* Whole chunks; or a slice of raw chunks that continue each other: what begins with an enabling in
 * its bytes [begin, end), counted from its first chunk. The first slice also has what comes before
 * its first enabling; others may turn out to be empty. */
struct csp_trace_unit {
    uint32_t stream;
    uint32_t chunk_first, chunk_last; /* the latter is not of it */
    uint64_t offset;                  /* of the first chunk's bytes in the stream */
    uint64_t size;                    /* of all its chunks */
    bool is_slice, is_first;
    uint64_t begin, end;
};

typedef CSP_VEC(struct csp_trace_unit) csp_trace_units;

/* All units of all streams, in order; `whole`: one for each stream. */
void csp_trace_units_make(const struct csp_trace_input *input, bool whole, csp_trace_units *units);
/* The bytes that a unit really has: [*begin, *end) of its chunks. */
void csp_trace_unit_bounds(const struct csp_trace_input *input, const struct csp_trace_unit *unit,
                           uint64_t *begin, uint64_t *end);

#endif
