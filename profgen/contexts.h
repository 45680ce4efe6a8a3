/* The profile being made: a tree of functions by calling context with their counts. In a profile
 * without contexts the tree is that of inlining.
 *
 * Counts are in lists, two for each node, so that two nodes become one by hanging the lists of one
 * at the ends of the other's; what is in a list twice counts twice. csp_context_gather adds up.
 * Such a list consists of pieces then, those that were lists before: who walks it knows where the
 * next pieces begin, and can fetch them, which are anywhere in much memory. */
#ifndef CSP_PROFGEN_CONTEXTS_H
#define CSP_PROFGEN_CONTEXTS_H

#include "base/numbers.h"
#include "base/pairs.h"
#include "profgen/guids.h"
#include "profgen/llvm/profile.h"
#include "profgen/probes.h"

/* Calls have a list of their own: who wants to know of them need not read all other counts, and the
 * other way round. */
enum csp_context_list_kind { CSP_LIST_PROBES, CSP_LIST_CALLS, CSP_LISTS };

/* Numbers in the tree's counts + 1, 0: none; or in its pieces. */
struct csp_context_list {
    uint32_t first : 31, in_pieces : 1;
    uint32_t last;
};

/* Some pieces of a list: so many that they, and the next ones, can be fetched at once. */
struct csp_context_pieces {
    uint32_t next; /* of the same list: number + 1, 0: the last */
    uint32_t len;
    uint32_t firsts[6]; /* counts + 1 */
};

struct csp_context_node {
    uint32_t parent; /* CSP_PROFILE_TOP: called from nowhere known */
    uint32_t edge;   /* the place of the parent's call to this function */
    uint64_t hash;   /* control-flow checksum */
    uint64_t head, total;
    struct csp_context_list lists[CSP_LISTS];
    uint32_t zeros;          /* the set that was last said to be zero, + 1 */
    uint32_t child;          /* children are a list: numbers + 1, 0: none */
    uint32_t next, previous; /* among the parent's children */
    bool counted;
    uint8_t attributes; /* enum csp_profile_attribute */
    uint8_t state;      /* while contexts are merged: see profgen/context_merge.h */
};

/* What a count is of. With a callee it is of calls to it, and may be an edge of the tree as well.
 */
enum csp_context_place_kind {
    CSP_PLACE_COUNT, /* of a probe, or a line from the function's start; or of calls from there */
    CSP_PLACE_TYPE,  /* of uses of objects whose virtual table is `name`, at a line */
    CSP_PLACE_ZEROS, /* all probes of the binary's inline node `probe`: zero if nothing else */
};

struct csp_context_place {
    uint32_t probe, discriminator;
    uint32_t name; /* of a callee or table; CSP_INTERN_NONE: the probe's own count */
    enum csp_context_place_kind kind;
};

struct csp_context_count {
    uint64_t count;
    uint32_t place, next; /* in the same list or piece: number + 1, 0: the last */
};

struct csp_context_tree {
    CSP_VEC(struct csp_context_node) nodes;
    CSP_VEC(struct csp_context_count) counts;
    CSP_VEC(struct csp_context_pieces) pieces;
    struct csp_pairs places;         /* probe << 32 | discriminator, kind << 32 | name */
    uint32_t top;                    /* the children of CSP_PROFILE_TOP */
    uint32_t *slots, mask, slots_in; /* nodes + 1 by parent and edge */
    bool indexed;                    /* counts are added to those that are there already: by … */
    struct csp_numbers index;        /* … node << 32 | place */
    const struct csp_probes *probes; /* of the binary: what sets of zeros are of */
    CSP_VEC(uint32_t) probe_places;  /* by probe of the binary: its place + 1, 0: not known yet */
    CSP_VEC(uint64_t) zero_firsts;   /* by set: its lowest place, UINT64_MAX: not known yet */
};

/* The number of a place, new or old. */
uint32_t csp_context_place(struct csp_context_tree *tree, uint32_t probe, uint32_t discriminator,
                           uint32_t name);
/* The number of one that is known, or CSP_NO_PAIR. */
uint32_t csp_context_find_place(const struct csp_context_tree *tree, uint32_t probe,
                                uint32_t discriminator, uint32_t name);
