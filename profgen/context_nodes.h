/* Where the counts of a probe go that ran in a context of the counters: the node of the tree that
 * is made. The context's calls become frames of functions, with tail calls put back, the functions
 * that each was inlined into, and without recursion. */
#ifndef CSP_PROFGEN_CONTEXT_NODES_H
#define CSP_PROFGEN_CONTEXT_NODES_H

#include "profgen/generate.h"
#include "profgen/missing_frames.h"
#include "profgen/recursion.h"

typedef CSP_VEC(struct csp_frame) csp_frame_list;

/* The tree node of an inline node, in the context and function it was last asked for. */
struct csp_known_node {
    uint32_t context, function, node;
};

/* What the first calls of a context came to. */
struct csp_entered_calls {
    uint32_t first, end; /* of the frames: those before a call without probe are hidden */
    bool inferred, cut;  /* tail calls were put back; calls without probe are in functions with */
};

struct csp_context_nodes {
    struct csp_program *program;
    const struct csp_counters *counters;
    const struct csp_generate_options *options;
    struct csp_context_tree *tree;
    struct csp_missing_frames *missing; /* may be null */
    uint32_t context;                   /* the one at hand */
    bool inferred, cut; /* the context at hand was completed, or cut, at one of its places */

    struct csp_known_node *known;  /* by inline node */
    uint32_t *functions;           /* by probe … */
    bool shared;                   /* … which are another's */
    struct csp_numbers calls;      /* addresses … */
    CSP_VEC(uint32_t) call_probes; /* … and the probe of each */
    csp_calls path;                /* the context at hand … */
    CSP_VEC(uint32_t) path_frames; /* … and the counters' frames + 1 of its calls */
    uint8_t *on_path;              /* by frame + 1: whether it is one of these */
    CSP_VEC(uint32_t) pending;     /* frames to be entered, innermost first */
    CSP_VEC(struct csp_entered_calls)
    entered;               /* by call of the path; mostly the next begins alike */
    csp_frame_list frames; /* of the path, then of the callers of … */
    struct csp_entered_calls callers;
    uint32_t callers_of; /* … this function, … */
    bool callers_known;
    csp_frame_list compressed; /* … and with an inline node, without recursion */
    struct csp_repeats repeats;
    csp_frame_list last;          /* where the tree was entered last … */
    CSP_VEC(uint32_t) last_nodes; /* … and the nodes there: mostly the next way begins alike */
};

void csp_context_nodes_begin(struct csp_context_nodes *nodes, struct csp_program *program,
                             const struct csp_counters *counters,
                             const struct csp_generate_options *options,
                             struct csp_context_tree *tree);
/* The same of another tree, in another thread. What the first ones know of the program is shared:
 * they are freed last. */
void csp_context_nodes_beside(struct csp_context_nodes *nodes,
                              const struct csp_context_nodes *first, struct csp_context_tree *tree);
/* Goes on to a context of the counters. */
void csp_context_nodes_enter(struct csp_context_nodes *nodes, uint32_t context);
/* The tree node for a probe's counts in it. */
uint32_t csp_context_nodes_of(struct csp_context_nodes *nodes, uint32_t probe);
void csp_context_nodes_free(struct csp_context_nodes *nodes);

#endif
