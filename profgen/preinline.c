#include "profgen/preinline.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "profgen/call_graph.h"
#include "profgen/candidates.h"
#include "profgen/context_merge.h"
#include "profgen/context_settle.h"
#include "profgen/size_trie.h"
#include "profgen/units.h"

/* Counts to be added up. Fewer are in the processor's cache, from where another thread would have
 * to take them. */
enum { WORTH_A_THREAD = 1 << 20 };

struct csp_preinliner {
    struct csp_context_tree *tree;
    struct csp_guids *guids;
    const struct csp_preinline_options *options;
    const struct csp_preinline_thresholds *thresholds;
    const struct csp_inline_sizes *sizes;
    struct csp_context_merger merger;
    struct csp_call_graph *graph;
    struct csp_context_settler *settler; /* may be null */
    struct csp_context_sums caller, callee;
    csp_hashed_children children;
    csp_candidates queue;
    uint64_t other_units;
};

static uint64_t guid_of(struct csp_preinliner *inliner, uint32_t node)
{
    return csp_guid_of(inliner->guids, csp_context_name(inliner->tree, node));
}

/* The size in the longest context that the binary has; of a function that it has only inlined
 * elsewhere, the size there. */
static bool find_size(struct csp_preinliner *inliner, uint32_t node, uint32_t *size)
{
    const struct csp_inline_sizes *sizes = inliner->sizes;
    const struct csp_context_tree *tree = inliner->tree;
    uint32_t at = 0, callsite = 0, discriminator = 0;
    bool known = false;
    for (uint32_t up = node; up != CSP_PROFILE_TOP; up = tree->nodes.data[up].parent) {
        uint32_t next =
            csp_inline_sizes_child(sizes, at, callsite, discriminator, guid_of(inliner, up));
        if (!next)
            break;
        at = next;
        if (sizes->nodes.data[at].known) {
            *size = sizes->nodes.data[at].size;
            known = true;
        }
        const struct csp_context_place edge = csp_context_place_at(tree, tree->nodes.data[up].edge);
        callsite = edge.probe;
        discriminator = edge.discriminator;
    }
    if (!at && !inliner->options->borrow_sizes)
        return known;
    while (!known && sizes->nodes.data[at].first_child) {
        at = sizes->nodes.data[at].first_child;
        *size = sizes->nodes.data[at].size;
        known = sizes->nodes.data[at].known;
    }
    return known;
}

static uint32_t count_places(struct csp_preinliner *inliner, uint32_t node)
{
    struct csp_context_sums *sums = &inliner->callee;
    uint32_t count = 0;
    csp_context_gather(inliner->tree, node, sums);
    for (size_t i = 0; i < sums->places.len; i++) {
        const struct csp_context_place place =
            csp_context_place_at(inliner->tree, sums->places.data[i]);
        count += place.kind == CSP_PLACE_COUNT && place.name == CSP_INTERN_NONE;
    }
    return count;
}

static uint32_t cost_of(struct csp_preinliner *inliner, uint32_t node)
{
    uint32_t size = 0;
    if (inliner->sizes && find_size(inliner, node, &size))
        return size;
    return count_places(inliner, node);
}

static bool can_inline(struct csp_preinliner *inliner, uint32_t base, uint32_t callee)
{
    const struct csp_units *units = inliner->options->units;
    if (!units || csp_units_can_inline(units, guid_of(inliner, base), guid_of(inliner, callee)))
        return true;
    inliner->other_units++;
    return false;
}

/* The calls in a context that is to be inlined into a base, or is it. Most contexts have none that
 * could be inlined: theirs are not added up here. Nothing is merged into the context any more: it
 * is of the function that all other contexts were merged of just now. */
static void add_candidates(struct csp_preinliner *inliner, uint32_t base, uint32_t caller)
{
    struct csp_context_tree *tree = inliner->tree;
    bool gathered = false;
    inliner->children.len = 0;
    csp_context_sorted_children(tree, inliner->guids, caller, &inliner->children);
    for (size_t i = 0; i < inliner->children.len; i++) {
        uint32_t callee = inliner->children.data[i].node;
        if (!tree->nodes.data[callee].counted || !can_inline(inliner, base, callee))
            continue;
        if (!gathered)
            csp_context_gather_calls(tree, caller, &inliner->caller);
        gathered = true;
        uint64_t calls = csp_context_sum(&inliner->caller, tree->nodes.data[callee].edge);
        uint64_t entries = csp_context_entries(tree, callee);
        csp_candidates_push(&inliner->queue,
                            (struct csp_candidate){.calls = calls > entries ? calls : entries,
                                                   .cost = cost_of(inliner, callee),
                                                   .guid = guid_of(inliner, callee),
                                                   .node = callee});
    }
    csp_context_settle(inliner->settler, caller);
}

