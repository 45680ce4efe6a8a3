/* Nesting contexts: each becomes a part of the one that it was called in, if that has counts; else
 * it is on its own, and those of one function become one. This is what libLLVM's ProfileConverter
 * does, in the same order, but that hashes and copies all it has at every step. */
#ifndef CSP_PROFGEN_CONTEXT_NEST_H
#define CSP_PROFGEN_CONTEXT_NEST_H

#include "profgen/contexts.h"

/* Of contexts of another control flow than those of their function before them. */
#define CSP_NESTED_NOWHERE UINT32_MAX

/* A function in the profile. Parents come before their children. */
struct csp_nested {
    uint32_t first;  /* of the contexts that it was made of: a node of the tree */
    uint32_t parent; /* CSP_PROFILE_TOP: on its own */
    uint64_t hash, head, total;
};

struct csp_context_nest {
    const struct csp_context_tree *tree;
    const uint32_t *order, *numbers;
    size_t count;             /* of contexts; all arrays are by number */
    uint32_t *callees, *next; /* lists of those nested in each: numbers + 1, 0: none */
    uint32_t *finished;       /* the order in which libLLVM has done all below one */
    uint64_t *taken;          /* of its caller's counts, as they are its own now */
    uint32_t *homes;          /* in `nodes`, or CSP_NESTED_NOWHERE */
    struct csp_numbers known; /* parent << 32 | edge, or a name on its own */
    CSP_VEC(struct csp_nested) nodes;
    CSP_VEC(uint32_t) pending;
};

/* Of contexts that are nodes of a tree in libLLVM's order, each followed by those below it: by
 * number the node, and the other way round. Totals are not known yet. */
void csp_context_nest_begin(struct csp_context_nest *nest, const struct csp_context_tree *tree,
                            const uint32_t *order, const uint32_t *numbers, size_t count);
/* Takes the calls to what is nested in a context out of the sums of its counts. Several threads can
 * do that, each with other contexts, when the tree's places are complete. */
void csp_context_nest_take(struct csp_context_nest *nest, uint32_t number,
                           struct csp_context_sums *sums);
/* When that was done for all contexts with counts: makes the totals. */
void csp_context_nest_totals(struct csp_context_nest *nest);
void csp_context_nest_free(struct csp_context_nest *nest);

#endif
