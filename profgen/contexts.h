/* The profile being made: a tree of functions by calling context with their counts. In a profile
 * without contexts the tree is that of inlining. */
#ifndef CSP_PROFGEN_CONTEXTS_H
#define CSP_PROFGEN_CONTEXTS_H

#include "base/intern.h"
#include "base/pairs.h"
#include "profgen/llvm/profile.h"

struct csp_context_node {
    uint32_t parent;        /* CSP_PROFILE_TOP: called from nowhere known */
    uint32_t callsite;      /* probe, or line from its start, of the parent's that is the call */
    uint32_t discriminator; /* of the callsite */
    uint32_t name;          /* of the function, in the binary's names */
    uint64_t hash;          /* control-flow checksum */
    uint64_t head, total;
    bool counted, inlined;
    uint32_t zeros; /* the set that was last said to be zero, + 1 */
};

/* A count at a probe (or at a line from the function's start); with a callee, of calls to it. */
struct csp_context_count {
    uint32_t node, probe, discriminator, callee; /* callee: CSP_INTERN_NONE for the probe itself */
};

/* How often objects of the type with this virtual table were used at a line. */
struct csp_context_type {
    uint32_t node, line, discriminator, table;
    uint64_t count;
};

struct csp_context_tree {
    CSP_VEC(struct csp_context_node) nodes;
    struct csp_pairs node_keys;  /* parent << 32 | callsite, discriminator << 32 | name */
    struct csp_pairs count_keys; /* node << 32 | probe, discriminator << 32 | callee */
    CSP_VEC(uint64_t) counts;
    CSP_VEC(struct csp_context_type) types;
    CSP_VEC(struct csp_profile_zero) zeros; /* the set: probes of an inline node of the binary */
};

static inline struct csp_context_count csp_context_count_key(const struct csp_context_tree *tree,
                                                             size_t i)
{
    const struct csp_pair *key = &tree->count_keys.list.data[i];
    return (struct csp_context_count){(uint32_t)(key->first >> 32), (uint32_t)key->first,
                                      (uint32_t)(key->second >> 32), (uint32_t)key->second};
}

/* The child of a node, made when it is new. */
uint32_t csp_context_child(struct csp_context_tree *tree, uint32_t parent, uint32_t callsite,
                           uint32_t discriminator, uint32_t name);
/* Adds to the count of a probe, or of its calls to a callee; adding zero makes it known. */
void csp_context_add(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                     uint32_t discriminator, uint32_t callee, uint64_t count);
/* All probes of an inline node are known, and zero where nothing was or will be added. */
void csp_context_add_zeros(struct csp_context_tree *tree, uint32_t node, uint32_t inline_node);
/* Makes the count of a probe or line at least `count`, and known. */
void csp_context_raise(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                       uint32_t discriminator, uint64_t count);
/* The count of a probe or line; 0 when there is none. */
uint64_t csp_context_count_at(const struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                              uint32_t discriminator);
/* The profile in libLLVM's shape; `kind` has the switches of struct csp_profile_data, and
 * the sets of zeros. The tree is empty then: both at once would take twice the memory. */
struct csp_profile *csp_context_profile(struct csp_context_tree *tree,
                                        const struct csp_intern *names,
                                        const struct csp_profile_data *kind, bool update_totals);
void csp_context_free(struct csp_context_tree *tree);

#endif
