#include "profgen/profgen.h"

#include "base/alloc.h"
#include "profgen/aggregate_input.h"
#include "profgen/call_probes.h"
#include "profgen/context_finish.h"
#include "profgen/explain.h"
#include "profgen/folding.h"
#include "profgen/inline_sizes.h"
#include "profgen/line_reading.h"
#include "profgen/llvm/profile_contexts.h"
#include "profgen/read_contexts.h"
#include "profgen/units.h"
#include "profgen/unsymbolized.h"

/* How large what ran is, for the pre-inliner. */
struct measuring {
    struct csp_profgen *gen;
    const struct csp_counters *counters;
    struct csp_inline_sizes *sizes;
};

static void measure(void *user)
{
    struct measuring *measuring = user;
    struct csp_profgen *gen = measuring->gen;
    measuring->sizes =
        csp_inline_sizes_of_counters(&gen->program, measuring->counters, gen->options.compat);
}

static void generate_by_probes(struct csp_profgen *gen, struct csp_counters *counters,
                               struct csp_context_tree *tree, struct measuring *measuring)
{
    const struct csp_profgen_options *options = &gen->options;
    const struct csp_generate_options how = {
        .compress_recursion = options->compress_recursion,
        .max_context_depth = options->max_context_depth,
        .infer_missing_frames = options->infer_missing_frames,
        .max_search_depth = options->max_search_depth,
        .threads = options->threads,
        .beside = measuring ? measure : NULL,
        .beside_user = measuring,
    };
    if (gen->flat)
        csp_generate_flat(&gen->program, counters, options->all_functions, tree);
    else
        csp_generate_contexts(&gen->program, counters, &how, tree, &gen->stats.generate);
}

static void generate_by_lines(struct csp_profgen *gen, const struct csp_counters *counters,
                              struct csp_context_tree *tree)
{
    if (gen->flat) {
        csp_generate_line_flat(&gen->program, counters, gen->options.all_functions, tree);
        csp_generate_line_types(&gen->program, &gen->accesses, tree);
    } else {
        csp_generate_line_contexts(&gen->program, counters, gen->options.compat, tree);
    }
}

/* From counters to counts by context. Measures what is not null. */
static int make_tree(struct csp_profgen *gen, struct csp_counters *counters,
                     struct csp_context_tree *tree, struct measuring *measuring,
                     struct csp_diag *diag)
{
    unsigned call_probes = (gen->options.compat ? CSP_TAIL_CALLS_BEFORE_LAST : 0) |
                           (gen->flat ? 0 : CSP_CALL_PROBES_REQUIRED);
    if (!gen->program.uses_probes) {
        generate_by_lines(gen, counters, tree);
        if (measuring)
            measure(measuring);
        return 0;
    }
    int error = csp_call_probes_rebuild(&gen->program, counters, call_probes, diag);
    if (!error)
        generate_by_probes(gen, counters, tree, measuring);
    return error;
}

static int unwind(struct csp_profgen *gen, struct csp_diag *diag);

static int add_others(struct csp_profgen *gen, struct csp_context_tree *tree, struct csp_diag *diag)
{
    int error = 0;
    for (size_t i = 0; i < gen->others.len && !error; i++) {
        struct csp_profgen *other = gen->others.data[i];
        struct csp_context_tree counted = {0};
        error = unwind(other, diag);
        if (!error)
            error = make_tree(other, &other->counters, &counted, NULL, diag);
        if (!error)
            csp_tree_add_build(tree, &gen->program, &counted, &other->program, &gen->across, diag);
        csp_context_free(&counted);
    }
    return error;
}

int csp_profgen_other_build(struct csp_profgen *gen, struct csp_profgen *other,
                            struct csp_diag *diag)
{
    const struct csp_profgen *without = !gen->program.uses_probes     ? gen
                                        : !other->program.uses_probes ? other
                                                                      : NULL;
    if (without)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no pseudo-probes, which builds are compared by "
                        "(-fpseudo-probe-for-profiling)",
                        without->program.path);
    csp_profgen_settle_mode(gen);
    csp_profgen_settle_mode(other);
    if (gen->flat != other->flat)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "the samples of one of %s and %s have callchains, and those of the other "
                        "have none",
                        gen->program.path, other->program.path);
    csp_vec_push(&gen->others, other);
    return 0;
}

static bool needs_sizes(const struct csp_profgen *gen)
{
    return !gen->flat && csp_preinline_needs_sizes(&gen->options.profile.preinline);
}

