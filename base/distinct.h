/* How many different values there are among many, in bounded memory.
 *
 * Exact up to CSP_DISTINCT_MAX values. Beyond, only those whose low bits are zero are kept, a bit
 * more each time that there are too many, and the count is an estimate. Either way it depends on
 * the set of values alone, not on their order. Zero-initialise.
 */
#ifndef CSP_BASE_DISTINCT_H
#define CSP_BASE_DISTINCT_H

#include "base/map.h"

enum { CSP_DISTINCT_MAX = 1 << 20 };

struct csp_distinct {
    struct csp_map kept;
    unsigned skipped_bits; /* values are kept if so many low bits are zero; 0: the count is exact */
};

/* `value` must be as good as random: a hash. */
void csp_distinct_add(struct csp_distinct *distinct, uint64_t value);
uint64_t csp_distinct_count(const struct csp_distinct *distinct);
void csp_distinct_free(struct csp_distinct *distinct);

#endif
