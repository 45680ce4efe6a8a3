/* From pauses that were stitched to the samples, or the text of them, that a stitcher's user gets,
 * in order. Several threads may make them. */
#ifndef CSP_DECODE_STITCH_DELIVERY_H
#define CSP_DECODE_STITCH_DELIVERY_H

#include "decode/stitcher.h"

/* A window in the part that it was decoded into. */
struct csp_held_window {
    struct csp_trace_part *part; /* null where csp_delivers_nothing */
    uint32_t list, number;
    uint32_t branches; /* that its runs have, kept or counted */
};

/* Pauses that were stitched, or found to have nothing to be stitched to. */
struct csp_delivery {
    const struct csp_pause_stream *stream;
    size_t first, count; /* pauses of the stream */
    const struct csp_stitch_pair *pairs;
    const struct csp_held_window *windows; /* by number of a pair's window */
};

struct csp_deliverer {
    const struct csp_stitcher_options *options;
    struct csp_stitched_maker *makers; /* one per thread */
    struct csp_buf *texts;             /* one per slot */
};

/* The options, with at least one thread, live as long as the deliverer. */
void csp_deliverer_init(struct csp_deliverer *deliverer,
                        const struct csp_stitcher_options *options);
/* Counts the pauses and hands them over. Returns what the user's function stopped it with, or 0. */
int csp_deliver(struct csp_deliverer *deliverer, const struct csp_delivery *delivery,
                struct csp_stitch_stats *stats);
/* Pauses are only counted: nobody looks at their windows. */
bool csp_delivers_nothing(const struct csp_stitcher_options *options);
/* What all threads' samples told so far. */
struct csp_stitched_stats csp_deliverer_made(const struct csp_deliverer *deliverer);
void csp_deliverer_free(struct csp_deliverer *deliverer);

#endif
