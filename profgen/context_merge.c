#include "profgen/context_merge.h"

#include "base/alloc.h"
#include "base/saturate.h"
#include "base/sort.h"
#include "profgen/context_overlap.h"

static bool is_before(const void *a, const void *b)
{
    return ((const struct csp_hashed_child *)a)->hash < ((const struct csp_hashed_child *)b)->hash;
}

void csp_context_sorted_children(const struct csp_context_tree *tree, struct csp_guids *guids,
                                 uint32_t node, csp_hashed_children *children)
{
    size_t first = children->len;
    for (uint32_t child = csp_context_children(tree, node); child;
         child = tree->nodes.data[child - 1].next) {
        const struct csp_context_place edge =
            csp_context_place_at(tree, tree->nodes.data[child - 1].edge);
        uint64_t callsite = (uint64_t)edge.discriminator << 32 | edge.probe;
        uint64_t hash = csp_guid_of(guids, edge.name) + (callsite << 5) + callsite;
        csp_vec_push(children, (struct csp_hashed_child){hash, child - 1, edge.name,
                                                         tree->nodes.data[child - 1].counted});
    }
    if (children->len != first)
        csp_sort(children->data + first, children->len - first, sizeof *children->data, is_before);
}

/* All nodes, those nearer to the top first. */
static void list_nodes(struct csp_context_merger *merger, csp_hashed_children *list)
{
    csp_context_sorted_children(merger->tree, merger->guids, CSP_PROFILE_TOP, list);
    for (size_t i = 0; i < list->len; i++)
        csp_context_sorted_children(merger->tree, merger->guids, list->data[i].node, list);
}

void csp_context_merger_begin(struct csp_context_merger *merger, struct csp_context_tree *tree,
                              struct csp_guids *guids, bool loses_overlaps)
{
    *merger =
        (struct csp_context_merger){.tree = tree, .guids = guids, .loses_overlaps = loses_overlaps};
    size_t names = guids->names->entries.len;
    csp_hashed_children list = {0};
    csp_vec_reserve(&list, tree->nodes.len);
    list_nodes(merger, &list);
    uint32_t *at = merger->ends = csp_calloc(names + 1, sizeof *merger->ends);
    merger->nodes = csp_malloc((list.len + 1) * sizeof *merger->nodes);
    for (size_t i = 0; i < list.len; i++)
        if (list.data[i].counted)
            at[list.data[i].name + 1]++;
    for (size_t name = 0; name < names; name++)
        at[name + 1] += at[name];
    /* Now where each begins; when all are placed, where it ends. */
    for (size_t i = 0; i < list.len; i++)
        if (list.data[i].counted)
            merger->nodes[at[list.data[i].name]++] = list.data[i].node;
    csp_vec_free(&list);
}

bool csp_context_merge_counts(struct csp_context_tree *tree, uint32_t from, uint32_t to)
{
    struct csp_context_node *target = &tree->nodes.data[to];
    const struct csp_context_node *source = &tree->nodes.data[from];
    if (!target->hash)
        target->hash = source->hash;
    else if (target->hash != source->hash)
        return false;
    target->total = csp_add_saturating(target->total, source->total);
    target->head = csp_add_saturating(target->head, source->head);
    csp_context_hang(tree, to, CSP_LIST_PROBES, source->lists[CSP_LIST_PROBES]);
    csp_context_hang(tree, to, CSP_LIST_CALLS, source->lists[CSP_LIST_CALLS]);
    return true;
}

void csp_context_move_counts(struct csp_context_tree *tree, uint32_t from, uint32_t to)
{
    struct csp_context_node *source = &tree->nodes.data[from], *target = &tree->nodes.data[to];
    target->hash = source->hash;
    target->head = source->head;
    target->total = source->total;
    target->lists[CSP_LIST_PROBES] = source->lists[CSP_LIST_PROBES];
    target->lists[CSP_LIST_CALLS] = source->lists[CSP_LIST_CALLS];
    target->attributes = source->attributes;
    target->state = source->state;
    target->counted = source->counted;
    source->counted = false;
}

