#include "profgen/contexts.h"

#include "base/alloc.h"

static uint64_t both(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

uint32_t csp_context_child(struct csp_context_tree *tree, uint32_t parent, uint32_t callsite,
                           uint32_t discriminator, uint32_t name)
{
    uint32_t id = csp_pairs_at(&tree->node_keys, both(parent, callsite), both(discriminator, name));
    if (id == tree->nodes.len)
        csp_vec_push(&tree->nodes, (struct csp_context_node){.parent = parent,
                                                             .callsite = callsite,
                                                             .discriminator = discriminator,
                                                             .name = name});
    return id;
}

static uint64_t *count_of(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                          uint32_t discriminator, uint32_t callee)
{
    uint32_t id = csp_pairs_at(&tree->count_keys, both(node, probe), both(discriminator, callee));
    if (id == tree->counts.len)
        csp_vec_push(&tree->counts, 0);
    return &tree->counts.data[id];
}

void csp_context_add(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                     uint32_t discriminator, uint32_t callee, uint64_t count)
{
    *count_of(tree, node, probe, discriminator, callee) += count;
}

void csp_context_add_zeros(struct csp_context_tree *tree, uint32_t node, uint32_t inline_node)
{
    if (tree->nodes.data[node].zeros == inline_node + 1)
        return;
    tree->nodes.data[node].zeros = inline_node + 1;
    csp_vec_push(&tree->zeros, (struct csp_profile_zero){node, inline_node});
}

void csp_context_raise(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                       uint32_t discriminator, uint64_t count)
{
    uint64_t *known = count_of(tree, node, probe, discriminator, CSP_INTERN_NONE);
    if (*known < count)
        *known = count;
}

uint64_t csp_context_count_at(const struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                              uint32_t discriminator)
{
    uint32_t id =
        csp_pairs_find(&tree->count_keys, both(node, probe), both(discriminator, CSP_INTERN_NONE));
    return id == CSP_NO_PAIR ? 0 : tree->counts.data[id];
}

static void add_counts(const struct csp_context_tree *tree, const struct csp_intern *names,
                       struct csp_profile_body *bodies, struct csp_profile_target *targets,
                       struct csp_profile_data *data)
{
    for (size_t i = 0; i < tree->counts.len; i++) {
        struct csp_context_count key = csp_context_count_key(tree, i);
        uint64_t count = tree->counts.data[i];
        if (key.callee == CSP_INTERN_NONE)
            bodies[data->body_len++] =
                (struct csp_profile_body){key.node, key.probe, key.discriminator, count};
        else
            targets[data->target_len++] = (struct csp_profile_target){
                key.node, key.probe, key.discriminator, csp_intern_text(names, key.callee), count};
    }
}

void csp_context_free(struct csp_context_tree *tree)
{
    csp_vec_free(&tree->nodes);
    csp_vec_free(&tree->counts);
    csp_vec_free(&tree->types);
    csp_vec_free(&tree->zeros);
    csp_pairs_free(&tree->node_keys);
    csp_pairs_free(&tree->count_keys);
}

struct csp_profile *csp_context_profile(struct csp_context_tree *tree,
                                        const struct csp_intern *names,
                                        const struct csp_profile_data *kind, bool update_totals)
{
    size_t node_len = tree->nodes.len, count_len = tree->counts.len;
    struct csp_profile_node *nodes = csp_calloc(node_len + 1, sizeof *nodes);
    struct csp_profile_body *bodies = csp_calloc(count_len + 1, sizeof *bodies);
    struct csp_profile_target *targets = csp_calloc(count_len + 1, sizeof *targets);
    for (size_t i = 0; i < node_len; i++) {
        const struct csp_context_node *node = &tree->nodes.data[i];
        nodes[i] = (struct csp_profile_node){
            .function = csp_intern_text(names, node->name),
            .parent = node->parent,
            .callsite = node->callsite,
            .discriminator = node->discriminator,
            .hash = node->hash,
            .head = node->head,
            .total = node->total,
            .counted = node->counted,
            .inlined = node->inlined,
        };
    }
    struct csp_profile_data data = *kind;
    data.nodes = nodes;
    data.bodies = bodies;
    data.targets = targets;
    data.node_len = node_len;
    struct csp_profile_type *types = csp_calloc(tree->types.len + 1, sizeof *types);
    for (size_t i = 0; i < tree->types.len; i++) {
        const struct csp_context_type *type = &tree->types.data[i];
        types[i] = (struct csp_profile_type){type->node, type->line, type->discriminator,
                                             csp_intern_text(names, type->table), type->count};
    }
    data.types = types;
    data.type_len = tree->types.len;
    add_counts(tree, names, bodies, targets, &data);
    struct csp_profile_zero *zeros = tree->zeros.data;
    data.zeros = zeros;
    data.zero_len = tree->zeros.len;
    tree->zeros.data = NULL;
    csp_context_free(tree);
    struct csp_profile *profile = csp_profile_build(&data, update_totals);
    free(nodes);
    free(bodies);
    free(targets);
    free(types);
    free(zeros);
    return profile;
}
