/* How many bytes of code a binary has for a function inlined along a path of callers: a trie from
 * the function outwards to its callers, so that a context which the binary does not have finds the
 * nearest one. */
#ifndef CSP_PROFGEN_SIZE_TRIE_H
#define CSP_PROFGEN_SIZE_TRIE_H

#include "base/map.h"
#include "base/pairs.h"
#include "profgen/guids.h"

struct csp_size_node {
    bool known;
    uint32_t size;
    uint32_t first_child; /* that of the smallest edge; 0: none */
    uint64_t first_edge;
};

struct csp_inline_sizes {
    CSP_VEC(struct csp_size_node) nodes; /* 0: the root */
    struct csp_pairs edges; /* node, hash of the call as libLLVM has it: the child's number - 1 */
    struct csp_map known;   /* GUIDs by pointer to the name */
    struct csp_intern names;
    struct csp_guids guids; /* by name */
};

struct csp_sized_frame {
    const char *function; /* lives as long as the trie; a pointer is always to the same name */
    uint32_t callsite, discriminator; /* of the call in this function; of no meaning in the leaf */
};

struct csp_inline_sizes *csp_inline_sizes_create(void);
void csp_inline_sizes_destroy(struct csp_inline_sizes *sizes);
/* Adds bytes of the code of frames[0], inlined into frames[1], and so on outwards. Adding none
 * makes the size known. */
void csp_inline_sizes_add(struct csp_inline_sizes *sizes, const struct csp_sized_frame *frames,
                          size_t count, uint32_t bytes);
/* A node's child: the function, called at that place; 0: there is none. */
uint32_t csp_inline_sizes_child(const struct csp_inline_sizes *sizes, uint32_t node,
                                uint32_t callsite, uint32_t discriminator, uint64_t guid);

#endif
