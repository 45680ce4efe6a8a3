/* Two trees of one program become one: the second was made of other contexts, most of which have
 * callers that the first one has not. */
#ifndef CSP_PROFGEN_CONTEXT_JOIN_H
#define CSP_PROFGEN_CONTEXT_JOIN_H

#include "profgen/contexts.h"

/* Takes all of another tree, which is empty then, by one or more threads. Neither was merged in or
 * gathered from. */
void csp_context_join(struct csp_context_tree *tree, struct csp_context_tree *other,
                      unsigned threads);

#endif
