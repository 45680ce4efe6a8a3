#include "profgen/generate.h"

#include "profgen/context_nodes.h"
#include "profgen/counter_groups.h"
#include "profgen/disjoint.h"

struct generator {
    struct csp_program *program;
    struct csp_context_tree *tree;
    struct csp_context_nodes nodes;
    struct csp_touched_probes touched;
    struct csp_spans spans;
};

static const struct csp_probe *probe_at(const struct generator *generator, uint32_t probe)
{
    return &generator->program->probes.probes.data[probe];
}

/* Being entered, an inlined function says how often its callsite ran. */
static void count_entry(struct generator *generator, uint32_t inline_node, uint32_t tree_node,
                        uint64_t count)
{
    const struct csp_probes *probes = &generator->program->probes;
    struct csp_context_tree *tree = generator->tree;
    tree->nodes.data[tree_node].head += count;
    uint32_t inliner = probes->nodes.data[inline_node].parent;
    uint32_t caller = tree->nodes.data[tree_node].parent;
    if (inliner == CSP_NO_NODE || caller == CSP_PROFILE_TOP)
        return;
    uint32_t edge = tree->nodes.data[tree_node].edge;
    struct csp_context_node *node = &tree->nodes.data[caller];
    node->counted = true;
    node->hash = probes->functions.data[probes->nodes.data[inliner].function].hash;
    node->total += count;
    csp_context_add(tree, caller, csp_context_place_at(tree, edge).probe, 0, CSP_INTERN_NONE,
                    count);
    csp_context_add_at(tree, caller, edge, count);
}

static void count_ranges(struct generator *generator, const struct csp_counter *ranges,
                         size_t count)
{
    csp_disjoint(ranges, count, &generator->spans);
    csp_touched_clear(&generator->touched);
    csp_touch_probes(&generator->touched, generator->program, &generator->spans, false);
    for (size_t i = 0; i < generator->touched.probes.len; i++) {
        uint32_t id = generator->touched.probes.data[i];
        const struct csp_probe *probe = probe_at(generator, id);
        uint64_t hits = generator->touched.counts[id];
        if (probe->type != CSP_PROBE_BLOCK || !hits)
            continue;
        uint32_t node = csp_context_nodes_of(&generator->nodes, id);
        /* Probes of a function that ran, but which did not run themselves, are known to be cold;
         * those that are not in the binary at all are not known, and the compiler will infer their
         * counts. */
        csp_context_add_zeros(generator->tree, node, probe->node);
        csp_context_add_at(generator->tree, node, csp_context_probe_place(generator->tree, id),
                           hits);
        generator->tree->nodes.data[node].total += hits;
        if (csp_probe_is_entry(probe))
            count_entry(generator, probe->node, node, hits);
    }
}

static void count_branches(struct generator *generator, const struct csp_counter *branches,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t id = csp_probes_call_at(&generator->program->probes, branches[i].from);
        if (id == CSP_NO_PROBE)
            continue;
        const struct csp_probe *probe = probe_at(generator, id);
        uint32_t node = csp_context_nodes_of(&generator->nodes, id);
        csp_context_add(generator->tree, node, probe->index, 0, CSP_INTERN_NONE, branches[i].count);
        generator->tree->nodes.data[node].total += branches[i].count;
        uint32_t callee = csp_program_callee_name(generator->program, branches[i].to);
        if (callee != CSP_INTERN_NONE)
            csp_context_add(generator->tree, node, probe->index, probe->discriminator, callee,
                            branches[i].count);
    }
}

void csp_generate_contexts(struct csp_program *program, const struct csp_counters *counters,
                           const struct csp_generate_options *options,
                           struct csp_context_tree *tree, struct csp_generate_stats *stats)
{
    struct generator generator = {.program = program, .tree = tree};
    struct csp_counter_groups ranges, branches;
    size_t contexts = counters->contexts.len;
    tree->probes = &program->probes;
    csp_context_nodes_begin(&generator.nodes, program, counters, options, tree);
    csp_touched_init(&generator.touched, program);
    csp_counter_groups_begin(&ranges, &counters->ranges, contexts);
    csp_counter_groups_begin(&branches, &counters->branches, contexts);
    for (uint32_t context = 0; context < contexts; context++) {
        csp_context_nodes_enter(&generator.nodes, context);
        csp_counter_groups_of(&ranges, context);
        csp_counter_groups_of(&branches, context);
        count_ranges(&generator, ranges.group.data, ranges.group.len);
        count_branches(&generator, branches.group.data, branches.group.len);
        stats->inferred_contexts += generator.nodes.inferred;
        stats->cut_contexts += generator.nodes.cut;
    }
    csp_counter_groups_free(&ranges);
    csp_counter_groups_free(&branches);
    csp_touched_free(&generator.touched);
    csp_context_nodes_free(&generator.nodes);
    csp_spans_free(&generator.spans);
}
