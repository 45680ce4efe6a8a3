/* A persistent map from addresses to mappings: each change returns a new tree, and the old one
 * stays as it was, sharing what did not change. A treap, whose shape does not depend on what is
 * mapped. */
#ifndef CSP_PERFDATA_SPACE_TREE_H
#define CSP_PERFDATA_SPACE_TREE_H

#include "base/vec.h"
#include "perfdata/spaces.h"

/* Node 0 is the empty tree. */
struct csp_space_node {
    uint64_t start;   /* of its mapping */
    uint32_t mapping; /* number in mappings */
    uint32_t left, right;
    uint32_t priority; /* not below that of its children */
};

/* Zero-initialise. */
struct csp_space_tree {
    CSP_VEC(struct csp_space_node) nodes;
    CSP_VEC(struct csp_mapping) mappings;
    uint64_t created;
    size_t frozen; /* nodes from here on belong to no tree that anyone keeps: they may change */
};

/* Says that every tree made so far is to stay as it is. Without it, csp_space_tree_map may reuse
 * the nodes of the tree that it is given. */
void csp_space_tree_freeze(struct csp_space_tree *tree);
/* `root` with this mapping in place of whatever was there; mappings that it covers in part are cut.
 */
uint32_t csp_space_tree_map(struct csp_space_tree *tree, uint32_t root,
                            const struct csp_mapping *mapping, bool *replaced);
const struct csp_mapping *csp_space_tree_find(const struct csp_space_tree *tree, uint32_t root,
                                              uint64_t address);
/* In address order. */
void csp_space_tree_each(const struct csp_space_tree *tree, uint32_t root,
                         void (*visit)(void *user, const struct csp_mapping *mapping), void *user);
void csp_space_tree_free(struct csp_space_tree *tree);

#endif
