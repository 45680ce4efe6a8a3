#include "profgen/context_join.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/saturate.h"

enum { WORTH_A_THREAD = 1 << 12 }; /* nodes and counts */

struct joining {
    struct csp_context_tree *tree;
    const struct csp_context_tree *other;
    uint32_t *places;        /* of the other's: what they are in the tree … */
    uint32_t *nodes;         /* … and so of its nodes; new ones come behind … */
    size_t first, count_len; /* … the nodes and counts that the tree had */
    size_t made;             /* so many are new */
    CSP_VEC(uint32_t) seams; /* the other's nodes that the tree has, or has the parents of */
    unsigned threads;
};

static void translate_places(struct joining *joining)
{
    size_t count = joining->other->places.list.len;
    const struct csp_pair *list = joining->other->places.list.data;
    joining->places = csp_malloc((count + 1) * sizeof *joining->places);
    for (size_t i = 0; i < count; i++)
        joining->places[i] = csp_pairs_at(&joining->tree->places, list[i].first, list[i].second);
}

static uint32_t node_in_tree(const struct joining *joining, uint32_t node)
{
    return node == CSP_PROFILE_TOP ? CSP_PROFILE_TOP : joining->nodes[node];
}

static bool is_new(const struct joining *joining, uint32_t node)
{
    return node != CSP_PROFILE_TOP && node >= joining->first;
}

/* Below a new node, all are. */
static void find_nodes(struct joining *joining)
{
    size_t count = joining->other->nodes.len;
    joining->nodes = csp_malloc((count + 1) * sizeof *joining->nodes);
    for (uint32_t i = 0; i < count; i++) { /* parents come before their children */
        const struct csp_context_node *node = &joining->other->nodes.data[i];
        uint32_t parent = node_in_tree(joining, node->parent), known = CSP_PROFILE_TOP;
        if (!is_new(joining, parent)) {
            known = csp_context_find(joining->tree, parent, joining->places[node->edge]);
            csp_vec_push(&joining->seams, i);
        }
        joining->nodes[i] =
            known == CSP_PROFILE_TOP ? (uint32_t)(joining->first + joining->made++) : known;
    }
}

/* A number + 1 among those of the other tree's counts. */
static uint32_t count_in_tree(const struct joining *joining, uint32_t count)
{
    return count ? count + (uint32_t)joining->count_len : 0;
}

static struct csp_context_list list_in_tree(const struct joining *joining,
                                            const struct csp_context_node *node, int kind)
{
    const struct csp_context_list *list = &node->lists[kind];
    return (struct csp_context_list){.first = count_in_tree(joining, list->first),
                                     .last = count_in_tree(joining, list->last)};
}

/* The same of its nodes, where they are new. */
static uint32_t link_in_tree(const struct joining *joining, uint32_t node)
{
    return node ? joining->nodes[node - 1] + 1 : 0;
}

/* The siblings of a node at a seam are not its siblings in the tree. */
static void copy_node(const struct joining *joining, uint32_t number)
{
    const struct csp_context_node *node = &joining->other->nodes.data[number];
    struct csp_context_node *copy = &joining->tree->nodes.data[joining->nodes[number]];
    *copy = *node;
    copy->parent = node_in_tree(joining, node->parent);
    copy->edge = joining->places[node->edge];
    for (int kind = 0; kind < CSP_LISTS; kind++)
        copy->lists[kind] = list_in_tree(joining, node, kind);
    copy->child = link_in_tree(joining, node->child);
    copy->next = link_in_tree(joining, node->next);
    copy->previous = link_in_tree(joining, node->previous);
    csp_context_publish(joining->tree, joining->nodes[number]);
}

static void fetch_slot(const struct joining *joining, uint32_t number)
{
    const struct csp_context_node *node = &joining->other->nodes.data[number];
    csp_context_fetch(joining->tree, node_in_tree(joining, node->parent),
                      joining->places[node->edge]);
}

static void copy_nodes(const struct joining *joining, size_t first, size_t end)
{
    enum { AHEAD = 16 };
    for (size_t i = first; i < end; i++) {
        if (i + AHEAD < end)
            fetch_slot(joining, (uint32_t)(i + AHEAD));
        if (is_new(joining, joining->nodes[i]))
            copy_node(joining, (uint32_t)i);
    }
}

static void copy_counts(const struct joining *joining, size_t first, size_t end)
{
    const struct csp_context_count *counts = joining->other->counts.data;
    struct csp_context_count *copies = joining->tree->counts.data + joining->count_len;
    for (size_t i = first; i < end; i++)
        copies[i] = (struct csp_context_count){.count = counts[i].count,
                                               .place = joining->places[counts[i].place],
                                               .next = count_in_tree(joining, counts[i].next)};
}

/* One thread's part of them. */
static void copy(void *user, unsigned worker)
{
    const struct joining *joining = user;
    size_t nodes = joining->other->nodes.len, counts = joining->other->counts.len;
    copy_nodes(joining, nodes * worker / joining->threads, nodes * (worker + 1) / joining->threads);
    copy_counts(joining, counts * worker / joining->threads,
                counts * (worker + 1) / joining->threads);
}

static void add_to_known(const struct joining *joining, uint32_t number)
{
    const struct csp_context_node *node = &joining->other->nodes.data[number];
    uint32_t known = joining->nodes[number];
    struct csp_context_node *to = &joining->tree->nodes.data[known];
    to->total = csp_add_saturating(to->total, node->total);
    to->head = csp_add_saturating(to->head, node->head);
    to->counted |= node->counted;
    to->attributes |= node->attributes;
    if (!to->hash)
        to->hash = node->hash;
    for (int kind = 0; kind < CSP_LISTS; kind++)
        csp_context_hang(joining->tree, known, (enum csp_context_list_kind)kind,
                         list_in_tree(joining, node, kind));
}

static void sew(const struct joining *joining)
{
    for (size_t i = 0; i < joining->seams.len; i++) {
        uint32_t number = joining->seams.data[i];
        if (is_new(joining, joining->nodes[number]))
            csp_context_prepend(joining->tree, joining->nodes[number]);
        else
            add_to_known(joining, number);
    }
}

void csp_context_join(struct csp_context_tree *tree, struct csp_context_tree *other,
                      unsigned threads)
{
    struct joining joining = {
        .tree = tree, .other = other, .first = tree->nodes.len, .count_len = tree->counts.len};
    joining.threads =
        csp_parallel_worth(threads, other->nodes.len + other->counts.len, WORTH_A_THREAD);
    translate_places(&joining);
    find_nodes(&joining);
    csp_context_reserve(tree, joining.made);
    csp_vec_reserve(&tree->counts, other->counts.len);
    tree->nodes.len += joining.made;
    tree->counts.len += other->counts.len;
    csp_parallel(joining.threads, copy, &joining);
    sew(&joining);
    free(joining.places);
    free(joining.nodes);
    csp_vec_free(&joining.seams);
    csp_context_free(other);
}