/* That of a probe of the tree's binary. */
uint32_t csp_context_probe_place(struct csp_context_tree *tree, uint32_t probe);

static inline struct csp_context_place csp_context_place_at(const struct csp_context_tree *tree,
                                                            uint32_t place)
{
    const struct csp_pair *key = &tree->places.list.data[place];
    return (struct csp_context_place){(uint32_t)(key->first >> 32), (uint32_t)key->first,
                                      (uint32_t)key->second,
                                      (enum csp_context_place_kind)(key->second >> 32)};
}

/* Whether it is a place of calls to one callee. */
static inline bool csp_context_is_call(const struct csp_context_tree *tree, uint32_t place)
{
    return tree->places.list.data[place].second < CSP_INTERN_NONE; /* CSP_PLACE_COUNT, a name */
}

/* A way along a list of counts: for (walk = begin(…); walk.at; step(…)). */
struct csp_context_walk {
    uint32_t at;            /* a count + 1 */
    uint32_t pieces, piece; /* + 1, 0: the list has none; which of them it is in */
};

static inline struct csp_context_walk csp_context_walk_begin(const struct csp_context_tree *tree,
                                                             const struct csp_context_list *list)
{
    if (!list->in_pieces)
        return (struct csp_context_walk){.at = list->first};
    return (struct csp_context_walk){tree->pieces.data[list->first - 1].firsts[0], list->first, 0};
}

static inline void csp_context_walk_step(const struct csp_context_tree *tree,
                                         struct csp_context_walk *walk)
{
    walk->at = tree->counts.data[walk->at - 1].next;
    if (walk->at || !walk->pieces)
        return;
    if (++walk->piece == tree->pieces.data[walk->pieces - 1].len) {
        walk->piece = 0;
        walk->pieces = tree->pieces.data[walk->pieces - 1].next;
    }
    if (walk->pieces)
        walk->at = tree->pieces.data[walk->pieces - 1].firsts[walk->piece];
}

/* The function of a node, in the binary's names. */
static inline uint32_t csp_context_name(const struct csp_context_tree *tree, uint32_t node)
{
    return (uint32_t)tree->places.list.data[tree->nodes.data[node].edge].second;
}

/* Where a child is looked for first. */
static inline uint32_t csp_context_slot(const struct csp_context_tree *tree, uint32_t parent,
                                        uint32_t edge)
{
    return csp_numbers_hash((uint64_t)parent << 32 | edge) & tree->mask;
}

/* Makes room for about so many more nodes: finding them their places again and again takes time. */
void csp_context_expect(struct csp_context_tree *tree, size_t nodes);
/* The child of a node, made when it is new. */
uint32_t csp_context_child(struct csp_context_tree *tree, uint32_t parent, uint32_t callsite,
                           uint32_t discriminator, uint32_t name);
uint32_t csp_context_child_at(struct csp_context_tree *tree, uint32_t parent, uint32_t edge);
/* The child of a node, or CSP_PROFILE_TOP. */
uint32_t csp_context_find(const struct csp_context_tree *tree, uint32_t parent, uint32_t edge);
/* The first of its children (number + 1), also of CSP_PROFILE_TOP. */
uint32_t csp_context_children(const struct csp_context_tree *tree, uint32_t node);
/* Takes a node, with all below it, from where it is … */
void csp_context_unlink(struct csp_context_tree *tree, uint32_t node);
/* … to another parent that has no such child. */
void csp_context_link(struct csp_context_tree *tree, uint32_t node, uint32_t parent, uint32_t edge);
/* For nodes that several threads at once put into a tree: makes room to find so many more in it …
 */
void csp_context_reserve(struct csp_context_tree *tree, size_t nodes);
/* … fetches where one will be found, … */
static inline void csp_context_fetch(const struct csp_context_tree *tree, uint32_t parent,
                                     uint32_t edge)
{
    __builtin_prefetch(&tree->slots[csp_context_slot(tree, parent, edge)], 1);
}
/* … and makes it found as the child that it is. */
void csp_context_publish(struct csp_context_tree *tree, uint32_t node);
/* The lists of a node's children are then to be made by this: a node at the beginning of one. */
void csp_context_prepend(struct csp_context_tree *tree, uint32_t node);
/* No longer the child that it was: to be said of a node that is not linked again. */
void csp_context_drop(struct csp_context_tree *tree, uint32_t node);

