/* Merging contexts: those of a function that are not to be kept apart become its base, the profile
 * of the function called from anywhere; what was called in them is called in the base then. This is
 * what libLLVM's SampleContextTracker does, in the same order; where it loses counts, that has to
 * be asked for. */
#ifndef CSP_PROFGEN_CONTEXT_MERGE_H
#define CSP_PROFGEN_CONTEXT_MERGE_H

#include "profgen/contexts.h"
#include "profgen/guids.h"

/* Of a node with counts. */
enum csp_context_state {
    CSP_CONTEXT_APART,   /* not merged yet */
    CSP_CONTEXT_INLINED, /* to be kept */
    CSP_CONTEXT_MERGED,  /* its counts are another node's */
    CSP_CONTEXT_MOVED,   /* the same, and it is now what that node is: its `parent` */
};

struct csp_context_merger {
    struct csp_context_tree *tree;
    struct csp_guids *guids;
    uint32_t *nodes, *ends; /* with counts, by function, those with the fewest callers first */
    CSP_VEC(uint64_t) pending;
    bool loses_overlaps; /* as csp_context_merge_overlapping does */
};

/* What is asked of each node is here, too: a tree of millions is not in the processor's cache. */
struct csp_hashed_child {
    uint64_t hash;
    uint32_t node;
    uint32_t name : 31, counted : 1;
};

typedef CSP_VEC(struct csp_hashed_child) csp_hashed_children;

/* Appends the children of a node in libLLVM's order: by a hash of the call. */
void csp_context_sorted_children(const struct csp_context_tree *tree, struct csp_guids *guids,
                                 uint32_t node, csp_hashed_children *children);
/* With `loses_overlaps`, recursion that was not cut loses counts where libLLVM loses them. */
void csp_context_merger_begin(struct csp_context_merger *merger, struct csp_context_tree *tree,
                              struct csp_guids *guids, bool loses_overlaps);
/* Merges all contexts of a function but those inlined. Returns the base; CSP_PROFILE_TOP when there
 * is none. */
uint32_t csp_context_merge_function(struct csp_context_merger *merger, uint32_t name);
void csp_context_merger_free(struct csp_context_merger *merger);

/* Hangs the counts of a node at another one's of the same function; false: they are of another
 * control flow, and are left out as libLLVM does it. */
bool csp_context_merge_counts(struct csp_context_tree *tree, uint32_t from, uint32_t to);

/* Makes a node that is only a step on the path to others what another one is, which has no counts
 * then. */
void csp_context_move_counts(struct csp_context_tree *tree, uint32_t from, uint32_t to);

/* Contexts with totals below a threshold: merges them into the context of their last `depth`
 * frames, or (trim) leaves out what is still below it then; with neither, nothing is done. */
struct csp_cold_contexts {
    uint64_t threshold;
    bool trim, merge;
    bool base_only; /* trim only bases, unless contexts are merged */
    uint32_t depth;
};

void csp_contexts_merge_cold(struct csp_context_tree *tree, const struct csp_cold_contexts *cold);

#endif
