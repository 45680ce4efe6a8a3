#include "profgen/generate.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/saturate.h"
#include "base/shares.h"
#include "profgen/context_join.h"
#include "profgen/context_nodes.h"
#include "profgen/counter_groups.h"
#include "profgen/disjoint.h"
#include "profgen/range_probes.h"

/* The call where a branch began. */
struct counted_call {
    uint32_t probe;  /* or CSP_NO_PROBE */
    uint32_t callee; /* a name, or CSP_INTERN_NONE */
};

/* What is counted there, in one tree. */
struct call_places {
    bool known;
    uint32_t place, callee; /* of the probe; of its calls, or CSP_NO_PLACE */
};

#define CSP_NO_PLACE UINT32_MAX

/* What all threads read. */
struct counted {
    struct csp_counter_groups ranges, branches;
    uint32_t *contexts;         /* those with the same callers side by side */
    struct counted_call *calls; /* by branch */
    size_t context_count;
    uint32_t block_count;
    struct csp_shares shares; /* of blocks of contexts */
};

enum { BLOCKS = 256 }; /* for each thread: some have more counters than others */

/* Makes the tree of some of the contexts. */
struct generator {
    const struct csp_program *program;
    struct counted *counted;
    unsigned count; /* of generators */
    struct csp_context_tree *tree, own_tree;
    struct csp_generate_stats stats;
    struct csp_context_nodes nodes;
    csp_counter_list ranges, branches; /* of the context at hand */
    struct csp_touched_probes touched;
    struct csp_spans spans;
    struct csp_range_probes range_probes;
    struct call_places *places; /* by branch */
};

static const struct csp_probe *probe_at(const struct generator *generator, uint32_t probe)
{
    return &generator->program->probes.probes.data[probe];
}

static void add_to(uint64_t *count, uint64_t more)
{
    *count = csp_add_saturating(*count, more);
}

