#include "profgen/context_finish.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/saturate.h"
#include "profgen/context_merge.h"
#include "profgen/llvm/profile_summary.h"

static uint64_t count_contexts(const struct csp_context_tree *tree)
{
    uint64_t count = 0;
    for (size_t i = 0; i < tree->nodes.len; i++)
        count += tree->nodes.data[i].counted;
    return count;
}

/* The profile without contexts: counts by function and place. Of a function with several control
 * flows only the first is counted, as libLLVM does it. */
struct flat {
    struct csp_numbers places; /* name << 32 | place */
    CSP_VEC(uint64_t) counts;
    uint64_t *hashes; /* by name */
};

static void flatten(struct flat *flat, const struct csp_context_tree *tree, uint32_t number)
{
    const struct csp_context_node *node = &tree->nodes.data[number];
    uint32_t name = csp_context_name(tree, number);
    if (!flat->hashes[name])
        flat->hashes[name] = node->hash;
    else if (flat->hashes[name] != node->hash)
        return;
    for (struct csp_context_walk walk = csp_context_walk_begin(tree, &node->lists[CSP_LIST_PROBES]);
         walk.at; csp_context_walk_step(tree, &walk)) {
        const struct csp_context_count *count = &tree->counts.data[walk.at - 1];
        if (csp_context_place_at(tree, count->place).kind != CSP_PLACE_COUNT)
            continue;
        uint32_t id = csp_numbers_at(&flat->places, (uint64_t)name << 32 | count->place);
        if (id == flat->counts.len)
            csp_vec_push(&flat->counts, 0);
        flat->counts.data[id] = csp_add_saturating(flat->counts.data[id], count->count);
    }
}

static struct csp_profile_summary summarise(const struct csp_context_tree *tree, size_t names)
{
    struct flat flat = {.hashes = csp_calloc(names + 1, sizeof *flat.hashes)};
    for (uint32_t i = 0; i < tree->nodes.len; i++)
        if (tree->nodes.data[i].counted)
            flatten(&flat, tree, i);
    struct csp_profile_summary summary = csp_profile_summarise(flat.counts.data, flat.counts.len);
    csp_numbers_free(&flat.places);
    csp_vec_free(&flat.counts);
    free(flat.hashes);
    return summary;
}

void csp_contexts_settle_lines(struct csp_context_tree *tree, bool update_totals)
{
    struct csp_context_sums sums = {0}, targets = {.round = 1};
    for (uint32_t i = 0; i < tree->nodes.len; i++) {
        uint64_t total = 0;
        if (!tree->nodes.data[i].counted)
            continue;
        csp_context_gather(tree, i, &sums);
        csp_context_calls_by_place(tree, &sums, &targets);
        for (size_t at = 0; at < sums.places.len; at++) {
            uint32_t place = sums.places.data[at];
            const struct csp_context_place what = csp_context_place_at(tree, place);
            if (what.kind != CSP_PLACE_COUNT || what.name != CSP_INTERN_NONE)
                continue;
            uint64_t count = csp_context_sum(&sums, place),
                     calls = csp_context_sum(&targets, place);
            total = csp_add_saturating(total, count);
            if (calls > count)
                csp_context_add_at(tree, i, place, calls - count);
        }
        if (update_totals)
            tree->nodes.data[i].total = total;
    }
    csp_context_sums_free(&sums);
    csp_context_sums_free(&targets);
}

/* What is to be known of a tree before it is changed. */
struct survey {
    const struct csp_context_tree *tree;
    size_t names;
    struct csp_profile_summary summary;
    struct csp_preinliner *preinliner; /* or null */
    unsigned workers;
};

static void survey_part(void *user, unsigned worker)
{
    struct survey *survey = user;
    if (!worker)
        survey->summary = summarise(survey->tree, survey->names);
    if (survey->preinliner && worker == survey->workers - 1) {
        csp_preinliner_learn_contexts(survey->preinliner);
        csp_preinliner_learn_calls(survey->preinliner);
    }
}

void csp_contexts_finish(struct csp_context_tree *tree, struct csp_guids *guids,
                         const struct csp_profile_options *options,
                         const struct csp_inline_sizes *sizes, unsigned threads,
                         struct csp_profile_result *result)
{
    bool preinline = options->preinline.enabled;
    struct survey survey = {.tree = tree,
                            .names = guids->names->entries.len,
                            .workers = preinline && threads > 1 ? 2 : 1};
    if (preinline)
        survey.preinliner = csp_preinliner_create(tree, guids, &options->preinline, sizes);
    csp_parallel(survey.workers, survey_part, &survey);
    const struct csp_profile_summary *summary = &survey.summary;
    const struct csp_preinline_thresholds thresholds = {
        .cold = options->has_cold_count ? options->cold_count : summary->cold,
        .upper = summary->hottest,
    };
    const struct csp_cold_contexts cold = {
        .threshold = options->has_hot_count ? options->hot_count : summary->hot,
        .trim = options->trim_cold,
        .merge = options->merge_cold && (!preinline || options->merge_cold_given),
        .base_only = preinline,
        .depth = options->cold_context_depth,
    };
    result->total_samples = summary->total;
    result->contexts = count_contexts(tree);
    if (preinline) {
        result->other_unit_contexts = csp_preinliner_run(survey.preinliner, &thresholds, threads);
        csp_preinliner_destroy(survey.preinliner);
    }
    csp_contexts_merge_cold(tree, &cold);
    result->merged_contexts = result->contexts - count_contexts(tree);
}
