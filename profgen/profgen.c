#include "profgen/profgen.h"

#include "profgen/call_probes.h"
#include "profgen/unsymbolized.h"

#include <inttypes.h>

struct csp_profgen_options csp_profgen_defaults(void)
{
    return (struct csp_profgen_options){
        .compress_recursion = -1,
        .max_context_depth = -1,
        .max_unsymbolized_depth = -1,
        .infer_missing_frames = true,
        .max_search_depth = UINT32_MAX,
        .use_offset = true,
        .profile = {.format = CSP_PROFILE_EXTBINARY,
                    .nested = true,
                    .merge_cold = true,
                    .cold_context_depth = 1},
    };
}

int csp_profgen_open(struct csp_profgen *gen, const struct csp_profgen_options *options,
                     struct csp_diag *diag)
{
    *gen = (struct csp_profgen){.options = *options};
    gen->map.program = &gen->program;
    gen->map.single_base = options->compat;
    gen->set.compat = options->compat;
    return csp_program_open(&gen->program, options->binary_path, diag);
}

static void decide_mode(struct csp_profgen *gen, bool has_callchains)
{
    if (gen->any_input)
        return;
    gen->any_input = true;
    gen->flat = gen->options.mode == CSP_PROFGEN_FLAT ||
                (gen->options.mode == CSP_PROFGEN_AUTO && !has_callchains);
    gen->set.contexts = !gen->flat;
}

int csp_profgen_perf_script(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    bool has_callchains = false;
    error = csp_perf_script_has_callchains(&file, &has_callchains, diag);
    if (!error) {
        decide_mode(gen, has_callchains);
        csp_perf_script_read(&file, &gen->map, &gen->set, &gen->stats.text);
        if (!gen->stats.text.mappings_used)
            csp_warn(diag,
                     "%s tells of no mapping of %s: its addresses are taken for the binary's own "
                     "(perf script --show-mmap-events prints mappings)",
                     path, gen->program.name);
    }
    csp_file_unmap(&file);
    return error;
}

void csp_profgen_sample(struct csp_profgen *gen, const struct csp_sample *sample)
{
    decide_mode(gen, sample->callchain_len != 0);
    csp_sample_set_add(&gen->set, &gen->program, sample);
}

static int explain_no_samples(const struct csp_profgen *gen, struct csp_diag *diag)
{
    static const char *const reasons[CSP_REJECT_COUNT] = {
        "have no branch history (record with a branch stack)",
        "belong to no trace window (`csprof decode --format none` tells what became of the trace)",
        "have no callchain (record with one, or ask for --mode flat)",
        "are outside the binary (is it the one that ran?)",
        "were taken in another function than their newest branch leads to",
        "were taken in a prologue or epilogue",
    };
    const struct csp_sample_set_stats *stats = &gen->set.stats;
    if (!stats->samples)
        return csp_fail(diag, CSP_ERR_INPUT, "the input holds no samples");
    int worst = 0;
    for (int i = 1; i < CSP_REJECT_COUNT; i++)
        if (stats->rejected[i] > stats->rejected[worst])
            worst = i;
    return csp_fail(diag, CSP_ERR_INPUT,
                    "the profile would be empty: none of %" PRIu64 " samples can be used; %" PRIu64
                    " of them %s",
                    stats->samples, stats->rejected[worst], reasons[worst]);
}

static int generate(struct csp_profgen *gen, struct csp_counters *counters, struct csp_buf *out,
                    struct csp_diag *diag)
{
    struct csp_profgen_options *options = &gen->options;
    struct csp_context_tree tree = {0};
    unsigned call_probes = (options->compat ? CSP_TAIL_CALLS_BEFORE_EPILOGUE : 0) |
                           (gen->flat ? 0 : CSP_CALL_PROBES_REQUIRED);
    int error = csp_call_probes_rebuild(&gen->program, counters, call_probes, diag);
    if (error)
        return error;
    options->profile.context_sensitive = !gen->flat;
    if (gen->flat) {
        csp_generate_flat(&gen->program, counters, &tree);
    } else {
        const struct csp_generate_options how = {
            .compress_recursion = options->compress_recursion,
            .max_context_depth = options->max_context_depth,
            .infer_missing_frames = options->infer_missing_frames,
            .max_search_depth = options->max_search_depth,
        };
        csp_generate_contexts(&gen->program, counters, &how, &tree, &gen->stats.generate);
    }
    if (!tree.counts.len)
        error =
            csp_fail(diag, CSP_ERR_INPUT,
                     "the profile would be empty: no probe is in any of the %zu ranges that ran "
                     "(is %s the binary that ran, and built with -fpseudo-probe-for-profiling "
                     "throughout?)",
                     counters->ranges.counts.len, gen->program.path);
    if (!error)
        error = csp_context_write(&tree, &gen->program.names, &options->profile, out,
                                  &gen->stats.profile, diag);
    csp_context_free(&tree);
    return error;
}

/* Branches that begin where the binary has no branch instruction tell of another build. */
static int check_branches(const struct csp_profgen *gen, struct csp_diag *diag)
{
    const struct csp_sample_set_stats *stats = &gen->set.stats;
    if (gen->options.compat || stats->impossible_branches <= stats->branches / 100)
        return 0;
    static const char message[] =
        "%" PRIu64 " of %" PRIu64 " branches begin where %s has no branch instruction: is it the "
        "build that ran?";
    if (stats->impossible_branches > stats->branches / 5)
        return csp_fail(diag, CSP_ERR_INPUT, message, stats->impossible_branches, stats->branches,
                        gen->program.path);
    csp_warn(diag, message, stats->impossible_branches, stats->branches, gen->program.path);
    return 0;
}