/* Being entered, an inlined function says how often its callsite ran. */
static void count_entry(struct generator *generator, uint32_t inline_node, uint32_t tree_node,
                        uint64_t count)
{
    const struct csp_probes *probes = &generator->program->probes;
    struct csp_context_tree *tree = generator->tree;
    add_to(&tree->nodes.data[tree_node].head, count);
    uint32_t inliner = probes->nodes.data[inline_node].parent;
    uint32_t caller = tree->nodes.data[tree_node].parent;
    if (inliner == CSP_NO_NODE || caller == CSP_PROFILE_TOP)
        return;
    uint32_t edge = tree->nodes.data[tree_node].edge;
    struct csp_context_node *node = &tree->nodes.data[caller];
    node->counted = true;
    node->hash = probes->functions.data[probes->nodes.data[inliner].function].hash;
    add_to(&node->total, count);
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
    add_to(&generator->tree->nodes.data[node].total, hits);
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
    size_t count = generator->ranges.len, probe_count;
    csp_counter_group_sort(&generator->ranges);
    const struct csp_counter *ranges = generator->ranges.data;
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

static const struct call_places *places_of(struct generator *generator, uint32_t branch)
{
    struct call_places *places = &generator->places[branch];
    const struct counted_call *call = &generator->counted->calls[branch];
    if (places->known)
        return places;
    const struct csp_probe *probe = probe_at(generator, call->probe);
    *places = (struct call_places){
        .known = true,
        .place = csp_context_place(generator->tree, probe->index, 0, CSP_INTERN_NONE),
        .callee = CSP_NO_PLACE,
    };
    if (call->callee != CSP_INTERN_NONE)
        places->callee =
            csp_context_place(generator->tree, probe->index, probe->discriminator, call->callee);
    return places;
}

static void count_branches(struct generator *generator)
{
    struct csp_context_tree *tree = generator->tree;
    for (size_t i = 0; i < generator->branches.len; i++) {
        const struct csp_counter *branch = &generator->branches.data[i];
        uint32_t probe = generator->counted->calls[branch->span].probe;
        if (probe == CSP_NO_PROBE)
            continue;
        const struct call_places *places = places_of(generator, branch->span);
        uint32_t node = csp_context_nodes_of(&generator->nodes, probe);
        csp_context_add_at(tree, node, places->place, branch->count);
        add_to(&tree->nodes.data[node].total, branch->count);
        if (places->callee != CSP_NO_PLACE)
            csp_context_add_at(tree, node, places->callee, branch->count);
    }
}

/* Finding a callee's name may make it. */
static struct counted_call *find_calls(struct csp_program *program, const struct csp_pairs *spans)
{
    struct counted_call *calls = csp_malloc((spans->list.len + 1) * sizeof *calls);
    for (size_t i = 0; i < spans->list.len; i++) {
        const struct csp_pair *branch = &spans->list.data[i];
        uint32_t probe = csp_probes_call_at(&program->probes, branch->first);
        uint32_t callee = probe == CSP_NO_PROBE ? CSP_INTERN_NONE
                                                : csp_program_callee_name(program, branch->second);
        calls[i] = (struct counted_call){probe, callee};
    }
    return calls;
}

/* All but its nodes. */
static void begin(struct generator *generator)
{
    const struct csp_program *program = generator->program;
    const struct csp_counters *counters = generator->nodes.counters;
    generator->tree->probes = &program->probes;
    csp_touched_init(&generator->touched, program);
    csp_range_probes_begin(&generator->range_probes, program, counters->ranges.spans.list.len);
    generator->places =
        csp_calloc(counters->branches.spans.list.len + 1, sizeof *generator->places);
}

static void end(struct generator *generator)
{
    csp_vec_free(&generator->ranges);
    csp_vec_free(&generator->branches);
    csp_touched_free(&generator->touched);
    csp_spans_free(&generator->spans);
    csp_range_probes_free(&generator->range_probes);
    free(generator->places);
}

static void count_contexts(struct generator *generator, size_t first, size_t end)
{
    const struct counted *counted = generator->counted;
    enum { AHEAD = 4 };
    for (size_t i = first; i < end; i++) {
        uint32_t context = counted->contexts[i];
        if (i + AHEAD < end) {
            csp_counter_groups_fetch(&counted->ranges, counted->contexts[i + AHEAD]);
            csp_counter_groups_fetch(&counted->branches, counted->contexts[i + AHEAD]);
        }
        csp_context_nodes_enter(&generator->nodes, context);
        csp_counter_groups_get(&counted->ranges, context, &generator->ranges);
        csp_counter_groups_get(&counted->branches, context, &generator->branches);
        count_ranges(generator);
        count_branches(generator);
        generator->stats.inferred_contexts += generator->nodes.inferred;
        generator->stats.cut_contexts += generator->nodes.cut;
    }
}

/* The nodes of the first generator know of the program what the others' need: they end last. */
static void generate(struct generator *generators, unsigned worker)
{
    struct generator *generator = generators + worker;
    struct counted *counted = generator->counted;
    size_t contexts = counted->context_count, blocks = counted->block_count;
    if (worker) {
        csp_context_nodes_beside(&generator->nodes, &generators->nodes, generator->tree);
        csp_context_expect(generator->tree, 2 * contexts / generator->count);
    }
    begin(generator);
    for (uint32_t block; csp_shares_next(&counted->shares, worker, &block);)
        count_contexts(generator, contexts * block / blocks, contexts * (block + 1) / blocks);
    end(generator);
    if (worker)
        csp_context_nodes_free(&generator->nodes);
}

struct generating {
    struct generator *generators;
    const struct csp_generate_options *options;
};

/* What is done beside is begun first: how much each generator does is decided at the end. */
static void run(void *user, unsigned task)
{
    const struct generating *generating = user;
    if (task)
        generate(generating->generators, task - 1);
    else if (generating->options->beside)
        generating->options->beside(generating->options->beside_user);
}

/* Each learns the probes of ranges again, has arrays of all probes, and makes a tree that is joined
 * to the others. */
static unsigned worth_generators(const struct csp_program *program,
                                 const struct csp_counters *counters, unsigned threads)
{
    enum { FEW = 32, PROBES = 16 };
    return csp_parallel_worth(threads, counters->ranges.counts.len + counters->branches.counts.len,
                              FEW + program->probes.probes.len / PROBES);
}

/* What has to be known before trees are made. */
struct preparing {
    const struct csp_counters *counters;
    struct counted *counted;
};

static void group_ranges(const struct preparing *preparing)
{
    csp_counter_groups_begin(&preparing->counted->ranges, &preparing->counters->ranges,
                             preparing->counters->contexts.len);
}

static void group_branches(const struct preparing *preparing)
{
    csp_counter_groups_begin(&preparing->counted->branches, &preparing->counters->branches,
                             preparing->counters->contexts.len);
}

static void order_contexts(const struct preparing *preparing)
{
    preparing->counted->contexts = csp_counters_by_callers(preparing->counters);
}

static void prepare(void *user, unsigned task)
{
    static void (*const tasks[])(const struct preparing *preparing) = {order_contexts, group_ranges,
                                                                       group_branches};
    tasks[task](user);
}

enum { PREPARING = 3 };

void csp_generate_contexts(struct csp_program *program, struct csp_counters *counters,
                           const struct csp_generate_options *options,
                           struct csp_context_tree *tree, struct csp_generate_stats *stats)
{
    unsigned count = worth_generators(program, counters, options->threads);
    struct generator *generators = csp_calloc(count, sizeof *generators);
    size_t contexts = counters->contexts.len;
    struct counted counted = {.context_count = contexts,
                              .block_count = count > 1 ? BLOCKS * count : 1,
                              .calls = find_calls(program, &counters->branches.spans)};
    struct preparing preparing = {counters, &counted};
    csp_parallel_tasks(count, PREPARING, prepare, &preparing);
    for (unsigned i = 0; i < count; i++) {
        generators[i].program = program;
        generators[i].counted = &counted;
        generators[i].tree = i ? &generators[i].own_tree : tree;
        generators[i].count = count;
    }
    csp_shares_begin(&counted.shares, counted.block_count, count);
    csp_context_expect(tree, 2 * contexts);
    csp_context_nodes_begin(&generators->nodes, program, counters, options, tree);
    struct generating generating = {generators, options};
    csp_parallel_tasks(options->threads, count + 1, run, &generating);
    csp_shares_free(&counted.shares);
    csp_context_nodes_free(&generators->nodes);
    csp_counter_groups_free(&counted.ranges);
    csp_counter_groups_free(&counted.branches);
    csp_counters_forget_counts(counters);
    for (unsigned i = 0; i < count; i++) {
        if (i)
            csp_context_join(tree, generators[i].tree, count);
        stats->inferred_contexts += generators[i].stats.inferred_contexts;
        stats->cut_contexts += generators[i].stats.cut_contexts;
    }
    free(counted.contexts);
    free(counted.calls);
    free(generators);
}
