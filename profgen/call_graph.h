/* Who calls whom in a tree of contexts, and how often. */
#ifndef CSP_PROFGEN_CALL_GRAPH_H
#define CSP_PROFGEN_CALL_GRAPH_H

#include "profgen/contexts.h"
#include "profgen/guids.h"

struct csp_call_graph;

/* The calls of a tree as it is, whose names are below `names`. */
struct csp_call_graph *csp_call_graph_create(struct csp_context_tree *tree, size_t names);
/* The functions of the tree, by name, callers before those they call; calls up to `cold` times are
 * left out, which makes the order more stable. The caller frees the array. */
uint32_t *csp_callers_first(const struct csp_call_graph *graph, const struct csp_guids *guids,
                            uint64_t cold, size_t *count);
void csp_call_graph_destroy(struct csp_call_graph *graph);

#endif