/* The lowest address of the executable, or of all, segments, rounded down to a page. */
static uint64_t offset_base(const struct csp_profgen *gen)
{
    if (!gen->options.use_offset)
        return 0;
    for (size_t i = 0; i < gen->program.segments.len; i++)
        if (gen->program.segments.data[i].executable || gen->options.first_segment_base)
            return gen->program.segments.data[i].address & ~UINT64_C(0xfff);
    return 0;
}

static int smaller_depth(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

int csp_profgen_finish(struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag)
{
    struct csp_profgen_stats *stats = &gen->stats;
    const struct csp_unwind_options how = {
        .compat = gen->options.compat,
        .compress_recursion = gen->options.compress_recursion,
        .max_context_depth =
            smaller_depth(gen->options.max_context_depth, gen->options.max_unsymbolized_depth),
    };
    stats->samples = gen->set.stats;
    stats->distinct_samples = gen->set.counts.len;
    if (!gen->set.counts.len)
        return explain_no_samples(gen, diag);
    if (check_branches(gen, diag))
        return -CSP_ERR_INPUT;
    struct csp_counters counters = {0};
    if (gen->flat)
        csp_unwind_flat(&gen->program, &gen->set, &how, &counters, &stats->unwind);
    else
        csp_unwind(&gen->program, &gen->set, &how, &counters, &stats->unwind);
    stats->unwound_contexts = counters.contexts.entries.len;
    stats->range_counters = counters.ranges.counts.len;
    stats->branch_counters = counters.branches.counts.len;
    size_t before = out->len;
    int error = 0;
    if (gen->options.skip_symbolization)
        csp_unsymbolized_write(&counters, !gen->flat, offset_base(gen), out);
    else
        error = generate(gen, &counters, out, diag);
    stats->profile_bytes = out->len - before;
    stats->call_probes_rebuilt = gen->program.call_probes_rebuilt;
    stats->calls_without_probe = gen->program.calls_without_probe;
    stats->unplaced_probes = gen->program.probes.unplaced;
    stats->missing_guids = gen->program.probes.missing_guids;
    csp_counters_free(&counters);
    return error;
}

static void json_samples(const struct csp_sample_set_stats *stats, struct csp_json *json)
{
    csp_json_number(json, "samples", stats->samples);
    csp_json_number(json, "used", stats->used);
    csp_json_object(json, "rejected");
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        csp_json_number(json, csp_reject_names[i], stats->rejected[i]);
    csp_json_end(json);
    csp_json_number(json, "truncated_callchains", stats->truncated_callchains);
    csp_json_number(json, "internal_branches", stats->branches);
    csp_json_number(json, "impossible_branches", stats->impossible_branches);
    csp_json_number(json, "external_branches", stats->external_branches);
}

static void json_unwind(const struct csp_unwind_stats *stats, struct csp_json *json)
{
    csp_json_number(json, "ranges", stats->ranges);
    csp_json_number(json, "ranges_counted", stats->ranges_counted);
    csp_json_number(json, "ranges_external", stats->ranges_external);
    csp_json_number(json, "ranges_half_external", stats->ranges_half_external);
    csp_json_number(json, "ranges_impossible", stats->ranges_impossible);
    csp_json_number(json, "partial_ranges", stats->partial_ranges);
    csp_json_number(json, "partial_ranges_impossible", stats->partial_ranges_impossible);
    csp_json_number(json, "branches", stats->branches);
    csp_json_number(json, "calls_off_chain", stats->calls_off_chain);
    csp_json_number(json, "returns_to_no_call", stats->returns_to_no_call);
    csp_json_number(json, "restored_frames", stats->restored_frames);
}

void csp_profgen_json(const struct csp_profgen *gen, struct csp_json *json)
{
    const struct csp_profgen_stats *stats = &gen->stats;
    csp_json_string(json, "mode", gen->flat ? "flat" : "cs");
    json_samples(&stats->samples, json);
    csp_json_number(json, "distinct_samples", stats->distinct_samples);
    json_unwind(&stats->unwind, json);
    csp_json_number(json, "unwound_contexts", stats->unwound_contexts);
    csp_json_number(json, "range_counters", stats->range_counters);
    csp_json_number(json, "branch_counters", stats->branch_counters);
    csp_json_number(json, "inferred_frames", stats->generate.inferred_frames);
    csp_json_number(json, "cut_contexts", stats->generate.cut_contexts);
    csp_json_number(json, "call_probes_rebuilt", stats->call_probes_rebuilt);
    csp_json_number(json, "calls_without_probe", stats->calls_without_probe);
    csp_json_number(json, "unplaced_probes", stats->unplaced_probes);
    csp_json_number(json, "missing_guids", stats->missing_guids);
    csp_json_number(json, "contexts", stats->profile.contexts);
    csp_json_number(json, "merged_contexts", stats->profile.merged_contexts);
    csp_json_number(json, "trimmed_functions", stats->profile.trimmed_functions);
    csp_json_number(json, "functions", stats->profile.functions);
    csp_json_number(json, "total_count", stats->profile.total_samples);
    csp_json_number(json, "profile_bytes", stats->profile_bytes);
    csp_json_number(json, "unknown_lines", stats->text.other_lines);
    csp_json_number(json, "bad_branches", stats->text.bad_branches);
}

void csp_profgen_close(struct csp_profgen *gen)
{
    csp_sample_set_free(&gen->set);
    csp_address_map_free(&gen->map);
    csp_program_close(&gen->program);
}
