/* Overlapping counted ranges, cut into ranges that do not overlap. */
#ifndef CSP_PROFGEN_DISJOINT_H
#define CSP_PROFGEN_DISJOINT_H

#include "base/vec.h"
#include "profgen/counters.h"

struct csp_span {
    uint64_t from, to; /* both included */
    uint64_t count;
};

struct csp_spans {
    CSP_VEC(struct csp_span) spans; /* by address */
};

/* Each address covered by some of `ranges` is in exactly one span, whose count is the sum of
 * theirs. Ranges with a count of zero make spans too: code known not to have run. */
void csp_disjoint(const struct csp_counter *ranges, size_t count, struct csp_spans *out);

#endif
