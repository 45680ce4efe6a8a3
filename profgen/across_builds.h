/* Counts of one build of a program for another one: by probes, function by function, where both
 * builds have the same control flow (checksum) of the function. Of a context, the frames from the
 * innermost one outwards are kept as far as that is so. Inside of profgen only. */
#ifndef CSP_PROFGEN_ACROSS_BUILDS_H
#define CSP_PROFGEN_ACROSS_BUILDS_H

#include "profgen/contexts.h"
#include "profgen/program.h"

struct csp_across_stats {
    uint64_t functions, left_out;     /* functions with counts; those that differ */
    uint64_t counts, counts_left_out; /* of probes */
    uint64_t contexts_shortened;      /* a caller differs, the function does not */
};

/* Adds what `other` counted to `tree`, which is of `program`. Functions that are left out are named
 * (debug), and counted in a note. */
void csp_tree_add_build(struct csp_context_tree *tree, struct csp_program *program,
                        const struct csp_context_tree *other, const struct csp_program *of,
                        struct csp_across_stats *stats, struct csp_diag *diag);

#endif
