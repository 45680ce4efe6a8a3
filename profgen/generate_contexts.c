#include "profgen/generate.h"

#include "base/alloc.h"
#include "profgen/disjoint.h"
#include "profgen/missing_frames.h"
#include "profgen/recursion.h"

struct generator {
    struct csp_program *program;
    const struct csp_counters *counters;
    const struct csp_generate_options *options;
    struct csp_context_tree *tree;
    struct csp_generate_stats *stats;
    struct csp_missing_frames *missing;
    struct csp_touched_probes touched;
    struct csp_spans spans;
    /* (inline node, function) to tree node + 1: where counts go, in the context at hand */
    struct csp_map tree_nodes;
    csp_calls path;
    CSP_VEC(struct csp_frame) frames;
    bool inferred, cut; /* the context at hand was completed, or cut, at one of its places */
};

static const struct csp_probe *probe_at(const struct generator *generator, uint32_t probe)
{
    return &generator->program->probes.probes.data[probe];
}

/* Appends the functions that an inline node is inlined into, outermost first, and itself. The
 * callsite of the last is `leaf_callsite`. A callsite that is not known hides all above it. */
static void add_inline_frames(struct generator *generator, uint32_t node, uint32_t leaf_callsite)
{
    const struct csp_probes *probes = &generator->program->probes;
    size_t depth = 0;
    for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent)
        depth++;
    csp_vec_reserve(&generator->frames, depth);
    size_t base = generator->frames.len, at = base + depth;
    uint32_t callsite = leaf_callsite;
    size_t first = base;
    bool hidden = false;
    for (uint32_t up = node; up != CSP_NO_NODE; up = probes->nodes.data[up].parent) {
        const struct csp_probe_node *inlined = &probes->nodes.data[up];
        generator->frames.data[--at] =
            (struct csp_frame){probes->functions.data[inlined->function].name, callsite};
        if (up != node && !callsite && !hidden) {
            hidden = true;
            first = at + 1;
        }
        callsite = inlined->callsite;
    }
    generator->frames.len = base + depth;
    if (!hidden)
        return;
    size_t kept = 0;
    for (size_t i = first; i < generator->frames.len; i++)
        generator->frames.data[kept++] = generator->frames.data[i];
    generator->frames.len = kept;
}

/* The calls of a context, with tail calls put back; the leaf address itself left out. */
static const uint64_t *complete_calls(struct generator *generator, uint32_t context, uint64_t leaf,
                                      size_t *count)
{
    csp_counters_calls(generator->counters, context, &generator->path);
    *count = generator->path.len;
    if (!generator->missing || !*count)
        return generator->path.data;
    csp_vec_push(&generator->path, leaf);
    size_t completed;
    const uint64_t *calls = csp_missing_frames_infer(generator->missing, generator->path.data,
                                                     generator->path.len, &completed);
    generator->inferred |= completed > *count + 1;
    *count = completed - 1;
    return calls;
}

/* The callers, outermost first. The inliner cannot use a context beyond a call it does not know. */
static void add_caller_frames(struct generator *generator, const uint64_t *calls, size_t count)
{
    size_t first = count;
    while (first &&
           csp_probes_call_at(&generator->program->probes, calls[first - 1]) != CSP_NO_PROBE)
        first--;
    generator->cut |= first && csp_program_has_probes(generator->program, calls[first - 1]);
    for (size_t i = first; i < count; i++) {
        const struct csp_probe *probe =
            probe_at(generator, csp_probes_call_at(&generator->program->probes, calls[i]));
        add_inline_frames(generator, probe->node, probe->index);
    }
}

static uint32_t walk_frames(struct generator *generator, uint32_t inline_node)
{
    struct csp_context_tree *tree = generator->tree;
    size_t count = generator->frames.len - 1;
    struct csp_frame leaf = generator->frames.data[count];
    struct csp_frame *frames = generator->frames.data;
    count = csp_recursion_compress_frames(frames, count, generator->options->compress_recursion);
    int most = generator->options->max_context_depth;
    if (most >= 0 && count > (size_t)most) {
        frames += count - (size_t)most;
        count = (size_t)most;
    }
    uint32_t node = CSP_PROFILE_TOP, callsite = 0;
    for (size_t i = 0; i < count; i++) {
        node = csp_context_child(tree, node, callsite, 0, frames[i].name);
        callsite = frames[i].callsite;
    }
    node = csp_context_child(tree, node, callsite, 0, leaf.name);
    const struct csp_probes *probes = &generator->program->probes;
    const struct csp_probe_node *inlined = &probes->nodes.data[inline_node];
    tree->nodes.data[node].counted = true;
    tree->nodes.data[node].hash = probes->functions.data[inlined->function].hash;
    if (inlined->parent != CSP_NO_NODE)
        tree->nodes.data[node].inlined = true;
    return node;
}

