/* A context-sensitive profile that was read, as a tree. */
#ifndef CSP_PROFGEN_READ_CONTEXTS_H
#define CSP_PROFGEN_READ_CONTEXTS_H

#include "profgen/contexts.h"

/* Adds all contexts to the tree, and names that are new to `names`. */
void csp_contexts_read(struct csp_context_tree *tree, struct csp_intern *names,
                       const struct csp_profile *profile);

#endif
