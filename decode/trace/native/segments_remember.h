/* Remembering a segment that was walked (segments.h): as what is told of it. */
#ifndef CSP_DECODE_TRACE_SEGMENTS_REMEMBER_H
#define CSP_DECODE_TRACE_SEGMENTS_REMEMBER_H

#include "decode/trace/native/segments.h"

/* How a segment came out: its ranges, and its last atom, 1 for E. As many ways can be read as are
 * copied at once. */
struct csp_segment_outcome {
    const uint32_t *ways;
    uint32_t count;
    unsigned taken;
    csp_segment_sums sums;
};

/* Null when there is no room, or when what is told of it cannot be kept. */
const struct csp_segment *csp_segments_remember(struct csp_segments *segments,
                                                const struct csp_segment_key *key,
                                                struct csp_block_table *table,
                                                const struct csp_segment_outcome *outcome);

#endif
