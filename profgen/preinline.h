/* The pre-inliner: decides for a whole program which contexts the compiler should inline, by how
 * hot their calls are and how large their code is in the binary, and merges the profiles of the
 * others into those of their functions. The compiler sees one module at a time and could not. */
#ifndef CSP_PROFGEN_PREINLINE_H
#define CSP_PROFGEN_PREINLINE_H

#include <stdbool.h>
#include <stdint.h>

struct csp_context_tree;
struct csp_guids;
struct csp_inline_sizes;
struct csp_units;

struct csp_preinline_options {
    bool enabled;
    bool across_units;             /* the next build sees the whole program (LTO) */
    const struct csp_units *units; /* of the binary: what the compiler cannot inline is merged; may
                                      be null */
    bool replay;                   /* decide as was decided for the profiled binary */
    bool by_context_cost; /* cost is bytes of code; else it is the number of places with counts */
    bool borrow_sizes;    /* of a function that the binary does not have, take that of any other
                             (llvm-profgen 22) instead of its number of places */
    bool loses_overlaps;  /* merge recursion that was not cut as libLLVM does, with what it loses
                             (llvm-profgen 22) */
    int previous_multiplier;  /* how much larger what was inlined before may be */
    int hot_threshold;        /* cost up to which the hottest calls are inlined … */
    int cold_threshold;       /* … and cold ones */
    int growth_limit;         /* how many times its size a function may become … */
    int limit_min, limit_max; /* … but within these */
};

/* Whether the options need sizes. */
static inline bool csp_preinline_needs_sizes(const struct csp_preinline_options *options)
{
    return options->enabled && options->by_context_cost && !options->replay;
}

struct csp_preinline_thresholds {
    uint64_t cold;  /* calls up to this count are cold */
    uint64_t upper; /* calls from this count on are as hot as can be */
};

struct csp_preinliner;

/* `sizes` may be null when the options do not need them. */
struct csp_preinliner *csp_preinliner_create(struct csp_context_tree *tree, struct csp_guids *guids,
                                             const struct csp_preinline_options *options,
                                             const struct csp_inline_sizes *sizes);
/* What is to be known of the tree first. Both may be learned at once, by two threads, and while
 * others read the tree's nodes and counts. */
void csp_preinliner_learn_contexts(struct csp_preinliner *inliner);
void csp_preinliner_learn_calls(struct csp_preinliner *inliner);
/* Merges and marks the contexts of the tree; those that are not to be inlined have no counts then.
 * With several threads, one adds up the counts of functions that are done. Returns how many were
 * not to be inlined because they are in another compile unit than their inliner. */
uint64_t csp_preinliner_run(struct csp_preinliner *inliner,
                            const struct csp_preinline_thresholds *thresholds, unsigned threads);
void csp_preinliner_destroy(struct csp_preinliner *inliner);

#endif
