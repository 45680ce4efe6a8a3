#include "profgen/generate.h"

#include "base/alloc.h"
#include "profgen/disjoint.h"

/* The tree node of an inline node: the same path. Counts go to it and to all above it. */
static uint32_t tree_node_of(struct csp_context_tree *tree, const struct csp_program *program,
                             uint32_t *tree_nodes, uint32_t node)
{
    if (tree_nodes[node])
        return tree_nodes[node] - 1;
    const struct csp_probe_node *inlined = &program->probes.nodes.data[node];
    uint32_t parent = CSP_PROFILE_TOP;
    /* A callsite that is not known hides all above it. */
    if (inlined->parent != CSP_NO_NODE && inlined->callsite)
        parent = tree_node_of(tree, program, tree_nodes, inlined->parent);
    const struct csp_probe_function *function = &program->probes.functions.data[inlined->function];
    uint32_t made = csp_context_child(
        tree, parent, parent == CSP_PROFILE_TOP ? 0 : inlined->callsite, 0, function->name);
    tree->nodes.data[made].counted = true;
    tree->nodes.data[made].hash = function->hash;
    tree_nodes[node] = made + 1;
    return made;
}

static void add_bodies(struct csp_program *program, struct csp_context_tree *tree,
                       const struct csp_spans *spans, uint32_t *tree_nodes)
{
    struct csp_touched_probes touched;
    csp_touched_init(&touched, program);
    csp_touch_probes(&touched, program, spans, true);
    for (size_t i = 0; i < touched.probes.len; i++) {
        const struct csp_probe *probe = &program->probes.probes.data[touched.probes.data[i]];
        uint64_t count = touched.counts[touched.probes.data[i]];
        uint32_t node = tree_node_of(tree, program, tree_nodes, probe->node);
        csp_context_add(tree, node, probe->index, probe->discriminator, CSP_INTERN_NONE, count);
        if (csp_probe_is_entry(probe))
            tree->nodes.data[node].head += count;
        for (uint32_t up = node; up != CSP_PROFILE_TOP; up = tree->nodes.data[up].parent)
            tree->nodes.data[up].total += count;
    }
    csp_touched_free(&touched);
}

static void add_targets(struct csp_program *program, struct csp_context_tree *tree,
                        const struct csp_counter *branches, size_t count, uint32_t *tree_nodes)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t callee = csp_program_callee_name(program, branches[i].to);
        uint32_t id = csp_probes_call_at(&program->probes, branches[i].from);
        if (callee == CSP_INTERN_NONE || id == CSP_NO_PROBE)
            continue;
        const struct csp_probe *probe = &program->probes.probes.data[id];
        uint32_t node = tree_node_of(tree, program, tree_nodes, probe->node);
        csp_context_add(tree, node, probe->index, 0, callee, branches[i].count);
    }
}

void csp_generate_flat(struct csp_program *program, const struct csp_counters *counters,
                       bool all_functions, struct csp_context_tree *tree)
{
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    uint32_t *tree_nodes = csp_calloc(program->probes.nodes.len + 1, sizeof *tree_nodes);
    struct csp_spans spans = {0};
    tree->indexed = true;
    csp_disjoint_in_functions(program, ranges, counters->ranges.counts.len, all_functions, &spans);
    add_bodies(program, tree, &spans, tree_nodes);
    add_targets(program, tree, branches, counters->branches.counts.len, tree_nodes);
    csp_context_end_index(tree);
    csp_spans_free(&spans);
    free(tree_nodes);
    free(ranges);
    free(branches);
}
