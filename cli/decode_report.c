#include "cli/decode_report.h"
#include "base/counted.h"

static void json_samples(struct csp_json *json, const struct csp_recording_samples_stats *samples)
{
    const struct csp_stitch_stats *stitch = &samples->stitch;
    csp_json_number(json, "samples", samples->samples);
    csp_json_number(json, "lost_samples", samples->lost);
    csp_json_number(json, "malformed_samples", samples->malformed);
    csp_json_number(json, "resume_samples", samples->resumes);
    csp_json_number(json, "branch_stack_samples", samples->native);
    csp_json_number(json, "samples_cut_from_trace", samples->cut);
    csp_json_number(json, "pause_samples", stitch->pauses);
    csp_json_number(json, "stitched_exact", stitch->verdicts[CSP_VERDICT_EXACT]);
    csp_json_number(json, "stitched_time", stitch->verdicts[CSP_VERDICT_TIME]);
    csp_json_number(json, "stitched_order", stitch->verdicts[CSP_VERDICT_ORDER]);
    csp_json_number(json, "unstitched",
                    stitch->verdicts[CSP_VERDICT_NONE] + stitch->verdicts[CSP_VERDICT_AMBIGUOUS]);
    csp_json_object(json, "unstitched_reasons");
    for (int i = CSP_UNSTITCHED_NOT + 1; i < CSP_UNSTITCHED_COUNT; i++)
        csp_json_number(json, csp_unstitched_name((enum csp_unstitched)i), stitch->unstitched[i]);
    csp_json_end(json);
    csp_json_number(json, "windows_repeated", stitch->windows_repeated);
    csp_json_number(json, "windows_without_sample", stitch->windows_alone);
    csp_json_number(json, "joined_runs", stitch->made.joined_runs);
    csp_json_number(json, "callchains_repaired_by_history", stitch->made.repaired_by_history);
    csp_json_number(json, "callchains_repaired_by_lr", stitch->made.repaired_by_lr);
    csp_json_number(json, "callchains_missing_a_caller", stitch->made.missing_callers);
    csp_json_signed(json, "sample_lag_ns", stitch->clock.lag_median);
    csp_json_signed(json, "sample_lag_limit_ns", stitch->clock.lag_limit);
}

/* What of the trace in AUXTRACE records is not among the bytes that were decoded, and why. */
static void json_trace(struct csp_json *json, const struct csp_auxtrace *aux)
{
    csp_json_number(json, "stored_bytes", aux->stored_bytes);
    csp_json_number(json, "announced_bytes", aux->announced_bytes);
    csp_json_number(json, "missing_bytes", aux->missing_bytes);
    csp_json_number(json, "unannounced_bytes", aux->unannounced_bytes);
    csp_json_number(json, "repeated_bytes", aux->repeated_bytes);
}

void csp_decode_print_json(const struct decode *decode, double seconds)
{
    const struct csp_window_stats *windows = &decode->stats.windows;
    const struct csp_engine_stats *engine = &decode->stats.engine;
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_number(&json, "trace_bytes", engine->bytes);
    csp_json_number(&json, "sources", decode->trace->sources.len);
    csp_json_number(&json, "windows", windows->windows);
    csp_json_number(&json, "distinct_windows", csp_distinct_count(&decode->output.distinct));
    csp_json_number(&json, "identical_windows",
                    windows->windows - csp_distinct_count(&decode->output.distinct));
    if (decode->output.distinct.skipped_bits)
        csp_json_bool(&json, "distinct_windows_is_estimate", true);
    csp_json_number(&json, "runs", windows->runs);
    csp_json_number(&json, "ranges", windows->ranges);
    csp_json_number(&json, "instructions", windows->instructions);
    csp_json_number(&json, "branches", windows->branches);
    csp_json_number(&json, "unmapped_ranges", windows->unmapped_ranges);
    csp_json_number(&json, "unknown_paths", windows->unknown_paths);
    csp_json_number(&json, "discontinuities", windows->discontinuities);
    csp_json_number(&json, "overflows", windows->overflows);
    csp_json_number(&json, "exceptions", windows->exceptions);
    csp_json_number(&json, "bad_packets", engine->bad_packets);
    csp_json_number(&json, "lost_bytes", engine->lost_bytes);
    if (decode->recording)
        json_trace(&json, csp_recording_auxtrace(decode->recording));
    if (decode->output.format == CSP_DECODE_SCRIPT)
        csp_json_number(&json, "empty_stacks", decode->output.empty_stacks);
    if (decode->output.format == CSP_DECODE_PERFDATA) {
        csp_json_number(&json, "written_samples", decode->written.samples);
        csp_json_number(&json, "empty_stacks", decode->written.empty_stacks);
        csp_json_number(&json, "cut_stacks", decode->written.cut_stacks);
    }
    if (decode->recording)
        json_samples(&json, &decode->samples);
    csp_json_real(&json, "seconds", seconds);
    csp_json_end(&json);
    csp_cli_print(&out);
}

/* What became of the pause samples. */
static void print_stitching(const struct decode *decode)
{
    const struct csp_stitch_stats *stitch = &decode->samples.stitch;
    struct csp_buf text = {0};
    if (!stitch->pauses)
        return;
    csp_buf_printf(&text, "%s:", CSP_COUNTED(stitch->pauses, "pause sample"));
    for (int i = CSP_VERDICT_EXACT; i <= CSP_VERDICT_ORDER; i++)
        if (stitch->verdicts[i])
            csp_buf_printf(&text, " %llu %s,", (unsigned long long)stitch->verdicts[i],
                           csp_verdict_name((enum csp_verdict)i));
    for (int i = CSP_UNSTITCHED_NOT + 1; i < CSP_UNSTITCHED_COUNT; i++)
        if (stitch->unstitched[i])
            csp_buf_printf(&text, " %llu unstitched (%s),",
                           (unsigned long long)stitch->unstitched[i],
                           csp_unstitched_name((enum csp_unstitched)i));
    text.data[text.len - 1] = '\0';
    csp_note(&decode->cli->diag, "%s; %s without a sample", text.data,
             CSP_COUNTED(stitch->windows_alone, "window"));
    csp_buf_free(&text);
}

void csp_decode_print_summary(const struct decode *decode)
{
    const struct csp_window_stats *windows = &decode->stats.windows;
    const struct csp_engine_stats *engine = &decode->stats.engine;
    csp_note(&decode->cli->diag, "%s of trace: %s, %s, %s, %s", CSP_COUNTED(engine->bytes, "byte"),
             CSP_COUNTED(windows->windows, "window"), CSP_COUNTED(windows->ranges, "range"),
             CSP_COUNTED(windows->instructions, "instruction"),
             CSP_COUNTED(windows->branches, "branch"));
    if (decode->output.format == CSP_DECODE_SCRIPT && decode->output.empty_stacks)
        csp_note(
            &decode->cli->diag,
            "%s without a taken branch %s not in the script: llvm-profgen takes no "
            "sample with an empty branch stack",
            CSP_COUNTED(decode->output.empty_stacks, decode->output.by_sample ? "sample" : "run"),
            csp_by_count(decode->output.empty_stacks, "is", "are"));
    if (decode->output.format == CSP_DECODE_PERFDATA)
        csp_note(&decode->cli->diag,
                 "%s: %s with branch stacks (%llu without a taken branch left out)",
                 decode->output_path, CSP_COUNTED(decode->written.samples, "sample"),
                 (unsigned long long)decode->written.empty_stacks);
    print_stitching(decode);
}
