#include "profgen/generate.h"

#include "base/alloc.h"
#include "profgen/context_nodes.h"
#include "profgen/counter_groups.h"
#include "profgen/disjoint.h"
#include "profgen/range_probes.h"

/* What is counted where a branch began. */
struct known_branch {
    bool known;
    uint32_t probe;         /* or CSP_NO_PROBE */
    uint32_t place, callee; /* of the probe; of its calls, or CSP_NO_PLACE */
};

#define CSP_NO_PLACE UINT32_MAX

struct generator {
    struct csp_program *program;
    struct csp_context_tree *tree;
    struct csp_context_nodes nodes;
    struct csp_counter_groups ranges, branches;
    struct csp_touched_probes touched;
    struct csp_spans spans;
    struct csp_range_probes range_probes;
    struct known_branch *known; /* by branch */
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

static void count_probe(struct generator *generator, uint32_t id, uint64_t hits)
{
    const struct csp_probe *probe = probe_at(generator, id);
    if (probe->type != CSP_PROBE_BLOCK || !hits)
        return;
    uint32_t node = csp_context_nodes_of(&generator->nodes, id);
    /* Probes of a function that ran, but which did not run themselves, are known to be cold; those
     * that are not in the binary at all are not known, and the compiler will infer their counts. */
    csp_context_add_zeros(generator->tree, node, probe->node);
    csp_context_add_at(generator->tree, node, csp_context_probe_place(generator->tree, id), hits);
    generator->tree->nodes.data[node].total += hits;
    if (csp_probe_is_entry(probe))
        count_entry(generator, probe->node, node, hits);
}

static bool are_disjoint(const struct csp_counter *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ranges[i].from <= ranges[i - 1].to)
            return false;
    return true;
}

static void count_ranges(struct generator *generator)
{
    const struct csp_counter *ranges = generator->ranges.group.data;
    size_t count = generator->ranges.group.len, probe_count;
    csp_counter_groups_sort(&generator->ranges);
    if (are_disjoint(ranges, count)) {
        for (size_t i = 0; i < count; i++) {
            uint32_t first =
                csp_range_probes_of(&generator->range_probes, &ranges[i], &probe_count);
            for (size_t at = 0; at < probe_count; at++)
                count_probe(generator, generator->range_probes.probes.data[first + at],
                            ranges[i].count);
        }
        return;
    }
    csp_disjoint(ranges, count, &generator->spans);
    csp_touched_clear(&generator->touched);
    csp_touch_probes(&generator->touched, generator->program, &generator->spans, false);
    for (size_t i = 0; i < generator->touched.probes.len; i++) {
        uint32_t id = generator->touched.probes.data[i];
        count_probe(generator, id, generator->touched.counts[id]);
    }
}

static const struct known_branch *branch_of(struct generator *generator,
                                            const struct csp_counter *branch)
{
    struct known_branch *known = &generator->known[branch->span];
    if (known->known)
        return known;
    *known = (struct known_branch){
        .known = true,
        .probe = csp_probes_call_at(&generator->program->probes, branch->from),
        .callee = CSP_NO_PLACE,
    };
    if (known->probe == CSP_NO_PROBE)
        return known;
    const struct csp_probe *probe = probe_at(generator, known->probe);
    uint32_t callee = csp_program_callee_name(generator->program, branch->to);
    known->place = csp_context_place(generator->tree, probe->index, 0, CSP_INTERN_NONE);
    if (callee != CSP_INTERN_NONE)
        known->callee =
            csp_context_place(generator->tree, probe->index, probe->discriminator, callee);
    return known;
}

static void count_branches(struct generator *generator)
{
    struct csp_context_tree *tree = generator->tree;
    for (size_t i = 0; i < generator->branches.group.len; i++) {
        const struct csp_counter *branch = &generator->branches.group.data[i];
        const struct known_branch *known = branch_of(generator, branch);
        if (known->probe == CSP_NO_PROBE)
            continue;
        uint32_t node = csp_context_nodes_of(&generator->nodes, known->probe);
        csp_context_add_at(tree, node, known->place, branch->count);
        tree->nodes.data[node].total += branch->count;
        if (known->callee != CSP_NO_PLACE)
            csp_context_add_at(tree, node, known->callee, branch->count);
    }
}

static void begin(struct generator *generator, const struct csp_counters *counters,
                  const struct csp_generate_options *options)
{
    struct csp_program *program = generator->program;
    size_t contexts = counters->contexts.len;
    generator->tree->probes = &program->probes;
    csp_context_expect(generator->tree, 2 * contexts);
    csp_context_nodes_begin(&generator->nodes, program, counters, options, generator->tree);
    csp_touched_init(&generator->touched, program);
    csp_counter_groups_begin(&generator->ranges, &counters->ranges, contexts);
    csp_counter_groups_begin(&generator->branches, &counters->branches, contexts);
    csp_range_probes_begin(&generator->range_probes, program, counters->ranges.spans.list.len);
    generator->known = csp_calloc(counters->branches.spans.list.len + 1, sizeof *generator->known);
}

static void end(struct generator *generator)
{
    csp_counter_groups_free(&generator->ranges);
    csp_counter_groups_free(&generator->branches);
    csp_touched_free(&generator->touched);
    csp_context_nodes_free(&generator->nodes);
    csp_spans_free(&generator->spans);
    csp_range_probes_free(&generator->range_probes);
    free(generator->known);
}

void csp_generate_contexts(struct csp_program *program, const struct csp_counters *counters,
                           const struct csp_generate_options *options,
                           struct csp_context_tree *tree, struct csp_generate_stats *stats)
{
    struct generator generator = {.program = program, .tree = tree};
    uint32_t *contexts = csp_counters_by_callers(counters);
    begin(&generator, counters, options);
    for (size_t i = 0; i < counters->contexts.len; i++) {
        csp_context_nodes_enter(&generator.nodes, contexts[i]);
        csp_counter_groups_of(&generator.ranges, contexts[i]);
        csp_counter_groups_of(&generator.branches, contexts[i]);
        count_ranges(&generator);
        count_branches(&generator);
        stats->inferred_contexts += generator.nodes.inferred;
        stats->cut_contexts += generator.nodes.cut;
    }
    end(&generator);
    free(contexts);
}
