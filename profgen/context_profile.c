#include "profgen/context_merge.h"
#include "profgen/context_nest.h"

#include "base/alloc.h"
#include "base/parallel.h"

#define LEFT_OUT UINT32_MAX
enum {
    WORTH_A_THREAD = 1 << 12, /* counts to be written */
    WORTH_FREEING = 1 << 20,  /* counts to be forgotten */
};

/* From the tree to arrays. */
struct writer {
    struct csp_context_tree *tree;
    const struct csp_intern *names;
    bool contexts, nested;
    uint32_t *numbers;       /* by node: in the profile before it is nested, or LEFT_OUT */
    CSP_VEC(uint32_t) order; /* by number: the node */
    size_t taken;            /* so many nodes of that order have their counts written, or soon */
    struct csp_context_nest nest;
    CSP_VEC(struct csp_profile_node) nodes;
    struct counts *counts; /* by thread */
};

/* The counts of some nodes, one after the other. */
struct counts {
    struct csp_context_sums sums;
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

/* All but what it is a part of. */
static struct csp_profile_node *add_node(struct writer *writer, uint32_t id)
{
    const struct csp_context_node *node = &writer->tree->nodes.data[id];
    const struct csp_context_place edge = csp_context_place_at(writer->tree, node->edge);
    csp_vec_push(&writer->nodes, (struct csp_profile_node){
                                     .function = text(writer, edge.name),
                                     .parent = CSP_PROFILE_TOP,
                                     .callsite = edge.probe,
                                     .discriminator = edge.discriminator,
                                     .hash = node->hash,
                                     .head = node->head,
                                     .total = node->total,
                                     .counted = node->counted,
                                     .attributes = node->attributes,
                                 });
    return &writer->nodes.data[writer->nodes.len - 1];
}

static void write_node(struct writer *writer, uint32_t id)
{
    uint32_t parent = writer->tree->nodes.data[id].parent;
    struct csp_profile_node *node = add_node(writer, id);
    if (parent != CSP_PROFILE_TOP)
        node->parent = writer->numbers[parent];
}

static void write_nested(struct writer *writer, const struct csp_nested *nested)
{
    struct csp_profile_node *node = add_node(writer, nested->first);
    node->parent = nested->parent;
    node->hash = nested->hash;
    node->head = nested->head;
    node->total = nested->total;
}

static void write_nodes(struct writer *writer)
{
    if (writer->nested)
        for (size_t i = 0; i < writer->nest.nodes.len; i++)
            write_nested(writer, &writer->nest.nodes.data[i]);
    else
        for (size_t i = 0; i < writer->order.len; i++)
            write_node(writer, writer->order.data[i]);
}

static void write_count(const struct writer *writer, struct counts *counts, uint32_t node,
                        uint32_t id)
{
    const struct csp_context_place place = csp_context_place_at(writer->tree, id);
    uint64_t count = csp_context_sum(&counts->sums, id);
    if (place.kind == CSP_PLACE_TYPE)
        csp_vec_push(&counts->types,
                     (struct csp_profile_type){node, place.probe, place.discriminator,
                                               text(writer, place.name), count});
    else if (place.name == CSP_INTERN_NONE)
        csp_vec_push(&counts->bodies,
                     (struct csp_profile_body){node, place.probe, place.discriminator, count});
    else
        csp_vec_push(&counts->targets,
                     (struct csp_profile_target){node, place.probe, place.discriminator,
                                                 text(writer, place.name), count});
}

static void write_counts(struct writer *writer, struct counts *counts, uint32_t number)
{
    uint32_t node = writer->order.data[number], home = number;
    if (writer->contexts && !writer->tree->nodes.data[node].counted)
        return;
    csp_context_gather(writer->tree, node, &counts->sums);
    if (writer->nested) {
        csp_context_nest_take(&writer->nest, number, &counts->sums);
        home = writer->nest.homes[number];
        if (home == CSP_NESTED_NOWHERE)
            return;
    }
    for (size_t i = 0; i < counts->sums.places.len; i++)
        write_count(writer, counts, home, counts->sums.places.data[i]);
}

/* Some nodes have most of the counts: which thread writes those of which is not known before. */
static void run(void *user, unsigned worker)
{
    struct writer *writer = user;
    size_t number;
    while ((number = __atomic_fetch_add(&writer->taken, 1, __ATOMIC_RELAXED)) < writer->order.len)
        write_counts(writer, &writer->counts[worker], (uint32_t)number);
}

/* Moves all of one array behind what is in another. */
#define MOVE(to, from)                                                                             \
    do {                                                                                           \
        csp_vec_reserve(to, (from)->len);                                                          \
        for (size_t i_ = 0; i_ < (from)->len; i_++)                                                \
            (to)->data[(to)->len++] = (from)->data[i_];                                            \
        csp_vec_free(from);                                                                        \
    } while (0)

/* Puts those that other threads wrote behind those of the first. */
static void join_counts(struct counts *counts, unsigned threads)
{
    for (unsigned i = 1; i < threads; i++) {
        MOVE(&counts->bodies, &counts[i].bodies);
        MOVE(&counts->targets, &counts[i].targets);
        MOVE(&counts->types, &counts[i].types);
        csp_context_sums_free(&counts[i].sums);
    }
    csp_context_sums_free(&counts->sums);
}

static void write_all_counts(struct writer *writer, unsigned threads)
{
    /* Each adds up counts by place. */
    threads = csp_parallel_worth(threads, writer->tree->counts.len,
                                 WORTH_A_THREAD + writer->tree->places.list.len);
    writer->counts = csp_calloc(threads, sizeof *writer->counts);
    csp_context_complete_places(writer->tree);
    csp_parallel(threads, run, writer);
    join_counts(writer->counts, threads);
}

static void write_all(struct writer *writer, unsigned threads)
{
    if (writer->nested)
        csp_context_nest_begin(&writer->nest, writer->tree, writer->order.data, writer->numbers,
                               writer->order.len);
    write_all_counts(writer, threads);
    if (writer->nested)
        csp_context_nest_totals(&writer->nest);
    write_nodes(writer);
    csp_context_nest_free(&writer->nest);
}

/* Giving back the memory of a large tree takes as long as making a profile of what is left. */
struct building {
    struct csp_context_tree *tree;
    const struct csp_profile_data *data;
    bool update_totals;
    struct csp_profile *profile;
};

static void build_or_free(void *user, unsigned worker)
{
    struct building *building = user;
    if (worker)
        csp_context_free(building->tree);
    else
        building->profile = csp_profile_build(building->data, building->update_totals);
}

struct csp_profile *csp_context_profile(struct csp_context_tree *tree, struct csp_guids *guids,
                                        const struct csp_profile_data *kind, bool update_totals,
                                        unsigned threads)
{
    struct writer writer = {
        .tree = tree,
        .names = guids->names,
        .contexts = kind->context_sensitive,
        .nested = kind->context_sensitive && kind->nested,
    };
    writer.numbers = csp_malloc((tree->nodes.len + 1) * sizeof *writer.numbers);
    if (kind->context_sensitive) {
        mark_counted(&writer);
        order_contexts(&writer, guids);
    } else {
        order_inlinees(&writer);
    }
    write_all(&writer, threads);
    csp_vec_free(&writer.order);
    free(writer.numbers);
    struct csp_profile_data data = *kind;
    struct counts *counts = writer.counts;
    data.nodes = writer.nodes.data;
    data.node_len = writer.nodes.len;
    data.bodies = counts->bodies.data;
    data.body_len = counts->bodies.len;
    data.targets = counts->targets.data;
    data.target_len = counts->targets.len;
    data.types = counts->types.data;
    data.type_len = counts->types.len;
    struct building building = {tree, &data, update_totals, NULL};
    bool at_once = csp_parallel_worth(threads, tree->counts.len, WORTH_FREEING) > 1;
    if (!at_once)
        csp_context_free(tree);
    csp_parallel(at_once ? 2 : 1, build_or_free, &building);
    csp_vec_free(&writer.nodes);
    csp_vec_free(&counts->bodies);
    csp_vec_free(&counts->targets);
    csp_vec_free(&counts->types);
    free(counts);
    return building.profile;
}
