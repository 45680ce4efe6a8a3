#include "profgen/context_merge.h"

#include "base/alloc.h"

/* The contexts that cold ones become are made in a tree of their own first: how cold they are is
 * asked when all are in it. Its counts and places are those of the tree. */
struct cold {
    struct csp_context_tree *tree;
    const struct csp_cold_contexts *options;
    struct csp_context_tree merged;
    CSP_VEC(uint32_t) edges; /* of the context at hand, innermost first */
};

static bool is_cold(const struct cold *cold, const struct csp_context_node *node)
{
    const struct csp_cold_contexts *options = cold->options;
    return node->counted && node->total < options->threshold &&
           (!options->base_only || options->merge || node->parent == CSP_PROFILE_TOP);
}

static uint32_t without_call(struct csp_context_tree *tree, uint32_t edge)
{
    return csp_context_place(tree, 0, 0, csp_context_place_at(tree, edge).name);
}

/* The last frames of a context: the first one's callsite is nobody's. */
static void list_edges(struct cold *cold, uint32_t node)
{
    cold->edges.len = 0;
    for (uint32_t up = node; up != CSP_PROFILE_TOP && cold->edges.len < cold->options->depth;
         up = cold->tree->nodes.data[up].parent)
        csp_vec_push(&cold->edges, cold->tree->nodes.data[up].edge);
    uint32_t *outermost = &cold->edges.data[cold->edges.len - 1];
    *outermost = without_call(cold->tree, *outermost);
}

static uint32_t node_of_edges(struct csp_context_tree *tree, const uint32_t *edges, size_t count)
{
    uint32_t node = CSP_PROFILE_TOP;
    for (size_t i = count; i; i--)
        node = csp_context_child_at(tree, node, edges[i - 1]);
    return node;
}

/* Adds one node's counts to a node of another tree with the same counts and places. */
static void merge_into(struct csp_context_tree *tree, const struct csp_context_node *from,
                       uint32_t to)
{
    csp_vec_push(&tree->nodes, *from);
    uint32_t copy = (uint32_t)tree->nodes.len - 1;
    csp_context_merge_counts(tree, copy, to);
    tree->nodes.data[to].counted = true;
    tree->nodes.len--;
}

#define SWAP(a, b, other)                                                                          \
    do {                                                                                           \
        (a)->data = (b)->data;                                                                     \
        (a)->len = (b)->len;                                                                       \
        (a)->cap = (b)->cap;                                                                       \
        (b)->data = (other)->data;                                                                 \
        (b)->len = (other)->len;                                                                   \
        (b)->cap = (other)->cap;                                                                   \
    } while (0)

static void swap_counts(struct cold *cold)
{
    struct csp_context_tree *a = cold->tree, *b = &cold->merged;
    struct csp_context_tree other = *a;
    SWAP(&a->counts, &b->counts, &other.counts);
    SWAP(&a->pieces, &b->pieces, &other.pieces);
}

static void merge_cold(struct cold *cold)
{
    swap_counts(cold);
    for (uint32_t i = 0; i < cold->tree->nodes.len; i++) {
        struct csp_context_node *node = &cold->tree->nodes.data[i];
        if (!is_cold(cold, node))
            continue;
        node->counted = false;
        if (!cold->options->merge)
            continue;
        list_edges(cold, i);
        merge_into(&cold->merged, &cold->tree->nodes.data[i],
                   node_of_edges(&cold->merged, cold->edges.data, cold->edges.len));
    }
    swap_counts(cold);
}

/* What was forgotten is nobody's when its context is made again. */
static void reset(struct csp_context_node *node)
{
    node->hash = node->head = node->total = 0;
    node->lists[CSP_LIST_PROBES] = node->lists[CSP_LIST_CALLS] = (struct csp_context_list){0};
    node->attributes = 0;
}

static void put_back(struct cold *cold, uint32_t number)
{
    const struct csp_context_node *node = &cold->merged.nodes.data[number];
    cold->edges.len = 0;
    for (uint32_t up = number; up != CSP_PROFILE_TOP; up = cold->merged.nodes.data[up].parent)
        csp_vec_push(&cold->edges, cold->merged.nodes.data[up].edge);
    uint32_t to = node_of_edges(cold->tree, cold->edges.data, cold->edges.len);
    if (!cold->tree->nodes.data[to].counted) {
        if (cold->options->trim && node->total < cold->options->threshold)
            return;
        reset(&cold->tree->nodes.data[to]);
    }
    merge_into(cold->tree, node, to);
}

void csp_contexts_merge_cold(struct csp_context_tree *tree, const struct csp_cold_contexts *options)
{
    if ((!options->trim && !options->merge) || !options->threshold)
        return;
    struct cold cold = {.tree = tree, .options = options};
    merge_cold(&cold);
    for (uint32_t i = 0; i < cold.merged.nodes.len; i++)
        if (cold.merged.nodes.data[i].counted)
            put_back(&cold, i);
    csp_context_free(&cold.merged);
    csp_vec_free(&cold.edges);
}
