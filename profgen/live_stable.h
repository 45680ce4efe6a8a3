/* Whether a profile still changes: the counts of its newer samples against those of the same number
 * of older ones. */
#ifndef CSP_PROFGEN_LIVE_STABLE_H
#define CSP_PROFGEN_LIVE_STABLE_H

#include "base/vec.h"
#include "profgen/counters.h"

#include <stdbool.h>

struct csp_live_stable {
    CSP_VEC(uint64_t) before; /* of each counter, when there were … */
    uint64_t samples;         /* … so many samples */
};

/* Compares when there are twice as many samples as when it last looked: how alike the two halves
 * are, the sum of the smaller share of each range in its context, in per cent. False when it is not
 * yet time. */
bool csp_live_stable_look(struct csp_live_stable *stable, const struct csp_counter_table *ranges,
                          uint64_t samples, double *alike);
void csp_live_stable_free(struct csp_live_stable *stable);

#endif