/* Up to which cost to inline: the hotter, the more. */
static uint64_t cost_limit(const struct csp_preinliner *inliner, uint64_t calls, bool was_inlined)
{
    const struct csp_preinline_options *options = inliner->options;
    const struct csp_preinline_thresholds *thresholds = inliner->thresholds;
    if (calls <= thresholds->cold)
        return (unsigned)options->cold_threshold;
    double lower = (double)thresholds->cold;
    double hotness = ((double)calls - lower) / ((double)thresholds->upper - lower);
    if (hotness > 1)
        hotness = 1;
    unsigned limit =
        (unsigned)(options->hot_threshold * hotness * 100 + options->cold_threshold + 1);
    return was_inlined ? limit * (unsigned)options->previous_multiplier : limit;
}

static bool should_inline(const struct csp_preinliner *inliner,
                          const struct csp_candidate *candidate)
{
    bool was_inlined =
        inliner->tree->nodes.data[candidate->node].attributes & CSP_PROFILE_WAS_INLINED;
    if (inliner->options->replay)
        return was_inlined;
    return candidate->cost < cost_limit(inliner, candidate->calls, was_inlined);
}

static unsigned size_limit(const struct csp_preinline_options *options, unsigned size)
{
    unsigned limit = size * (unsigned)options->growth_limit;
    if (limit > (unsigned)options->limit_max)
        limit = (unsigned)options->limit_max;
    return limit < (unsigned)options->limit_min ? (unsigned)options->limit_min : limit;
}

static void process_function(struct csp_preinliner *inliner, uint32_t name)
{
    uint32_t base = csp_context_merge_function(&inliner->merger, name);
    if (base == CSP_PROFILE_TOP || !inliner->tree->nodes.data[base].counted)
        return;
    unsigned size = cost_of(inliner, base), limit = size_limit(inliner->options, size);
    inliner->queue.len = 0;
    add_candidates(inliner, base, base);
    while (inliner->queue.len && size < limit) {
        struct csp_candidate candidate = csp_candidates_pop(&inliner->queue);
        if (!should_inline(inliner, &candidate))
            continue;
        struct csp_context_node *node = &inliner->tree->nodes.data[candidate.node];
        node->state = CSP_CONTEXT_INLINED;
        node->attributes |= CSP_PROFILE_SHOULD_BE_INLINED;
        size += (unsigned)candidate.cost;
        add_candidates(inliner, base, candidate.node);
    }
}

static void forget_others(struct csp_context_tree *tree)
{
    for (size_t i = 0; i < tree->nodes.len; i++) {
        struct csp_context_node *node = &tree->nodes.data[i];
        if (node->parent != CSP_PROFILE_TOP && node->state != CSP_CONTEXT_INLINED)
            node->counted = false;
    }
}

struct csp_preinliner *csp_preinliner_create(struct csp_context_tree *tree, struct csp_guids *guids,
                                             const struct csp_preinline_options *options,
                                             const struct csp_inline_sizes *sizes)
{
    struct csp_preinliner *inliner = csp_calloc(1, sizeof *inliner);
    inliner->tree = tree;
    inliner->guids = guids;
    inliner->options = options;
    inliner->sizes = options->by_context_cost ? sizes : NULL;
    return inliner;
}

void csp_preinliner_learn_contexts(struct csp_preinliner *inliner)
{
    csp_context_merger_begin(&inliner->merger, inliner->tree, inliner->guids,
                             inliner->options->loses_overlaps);
}

void csp_preinliner_learn_calls(struct csp_preinliner *inliner)
{
    inliner->graph = csp_call_graph_create(inliner->tree, inliner->guids->names->entries.len);
}

uint64_t csp_preinliner_run(struct csp_preinliner *inliner,
                            const struct csp_preinline_thresholds *thresholds, unsigned threads)
{
    size_t count;
    uint32_t *functions =
        csp_callers_first(inliner->graph, inliner->guids, thresholds->cold, &count);
    inliner->thresholds = thresholds;
    if (csp_parallel_worth(threads, inliner->tree->counts.len, WORTH_A_THREAD) > 1)
        inliner->settler = csp_context_settler_begin(inliner->tree);
    for (size_t i = 0; i < count; i++)
        process_function(inliner, functions[i]);
    csp_context_settler_end(inliner->settler);
    forget_others(inliner->tree);
    free(functions);
    return inliner->other_units;
}

void csp_preinliner_destroy(struct csp_preinliner *inliner)
{
    csp_call_graph_destroy(inliner->graph);
    csp_context_merger_free(&inliner->merger);
    csp_context_sums_free(&inliner->caller);
    csp_context_sums_free(&inliner->callee);
    csp_vec_free(&inliner->children);
    csp_vec_free(&inliner->queue);
    free(inliner);
}
