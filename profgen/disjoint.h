/* Overlapping counted ranges, cut into ranges that do not overlap. */
#ifndef CSP_PROFGEN_DISJOINT_H
#define CSP_PROFGEN_DISJOINT_H

#include "base/vec.h"
#include "profgen/counters.h"

#include <stdbool.h>

struct csp_span {
    uint64_t from, to; /* both included */
    uint64_t count;
};

/* One end of a range. */
struct csp_range_edge {
    uint64_t address;
    uint64_t count;
    uint32_t begins, ends;
};

struct csp_spans {
    CSP_VEC(struct csp_span) spans;       /* by address */
    CSP_VEC(struct csp_range_edge) edges; /* scratch */
};

static inline void csp_spans_free(struct csp_spans *spans)
{
    csp_vec_free(&spans->spans);
    csp_vec_free(&spans->edges);
}

/* Each address covered by some of `ranges` is in exactly one span, whose count is the sum of
 * theirs. Ranges with a count of zero make spans too: code known not to have run. */
void csp_disjoint(const struct csp_counter *ranges, size_t count, struct csp_spans *out);

struct csp_program;
/* The same for `ranges` and, with a count of zero, all code of the functions that they are in (or
 * of all functions): what did not run there is known to be cold. */
void csp_disjoint_in_functions(const struct csp_program *program, const struct csp_counter *ranges,
                               size_t count, bool all_functions, struct csp_spans *out);

#endif