/* Adds to the count of a place; adding zero makes it known. */
void csp_context_add_at(struct csp_context_tree *tree, uint32_t node, uint32_t place,
                        uint64_t count);
/* The same of a probe, or of its calls to a callee. */
void csp_context_add(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                     uint32_t discriminator, uint32_t callee, uint64_t count);
/* Adds to how often objects of the type with this virtual table were used at a line. */
void csp_context_add_type(struct csp_context_tree *tree, uint32_t node, uint32_t line,
                          uint32_t discriminator, uint32_t table, uint64_t count);
/* All probes of an inline node are known, and zero where nothing was or will be added. */
void csp_context_add_zeros(struct csp_context_tree *tree, uint32_t node, uint32_t inline_node);
/* No longer indexes a tree: to be said before its counts are gathered, which moves them. */
void csp_context_end_index(struct csp_context_tree *tree);
/* Hangs a list of counts at the end of one of a node's. */
void csp_context_hang(struct csp_context_tree *tree, uint32_t node, enum csp_context_list_kind kind,
                      struct csp_context_list list);
/* Makes the count of a probe or line at least `count`, and known. The tree is indexed. */
void csp_context_raise(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                       uint32_t discriminator, uint64_t count);
/* The count of a probe or line; 0 when there is none. The tree is indexed. */
uint64_t csp_context_count_at(const struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                              uint32_t discriminator);

struct csp_context_place_sum {
    uint64_t count;
    uint32_t round; /* when the place was last among those of a node */
};

/* The counts of a node, each once. */
struct csp_context_sums {
    CSP_VEC(uint32_t) places; /* in no order; that of a probe also where only its calls are known */
    CSP_VEC(struct csp_context_place_sum) by_place; /* of all places */
    uint32_t round;
};

/* Replaces what is in `sums`. The lists are shorter then, too. */
void csp_context_gather(struct csp_context_tree *tree, uint32_t node,
                        struct csp_context_sums *sums);
/* The same of calls alone. */
void csp_context_gather_calls(struct csp_context_tree *tree, uint32_t node,
                              struct csp_context_sums *sums);
/* Shortens the lists of a node alone. While several threads do that, each with other lists, counts
 * may be hung at others and places may be made, but neither counts nor pieces move. */
void csp_context_settle_lists(struct csp_context_tree *tree, struct csp_context_list *lists,
                              struct csp_context_sums *sums);
/* Makes all places that gathering comes to: several threads can gather then, each of other nodes.
 */
void csp_context_complete_places(struct csp_context_tree *tree);
/* Whether something was gathered at a place. */
static inline bool csp_context_is_among(const struct csp_context_sums *sums, uint32_t place)
{
    return place < sums->by_place.len && sums->by_place.data[place].round == sums->round;
}

/* The count gathered there; 0 when there is none. */
static inline uint64_t csp_context_sum(const struct csp_context_sums *sums, uint32_t place)
{
    return csp_context_is_among(sums, place) ? sums->by_place.data[place].count : 0;
}

/* As if nothing had been gathered there; it stays among `places`. */
static inline void csp_context_forget_sum(struct csp_context_sums *sums, uint32_t place)
{
    if (csp_context_is_among(sums, place))
        sums->by_place.data[place].round = 0;
}

/* What of the counts gathered are calls, by the places of their probes or lines. */
void csp_context_calls_by_place(struct csp_context_tree *tree, const struct csp_context_sums *sums,
                                struct csp_context_sums *calls);
void csp_context_sums_free(struct csp_context_sums *sums);
/* How often a node was entered; where no entry was counted, what its lowest place tells. */
uint64_t csp_context_entries(struct csp_context_tree *tree, uint32_t node);

/* The profile in libLLVM's shape; `kind` has the switches of struct csp_profile_data. The tree is
 * empty then: both at once would take twice the memory. The profile does not depend on the number
 * of threads. */
struct csp_profile *csp_context_profile(struct csp_context_tree *tree, struct csp_guids *guids,
                                        const struct csp_profile_data *kind, bool update_totals,
                                        unsigned threads);
void csp_context_free(struct csp_context_tree *tree);

#endif
