/* Adds up the counts of contexts that are complete, in a thread beside the one that still merges
 * others. What it has not come to when all are merged is added up where somebody asks. */
#ifndef CSP_PROFGEN_CONTEXT_SETTLE_H
#define CSP_PROFGEN_CONTEXT_SETTLE_H

#include "profgen/contexts.h"

struct csp_context_settler;

/* Until the end, counts are only hung at others in the tree. Null, which all others take, where
 * there is no thread for it. */
struct csp_context_settler *csp_context_settler_begin(struct csp_context_tree *tree);
/* A node whose counts nobody looks at, or adds to, until the end. */
void csp_context_settle(struct csp_context_settler *settler, uint32_t node);
void csp_context_settler_end(struct csp_context_settler *settler);

#endif