static void finish_contexts(struct csp_profgen *gen, struct csp_context_tree *tree,
                            struct csp_guids *guids, const struct csp_inline_sizes *sizes)
{
    struct csp_profile_options options = gen->options.profile;
    struct csp_units *units = NULL;
    options.preinline.borrow_sizes = options.preinline.loses_overlaps = gen->options.compat;
    if (options.preinline.enabled && !gen->options.compat && !options.preinline.across_units)
        options.preinline.units = units = csp_units_create(&gen->program);
    csp_contexts_finish(tree, guids, &options, sizes, gen->options.threads, &gen->stats.profile);
    if (units)
        csp_units_destroy(units);
}

/* The tree is empty then. */
static void make_profile(struct csp_profgen *gen, struct csp_context_tree *tree,
                         const struct csp_inline_sizes *sizes, struct csp_profile_data kind)
{
    const struct csp_profile_options *options = &gen->options.profile;
    struct csp_guids guids = {.names = &gen->program.names, .numbers = kind.guids};
    if (kind.context_sensitive)
        finish_contexts(gen, tree, &guids, sizes);
    kind.nested = options->nested;
    kind.preinlined |= kind.context_sensitive && options->preinline.enabled;
    gen->profile =
        csp_context_profile(tree, &guids, &kind, options->update_totals, gen->options.threads);
    csp_guids_free(&guids);
}

/* From counters to a profile. The counters are empty then: they and the profile
 * take much memory, each. */
static int generate(struct csp_profgen *gen, struct csp_diag *diag)
{
    const struct csp_profgen_options *options = &gen->options;
    struct csp_counters *counters = &gen->counters;
    struct csp_context_tree tree = {0};
    struct measuring measuring = {.gen = gen, .counters = counters};
    csp_counters_close(counters);
    int error = make_tree(gen, counters, &tree, needs_sizes(gen) ? &measuring : NULL, diag);
    if (!error)
        error = add_others(gen, &tree, diag);
    if (!error && !tree.counts.len && !options->compat)
        error = csp_explain_no_counts(gen, diag);
    if (!error) {
        bool by_lines = !gen->program.uses_probes;
        csp_counters_free(counters);
        *counters = (struct csp_counters){0};
        if (by_lines && !gen->flat)
            csp_contexts_settle_lines(&tree, options->profile.update_totals);
        make_profile(gen, &tree, measuring.sizes,
                     (struct csp_profile_data){
                         .context_sensitive = !gen->flat,
                         .by_lines = by_lines,
                         .fs_discriminators = gen->program.fs_discriminators,
                     });
    }
    if (measuring.sizes)
        csp_inline_sizes_destroy(measuring.sizes);
    csp_context_free(&tree);
    return error;
}

/* Finishes the contexts of a profile that was read. */
static void regenerate(struct csp_profgen *gen)
{
    struct csp_context_tree tree = {0};
    struct csp_inline_sizes *sizes = NULL;
    const struct csp_profile_data kind = csp_profile_kind(gen->profile);
    if (!kind.context_sensitive)
        return;
    if (needs_sizes(gen))
        sizes = csp_inline_sizes_of_profile(&gen->program, gen->profile);
    csp_contexts_read(&tree, &gen->program.names, gen->profile);
    csp_profile_free(gen->profile);
    make_profile(gen, &tree, sizes, kind);
    if (sizes)
        csp_inline_sizes_destroy(sizes);
    csp_context_free(&tree);
}

