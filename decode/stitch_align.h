/* Aligning two sequences in order so that the evidence adds up to the most, and measuring for each
 * pair how much worse the best alignment is that pairs either side with something else. */
#ifndef CSP_DECODE_STITCH_ALIGN_H
#define CSP_DECODE_STITCH_ALIGN_H

#include <stdint.h>

/* The evidence that row `i` and column `j` belong together: 0 when they cannot, else up to 255. */
typedef uint32_t csp_align_score_fn(const void *user, uint32_t row, uint32_t column);

struct csp_align_pair {
    uint32_t row;    /* UINT32_MAX: the column has no partner */
    uint32_t margin; /* what the second-best explanation lacks; UINT32_MAX when there is none */
};

/* Aligns rows [row_first, row_last) with columns [column_first, column_last) and fills
 * pairs[column - column_first]. Skipping costs nothing on either side. Work and memory are bounded
 * by a band around the diagonal and by blocks of columns, whatever the lengths. */
void csp_align(uint32_t row_first, uint32_t row_last, uint32_t column_first, uint32_t column_last,
               csp_align_score_fn *score, const void *user, struct csp_align_pair *pairs);

#endif