/* The tree node for the counts of a probe in a context. */
static uint32_t tree_node_of(struct generator *generator, uint32_t context,
                             const struct csp_probe *probe)
{
    uint32_t function = csp_functions_at(&generator->program->functions, probe->address);
    uint64_t *known = csp_map_at(&generator->tree_nodes, (uint64_t)probe->node << 32 | function);
    if (!*known) {
        size_t count;
        const uint64_t *calls = complete_calls(generator, context, probe->address, &count);
        generator->frames.len = 0;
        add_caller_frames(generator, calls, count);
        add_inline_frames(generator, probe->node, 0);
        *known = (uint64_t)walk_frames(generator, probe->node) + 1;
    }
    return (uint32_t)(*known - 1);
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
    uint32_t callsite = tree->nodes.data[tree_node].callsite;
    struct csp_context_node *node = &tree->nodes.data[caller];
    node->counted = true;
    node->hash = probes->functions.data[probes->nodes.data[inliner].function].hash;
    node->total += count;
    csp_context_add(tree, caller, callsite, 0, CSP_INTERN_NONE, count);
    csp_context_add(tree, caller, callsite, 0, tree->nodes.data[tree_node].name, count);
}

static void count_ranges(struct generator *generator, uint32_t context,
                         const struct csp_counter *ranges, size_t count)
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
        uint32_t node = tree_node_of(generator, context, probe);
        /* Probes of a function that ran, but which did not run themselves, are known to be cold;
         * those that are not in the binary at all are not known, and the compiler will infer their
         * counts. */
        csp_context_add_zeros(generator->tree, node, probe->node);
        csp_context_add(generator->tree, node, probe->index, probe->discriminator, CSP_INTERN_NONE,
                        hits);
        generator->tree->nodes.data[node].total += hits;
        if (csp_probe_is_entry(probe))
            count_entry(generator, probe->node, node, hits);
    }
}

static void count_branches(struct generator *generator, uint32_t context,
                           const struct csp_counter *branches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t id = csp_probes_call_at(&generator->program->probes, branches[i].from);
        if (id == CSP_NO_PROBE)
            continue;
        const struct csp_probe *probe = probe_at(generator, id);
        uint32_t node = tree_node_of(generator, context, probe);
        csp_context_add(generator->tree, node, probe->index, 0, CSP_INTERN_NONE, branches[i].count);
        generator->tree->nodes.data[node].total += branches[i].count;
        uint32_t callee = csp_program_callee_name(generator->program, branches[i].to);
        if (callee != CSP_INTERN_NONE)
            csp_context_add(generator->tree, node, probe->index, probe->discriminator, callee,
                            branches[i].count);
    }
}

static size_t same_context(const struct csp_counter *counters, size_t first, size_t count,
                           uint32_t context)
{
    size_t end = first;
    while (end < count && counters[end].context == context)
        end++;
    return end - first;
}

void csp_generate_contexts(struct csp_program *program, const struct csp_counters *counters,
                           const struct csp_generate_options *options,
                           struct csp_context_tree *tree, struct csp_generate_stats *stats)
{
    struct generator generator = {
        .program = program, .counters = counters, .options = options, .tree = tree, .stats = stats};
    if (options->infer_missing_frames)
        generator.missing = csp_missing_frames_create(program, counters, options->max_search_depth);
    csp_touched_init(&generator.touched, program);
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    size_t range = 0, branch = 0;
    for (uint32_t context = 0; context < counters->contexts.len; context++) {
        csp_map_free(&generator.tree_nodes);
        generator.inferred = generator.cut = false;
        size_t count = same_context(ranges, range, counters->ranges.counts.len, context);
        count_ranges(&generator, context, ranges + range, count);
        range += count;
        count = same_context(branches, branch, counters->branches.counts.len, context);
        count_branches(&generator, context, branches + branch, count);
        branch += count;
        stats->inferred_contexts += generator.inferred;
        stats->cut_contexts += generator.cut;
    }
    free(ranges);
    free(branches);
    csp_missing_frames_destroy(generator.missing);
    csp_touched_free(&generator.touched);
    csp_map_free(&generator.tree_nodes);
    csp_vec_free(&generator.path);
    csp_vec_free(&generator.frames);
    csp_vec_free(&generator.spans.spans);
}
