/* Where a batch of stitched windows and pauses is done (decode/stitcher.h).
 *
 * A stream is stitched in batches. Near the end of one a pause may belong to a window of the next,
 * so the last windows are stitched again with those to come, and so are the pauses from the first
 * one of theirs on: a long AUX record may well have more windows than the batch, and pauses of
 * these are there already. What lies in front is done together, since a pause without a window is
 * named by the windows around it.
 */
#ifndef CSP_DECODE_STITCH_BATCH_H
#define CSP_DECODE_STITCH_BATCH_H

#include "decode/stitch.h"

/* How many windows and pauses from the front are done, and how many of these windows have a pause.
 */
struct csp_stitch_batch_done {
    size_t windows, pauses, used;
};

/* Keeps `kept` windows of so many, or half where there are fewer than twice that; of the last batch
 * none. Where none of these has a pause, of few all behind the last pair are kept, and of many no
 * pause: the next batch would look at ever more of them. */
struct csp_stitch_batch_done csp_stitch_cut_batch(const struct csp_stitch_pair *pairs,
                                                  size_t pauses, size_t windows, size_t kept);

#endif
