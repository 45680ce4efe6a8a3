#include "profgen/context_overlap.h"

#include "base/map.h"

/* A node and all its children are merged into another. */
struct frame {
    uint32_t from, to;
    uint64_t hash; /* of the child that is being merged */
    bool any;      /* there is one */
};

/* libLLVM copies what it moves, and leaves the original where it was until all is merged: who finds
 * it there finds the counts of the copy. */
struct overlap {
    struct csp_context_merger *merger;
    struct csp_context_tree *tree;
    struct csp_map copies; /* by original */
    CSP_VEC(struct frame) frames;
    CSP_VEC(uint64_t) pending; /* to be copied: original << 32 | parent of the copy */
    csp_hashed_children children;
};

bool csp_context_overlaps(const struct csp_context_tree *tree, uint32_t base, uint32_t node)
{
    CSP_VEC(uint32_t) edges = {0};
    uint32_t up = node, below = node;
    for (; up != base && up != CSP_PROFILE_TOP; up = tree->nodes.data[up].parent)
        csp_vec_push(&edges, tree->nodes.data[up].edge);
    for (size_t i = edges.len; i && up == base && below != CSP_PROFILE_TOP; i--)
        below = csp_context_find(tree, below, edges.data[i - 1]);
    csp_vec_free(&edges);
    return up == base && below != CSP_PROFILE_TOP;
}

static uint32_t owner_of(const struct overlap *overlap, uint32_t node)
{
    const uint64_t *copy;
    while ((copy = csp_map_find(&overlap->copies, node)))
        node = (uint32_t)*copy;
    return node;
}

static void give_counts(struct overlap *overlap, uint32_t from, uint32_t to)
{
    csp_context_move_counts(overlap->tree, from, to);
    *csp_map_at(&overlap->copies, from) = to;
}

static void merge_counts(struct overlap *overlap, uint32_t from, uint32_t to)
{
    struct csp_context_node *source = &overlap->tree->nodes.data[from];
    to = owner_of(overlap, to);
    struct csp_context_node *target = &overlap->tree->nodes.data[to];
    if (!source->counted)
        return;
    if (!target->counted && target->state != CSP_CONTEXT_MERGED) {
        give_counts(overlap, from, to);
        return;
    }
    if (target->counted) {
        csp_context_merge_counts(overlap->tree, from, to);
        target->attributes |= source->attributes & CSP_PROFILE_SHOULD_BE_INLINED;
    }
    source->counted = false;
    source->state = CSP_CONTEXT_MERGED;
}

static void copy_tree(struct overlap *overlap, uint32_t node, uint32_t parent)
{
    struct csp_context_tree *tree = overlap->tree;
    csp_vec_push(&overlap->pending, (uint64_t)node << 32 | parent);
    while (overlap->pending.len) {
        uint64_t pair = overlap->pending.data[--overlap->pending.len];
        uint32_t original = (uint32_t)(pair >> 32);
        uint32_t copy = csp_context_child_at(tree, (uint32_t)pair, tree->nodes.data[original].edge);
        give_counts(overlap, original, copy);
        for (uint32_t child = tree->nodes.data[original].child; child;
             child = tree->nodes.data[child - 1].next)
            csp_vec_push(&overlap->pending, (uint64_t)(child - 1) << 32 | copy);
    }
}

/* The next child, also of those that came to the node meanwhile. */
static uint32_t next_child(struct overlap *overlap, struct frame *frame)
{
    overlap->children.len = 0;
    csp_context_sorted_children(overlap->tree, overlap->merger->guids, frame->from,
                                &overlap->children);
    for (size_t i = 0; i < overlap->children.len; i++) {
        const struct csp_hashed_child *child = &overlap->children.data[i];
        if (frame->any && child->hash <= frame->hash)
            continue;
        frame->any = true;
        frame->hash = child->hash;
        return child->node;
    }
    return CSP_PROFILE_TOP;
}

/* Forgets the children of a node; the counts of those that came too late are lost. */
static void drop_children(struct overlap *overlap, uint32_t node)
{
    struct csp_context_tree *tree = overlap->tree;
    csp_vec_push(&overlap->pending, node);
    while (overlap->pending.len) {
        uint32_t parent = (uint32_t)overlap->pending.data[--overlap->pending.len];
        for (uint32_t child = tree->nodes.data[parent].child; child;
             child = tree->nodes.data[child - 1].next) {
            struct csp_context_node *dropped = &tree->nodes.data[child - 1];
            if (dropped->counted)
                dropped->state = CSP_CONTEXT_MERGED;
            dropped->counted = false;
            csp_context_drop(tree, child - 1);
            csp_vec_push(&overlap->pending, child - 1);
        }
        tree->nodes.data[parent].child = 0;
    }
}

static void enter(struct overlap *overlap, uint32_t from, uint32_t to)
{
    merge_counts(overlap, from, to);
    csp_vec_push(&overlap->frames, (struct frame){.from = from, .to = to});
}

static void merge_all(struct overlap *overlap)
{
    while (overlap->frames.len) {
        struct frame *frame = &overlap->frames.data[overlap->frames.len - 1];
        uint32_t child = next_child(overlap, frame);
        if (child == CSP_PROFILE_TOP) {
            drop_children(overlap, frame->from);
            overlap->frames.len--;
            continue;
        }
        uint32_t known =
            csp_context_find(overlap->tree, frame->to, overlap->tree->nodes.data[child].edge);
        if (known == CSP_PROFILE_TOP)
            copy_tree(overlap, child, frame->to);
        else
            enter(overlap, child, known);
    }
}

/* Originals are what their copies are from now on. */
static void forget_originals(struct overlap *overlap)
{
    size_t cursor = 0;
    const struct csp_map_entry *entry;
    while ((entry = csp_map_next(&overlap->copies, &cursor))) {
        struct csp_context_node *original = &overlap->tree->nodes.data[entry->key];
        original->state = CSP_CONTEXT_MOVED;
        original->parent = (uint32_t)entry->value;
        csp_context_drop(overlap->tree, (uint32_t)entry->key);
    }
}

void csp_context_merge_overlapping(struct csp_context_merger *merger, uint32_t node, uint32_t base)
{
    struct overlap overlap = {.merger = merger, .tree = merger->tree};
    enter(&overlap, node, base);
    merge_all(&overlap);
    csp_context_unlink(merger->tree, node);
    csp_context_drop(merger->tree, node);
    forget_originals(&overlap);
    csp_map_free(&overlap.copies);
    csp_vec_free(&overlap.frames);
    csp_vec_free(&overlap.pending);
    csp_vec_free(&overlap.children);
}