static void merge_node(struct csp_context_tree *tree, uint32_t from, uint32_t to)
{
    struct csp_context_node *source = &tree->nodes.data[from], *target = &tree->nodes.data[to];
    csp_context_drop(tree, from);
    if (!source->counted)
        return;
    if (!target->counted) {
        csp_context_move_counts(tree, from, to);
        source->state = CSP_CONTEXT_MOVED;
        source->parent = to;
        return;
    }
    csp_context_merge_counts(tree, from, to);
    source->counted = false;
    source->state = CSP_CONTEXT_MERGED;
    target->attributes |= source->attributes & CSP_PROFILE_SHOULD_BE_INLINED;
}

/* Merges a node that hangs nowhere, with all below it. */
static void merge_tree(struct csp_context_merger *merger, uint32_t from, uint32_t to)
{
    struct csp_context_tree *tree = merger->tree;
    csp_vec_push(&merger->pending, (uint64_t)from << 32 | to);
    while (merger->pending.len) {
        uint64_t pair = merger->pending.data[--merger->pending.len];
        from = (uint32_t)(pair >> 32);
        to = (uint32_t)pair;
        merge_node(tree, from, to);
        for (uint32_t child = tree->nodes.data[from].child, next; child; child = next) {
            uint32_t edge = tree->nodes.data[child - 1].edge;
            uint32_t known = csp_context_find(tree, to, edge);
            next = tree->nodes.data[child - 1].next;
            if (known == CSP_PROFILE_TOP)
                csp_context_link(tree, child - 1, to, edge);
            else
                csp_vec_push(&merger->pending, (uint64_t)(child - 1) << 32 | known);
        }
        tree->nodes.data[from].child = 0;
    }
}

static uint32_t top_edge(struct csp_context_tree *tree, uint32_t name)
{
    return csp_context_place(tree, 0, 0, name);
}

/* Returns what a context is a part of, then. */
static uint32_t promote(struct csp_context_merger *merger, uint32_t node, uint32_t name)
{
    struct csp_context_tree *tree = merger->tree;
    uint32_t edge = top_edge(tree, name);
    uint32_t base = csp_context_find(tree, CSP_PROFILE_TOP, edge);
    if (merger->loses_overlaps && base != CSP_PROFILE_TOP &&
        csp_context_overlaps(tree, base, node)) {
        csp_context_merge_overlapping(merger, node, base);
        return base;
    }
    csp_context_unlink(tree, node);
    if (base == CSP_PROFILE_TOP) {
        csp_context_link(tree, node, CSP_PROFILE_TOP, edge);
        return node;
    }
    merge_tree(merger, node, base);
    return base;
}

uint32_t csp_context_merge_function(struct csp_context_merger *merger, uint32_t name)
{
    struct csp_context_tree *tree = merger->tree;
    uint32_t base = csp_context_find(tree, CSP_PROFILE_TOP, top_edge(tree, name));
    enum { AHEAD = 8 };
    for (uint32_t i = name ? merger->ends[name - 1] : 0; i < merger->ends[name]; i++) {
        uint32_t node = merger->nodes[i];
        if (i + AHEAD < merger->ends[name])
            __builtin_prefetch(&tree->nodes.data[merger->nodes[i + AHEAD]], 1);
        while (tree->nodes.data[node].state == CSP_CONTEXT_MOVED)
            node = tree->nodes.data[node].parent;
        if (tree->nodes.data[node].state == CSP_CONTEXT_APART && node != base)
            base = promote(merger, node, name);
    }
    return base;
}

void csp_context_merger_free(struct csp_context_merger *merger)
{
    free(merger->nodes);
    free(merger->ends);
    csp_vec_free(&merger->pending);
}