static int smaller_depth(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void check_samples(struct csp_profgen *gen)
{
    if (!gen->options.compat && !gen->options.aggregate)
        csp_sample_set_check(&gen->set, &gen->program, gen->options.rules, gen->options.threads,
                             &gen->stats.checks);
}

struct csp_unwind_options csp_profgen_unwind_options(const struct csp_profgen *gen)
{
    struct csp_unwind_options how = {
        .compat = gen->options.compat,
        .flat = gen->flat,
        .threads = gen->options.threads,
        .compress_recursion = gen->options.compress_recursion,
        .max_context_depth = gen->options.max_context_depth,
    };
    if (gen->program.uses_probes)
        how.max_context_depth =
            smaller_depth(how.max_context_depth, gen->options.max_unsymbolized_depth);
    return how;
}

static void count_samples(struct csp_profgen *gen)
{
    const struct csp_unwind_options how = csp_profgen_unwind_options(gen);
    csp_unwind(&gen->program, &gen->set, &how, &gen->counters, &gen->stats.unwind);
}

void csp_profgen_fold(struct csp_profgen *gen)
{
    if (!gen->set.counts.len)
        return;
    csp_profgen_settle_mode(gen);
    struct csp_sample_set none = csp_sample_set_like(&gen->set);
    check_samples(gen);
    count_samples(gen);
    none.stats = gen->set.stats;
    none.saturated = gen->set.saturated;
    csp_sample_set_free(&gen->set);
    gen->set = none;
    gen->counters_given = true;
}

bool csp_profgen_rebuilds_call_probes(const struct csp_profgen *gen)
{
    const struct csp_program *program = &gen->program;
    return program->uses_probes && !program->probes.has_call_probes && !gen->options.bolt &&
           !gen->options.skip_symbolization;
}

/* Beside that, what the call probes will be looked up in is read. */
static void count_and_read_lines(struct csp_profgen *gen)
{
    bool reads_lines = csp_profgen_rebuilds_call_probes(gen) && gen->options.threads > 1;
    struct csp_line_reading *lines = reads_lines ? csp_line_reading_begin(&gen->program) : NULL;
    csp_line_reading_want(lines, &gen->set.branches, 0);
    count_samples(gen);
    csp_line_reading_end(lines);
}

/* From samples to counters. */
static int unwind(struct csp_profgen *gen, struct csp_diag *diag)
{
    struct csp_profgen_stats *stats = &gen->stats;
    csp_profgen_settle_mode(gen);
    bool any = gen->folding ? csp_folding_end(gen->folding) : gen->set.counts.len;
    if (!gen->folding) {
        check_samples(gen);
        stats->distinct_samples = gen->set.counts.len;
    }
    stats->samples = gen->set.stats;
    csp_sample_set_warn(&gen->set, diag);
    csp_explain_missing_callchains(gen, diag);
    if (!any)
        return gen->counters_given || gen->options.compat ? 0 : csp_explain_no_samples(gen, diag);
    if (csp_explain_branches(gen, diag))
        return -CSP_ERR_INPUT;
    if (stats->checks.rejected && stats->checks.rejected == stats->checks.checked)
        return csp_explain_bogus(gen, diag);
    if (gen->options.aggregate || gen->folding)
        return 0;
    count_and_read_lines(gen);
    /* Samples take more memory than all that is made of them. */
    csp_sample_set_free(&gen->set);
    return 0;
}

static const char **function_names(const struct csp_program *program)
{
    const struct csp_functions *functions = &program->functions;
    const char **names = csp_calloc(functions->ranges.len + 1, sizeof *names);
    for (size_t i = 0; i < functions->ranges.len; i++)
        names[i] = csp_intern_text(
            &program->names, functions->functions.data[functions->ranges.data[i].function].name);
    return names;
}

static int finish_profile(struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag)
{
    struct csp_profile_options options = gen->options.profile;
    const char **names = NULL;
    if (gen->options.symbol_list) {
        names = function_names(&gen->program);
        options.symbols = names;
        options.symbol_len = gen->program.functions.ranges.len;
    }
    int error = csp_profile_finish(gen->profile, &options, out, &gen->stats.profile, diag);
    free(names);
    return error;
}

static int write_for_bolt(struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag)
{
    gen->stats.bolt_lines = csp_bolt_write(&gen->program, &gen->counters, gen->options.bolt, out);
    if (gen->stats.bolt_lines)
        return 0;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "the profile would be empty: no branch that was taken is in a function that %s "
                    "has a symbol for; give the file as it was before strip, or write --format "
                    "preagg, which needs none",
                    gen->program.path);
}

int csp_profgen_finish(struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag)
{
    struct csp_profgen_stats *stats = &gen->stats;
    size_t before = out->len;
    int error = gen->profile ? 0 : unwind(gen, diag);
    stats->unwound_contexts = gen->counters.contexts.len;
    stats->range_counters = gen->counters.ranges.counts.len;
    stats->branch_counters = gen->counters.branches.counts.len;
    if (!error && gen->options.aggregate) {
        csp_profgen_write_aggregate(gen, out);
    } else if (!error && gen->options.bolt) {
        error = write_for_bolt(gen, out, diag);
    } else if (!error && gen->options.skip_symbolization) {
        csp_unsymbolized_write(&gen->program, &gen->counters, !gen->flat, csp_profgen_base(gen),
                               out);
    } else {
        if (!error && gen->profile)
            regenerate(gen);
        else if (!error)
            error = generate(gen, diag);
        if (!error)
            error = finish_profile(gen, out, diag);
    }
    stats->profile_bytes = out->len - before;
    stats->call_probes_rebuilt = gen->program.call_probes_rebuilt;
    stats->calls_without_probe = gen->program.calls_without_probe;
    stats->unplaced_probes = gen->program.probes.unplaced;
    stats->missing_guids = gen->program.probes.missing_guids;
    return error;
}
