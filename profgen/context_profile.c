#include "profgen/context_merge.h"

#include "base/alloc.h"

#define LEFT_OUT UINT32_MAX

/* From the tree to arrays. */
struct writer {
    struct csp_context_tree *tree;
    const struct csp_intern *names;
    struct csp_context_sums sums;
    uint32_t *numbers;       /* by node: in the profile, or LEFT_OUT */
    CSP_VEC(uint32_t) order; /* by number: the node */
    CSP_VEC(struct csp_profile_node) nodes;
    CSP_VEC(struct csp_profile_body) bodies;
    CSP_VEC(struct csp_profile_target) targets;
    CSP_VEC(struct csp_profile_type) types;
};

/* Marks nodes that are on the way to one with counts. */
static void mark_counted(struct writer *writer)
{
    const struct csp_context_tree *tree = writer->tree;
    for (size_t i = 0; i < tree->nodes.len; i++)
        writer->numbers[i] = LEFT_OUT;
    for (uint32_t i = 0; i < tree->nodes.len; i++)
        for (uint32_t up = i; tree->nodes.data[i].counted && up != CSP_PROFILE_TOP &&
                              writer->numbers[up] == LEFT_OUT;
             up = tree->nodes.data[up].parent)
            writer->numbers[up] = 0;
}

/* What libLLVM writes can depend on the order it was told contexts in: they come as it sorts them
 * itself, each followed by those below it. */
static void order_contexts(struct writer *writer, struct csp_guids *guids)
{
    const struct csp_context_tree *tree = writer->tree;
    csp_hashed_children children = {0}, pending = {0};
    uint32_t node = CSP_PROFILE_TOP;
    for (;;) {
        children.len = 0;
        csp_context_sorted_children(tree, guids, node, &children);
        while (children.len)
            csp_vec_push(&pending, children.data[--children.len]);
        while (pending.len && writer->numbers[pending.data[pending.len - 1].node] == LEFT_OUT)
            pending.len--;
        if (!pending.len)
            break;
        node = pending.data[--pending.len].node;
        writer->numbers[node] = (uint32_t)writer->order.len;
        csp_vec_push(&writer->order, node);
    }
    csp_vec_free(&children);
    csp_vec_free(&pending);
}

/* Parents come before their children. */
static void order_inlinees(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->tree->nodes.len; i++) {
        writer->numbers[i] = i;
        csp_vec_push(&writer->order, i);
    }
}

static const char *text(const struct writer *writer, uint32_t name)
{
    return csp_intern_text(writer->names, name);
}

static void write_node(struct writer *writer, uint32_t id)
{
    const struct csp_context_node *node = &writer->tree->nodes.data[id];
    const struct csp_context_place edge = csp_context_place_at(writer->tree, node->edge);
    bool top = node->parent == CSP_PROFILE_TOP;
    csp_vec_push(&writer->nodes,
                 (struct csp_profile_node){
                     .function = text(writer, edge.name),
                     .parent = top ? CSP_PROFILE_TOP : writer->numbers[node->parent],
                     .callsite = edge.probe,
                     .discriminator = edge.discriminator,
                     .hash = node->hash,
                     .head = node->head,
                     .total = node->total,
                     .counted = node->counted,
                     .attributes = node->attributes,
                 });
}

static void write_count(struct writer *writer, uint32_t node, uint32_t id)
{
    const struct csp_context_place place = csp_context_place_at(writer->tree, id);
    uint64_t count = writer->sums.counts.data[id];
    if (place.kind == CSP_PLACE_TYPE)
        csp_vec_push(&writer->types,
                     (struct csp_profile_type){node, place.probe, place.discriminator,
                                               text(writer, place.name), count});
    else if (place.name == CSP_INTERN_NONE)
        csp_vec_push(&writer->bodies,
                     (struct csp_profile_body){node, place.probe, place.discriminator, count});
    else
        csp_vec_push(&writer->targets,
                     (struct csp_profile_target){node, place.probe, place.discriminator,
                                                 text(writer, place.name), count});
}

static void write_all(struct writer *writer, bool contexts)
{
    for (uint32_t i = 0; i < writer->order.len; i++) {
        uint32_t node = writer->order.data[i];
        write_node(writer, node);
        if (contexts && !writer->tree->nodes.data[node].counted)
            continue;
        csp_context_gather(writer->tree, node, &writer->sums);
        for (size_t count = 0; count < writer->sums.places.len; count++)
            write_count(writer, i, writer->sums.places.data[count]);
    }
}

struct csp_profile *csp_context_profile(struct csp_context_tree *tree, struct csp_guids *guids,
                                        const struct csp_profile_data *kind, bool update_totals)
{
    struct writer writer = {.tree = tree, .names = guids->names};
    writer.numbers = csp_malloc((tree->nodes.len + 1) * sizeof *writer.numbers);
    if (kind->context_sensitive) {
        mark_counted(&writer);
        order_contexts(&writer, guids);
    } else {
        order_inlinees(&writer);
    }
    write_all(&writer, kind->context_sensitive);
    csp_vec_free(&writer.order);
    csp_context_sums_free(&writer.sums);
    free(writer.numbers);
    csp_context_free(tree);
    struct csp_profile_data data = *kind;
    data.nodes = writer.nodes.data;
    data.node_len = writer.nodes.len;
    data.bodies = writer.bodies.data;
    data.body_len = writer.bodies.len;
    data.targets = writer.targets.data;
    data.target_len = writer.targets.len;
    data.types = writer.types.data;
    data.type_len = writer.types.len;
    struct csp_profile *profile = csp_profile_build(&data, update_totals);
    csp_vec_free(&writer.nodes);
    csp_vec_free(&writer.bodies);
    csp_vec_free(&writer.targets);
    csp_vec_free(&writer.types);
    return profile;
}
