/* Merging a context into one of its own callers whose calls are repeated below it. */
#ifndef CSP_PROFGEN_CONTEXT_OVERLAP_H
#define CSP_PROFGEN_CONTEXT_OVERLAP_H

#include "profgen/context_merge.h"

/* Whether what is called in `node`, followed along the calls from `base` to it, leads back to it:
 * [base … node … node], by the same calls. Contexts without recursion never do. */
bool csp_context_overlaps(const struct csp_context_tree *tree, uint32_t base, uint32_t node);
/* Merges it with all below it into the base as libLLVM does, which changes the tree while it looks
 * into it: counts are lost that go into a node that was itself merged already. Some of them it
 * finds again in nodes that it has freed, or crashes there; here they are lost. */
void csp_context_merge_overlapping(struct csp_context_merger *merger, uint32_t node, uint32_t base);

#endif
