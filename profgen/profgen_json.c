#include "profgen/profgen.h"

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

static void json_checks(const struct csp_sample_check_stats *stats, struct csp_json *json)
{
    csp_json_object(json, "checks");
    csp_json_number(json, "checked", stats->checked);
    csp_json_number(json, "rejected", stats->rejected);
    csp_json_object(json, "broken");
    for (int i = 0; i < CSP_RULE_COUNT; i++)
        csp_json_number(json, csp_sample_rule_names[i], stats->broken[i]);
    csp_json_end(json);
    csp_json_end(json);
}

static void json_branch_list(const struct csp_branch_list_stats *stats, struct csp_json *json)
{
    csp_json_object(json, "branch_list");
    csp_json_number(json, "binaries", stats->binaries);
    csp_json_number(json, "other_binaries", stats->other_binaries);
    csp_json_number(json, "ranges", stats->ranges);
    csp_json_number(json, "branches", stats->branches);
    csp_json_number(json, "ranges_outside", stats->ranges_outside);
    csp_json_number(json, "ranges_impossible", stats->ranges_impossible);
    csp_json_number(json, "branches_outside", stats->branches_outside);
    csp_json_number(json, "single_addresses", stats->single_addresses);
    csp_json_end(json);
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
    json_checks(&stats->checks, json);
    csp_json_number(json, "distinct_samples", stats->distinct_samples);
    if (stats->distinct_samples_is_estimate)
        csp_json_bool(json, "distinct_samples_is_estimate", true);
    json_unwind(&stats->unwind, json);
    csp_json_number(json, "unwound_contexts", stats->unwound_contexts);
    csp_json_number(json, "range_counters", stats->range_counters);
    csp_json_number(json, "branch_counters", stats->branch_counters);
    csp_json_number(json, "inferred_contexts", stats->generate.inferred_contexts);
    csp_json_number(json, "cut_contexts", stats->generate.cut_contexts);
    csp_json_number(json, "call_probes_rebuilt", stats->call_probes_rebuilt);
    csp_json_number(json, "calls_without_probe", stats->calls_without_probe);
    csp_json_number(json, "unplaced_probes", stats->unplaced_probes);
    csp_json_number(json, "missing_guids", stats->missing_guids);
    csp_json_number(json, "contexts", stats->profile.contexts);
    csp_json_number(json, "merged_contexts", stats->profile.merged_contexts);
    csp_json_number(json, "other_unit_contexts", stats->profile.other_unit_contexts);
    csp_json_number(json, "trimmed_functions", stats->profile.trimmed_functions);
    csp_json_number(json, "functions", stats->profile.functions);
    csp_json_number(json, "total_count", stats->profile.total_samples);
    json_branch_list(&stats->branch_list, json);
    csp_json_number(json, "bolt_lines", stats->bolt_lines);
    csp_json_number(json, "profile_bytes", stats->profile_bytes);
    csp_json_number(json, "unknown_lines", stats->text.other_lines);
    csp_json_number(json, "bad_branches", stats->text.bad_branches);
}
