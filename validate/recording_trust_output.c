#include "validate/recording_trust.h"

static void line(const char *what, uint64_t count, uint64_t of, struct csp_buf *out)
{
    struct csp_rate rate = csp_rate_of(count, of);
    csp_buf_printf(out, "%-26s %10llu ", what, (unsigned long long)count);
    csp_rate_text(&rate, out);
    csp_buf_add_char(out, '\n');
}

static void text_verdicts(const struct csp_recording_trust *trust, struct csp_buf *out)
{
    const struct csp_trust_row *all = &trust->all;
    csp_buf_printf(out, "%-26s %10llu\n", "samples", (unsigned long long)all->samples);
    if (trust->samples.lost)
        csp_buf_printf(out, "%-26s %10llu\n", "  lost by the kernel",
                       (unsigned long long)trust->samples.lost);
    if (trust->samples.malformed)
        csp_buf_printf(out, "%-26s %10llu\n", "  malformed",
                       (unsigned long long)trust->samples.malformed);
    line("with a history", csp_trust_stitched(all), all->samples, out);
    for (int i = 0; i < CSP_VERDICT_COUNT; i++) {
        char name[40];
        if (i == CSP_VERDICT_NONE || i == CSP_VERDICT_AMBIGUOUS || !all->verdicts[i])
            continue;
        snprintf(name, sizeof name, "  %s", csp_verdict_name((enum csp_verdict)i));
        line(name, all->verdicts[i], all->samples, out);
    }
    line("without", all->samples - csp_trust_stitched(all), all->samples, out);
    for (int i = CSP_UNSTITCHED_NOT + 1; i < CSP_UNSTITCHED_COUNT; i++) {
        char name[40];
        if (!all->unstitched[i])
            continue;
        snprintf(name, sizeof name, "  %s", csp_unstitched_name((enum csp_unstitched)i));
        line(name, all->unstitched[i], all->samples, out);
    }
}

static const char *const clocks[] = {
    "none: the order alone",
    "that of the AUX records",
    "the trace's, fitted to the samples' clock",
    "the trace's, in the samples' clock",
};

static void text_evidence(const struct csp_recording_trust *trust, struct csp_buf *out)
{
    const struct csp_stitch_stats *stitch = &trust->samples.stitch;
    if (!stitch->pauses)
        return;
    csp_buf_printf(out, "\ntime that was used          %s\n", clocks[stitch->clock.time]);
    if (stitch->clock.pairs)
        csp_buf_printf(out,
                       "sample behind window end    %lld ns (%lld … %lld, at most %lld believed)\n",
                       (long long)stitch->clock.lag_median, (long long)stitch->clock.lag_min,
                       (long long)stitch->clock.lag_max, (long long)stitch->clock.lag_limit);
    line("begin at the resume's PC", stitch->start_agrees, csp_trust_stitched(&trust->all), out);
    line("call stacks repaired", stitch->made.repaired_by_history + stitch->made.repaired_by_lr,
         stitch->pauses, out);
}

static uint64_t quantile(const struct csp_recording_trust *trust, unsigned per_cent)
{
    return trust->lengths.len ? trust->lengths.data[(trust->lengths.len - 1) * per_cent / 100] : 0;
}

static double mean_length(const struct csp_recording_trust *trust)
{
    double sum = 0;
    for (size_t i = 0; i < trust->lengths.len; i++)
        sum += (double)trust->lengths.data[i];
    return trust->lengths.len ? sum / (double)trust->lengths.len : 0;
}

static void text_windows(const struct csp_recording_trust *trust, struct csp_buf *out)
{
    const struct csp_window_plan *plan = &trust->plan;
    if (!trust->windows)
        return;
    csp_buf_printf(out, "\n%-26s %10llu\n", "windows", (unsigned long long)trust->windows);
    line("  without a sample", trust->samples.stitch.windows_alone, trust->windows, out);
    line("  cut short", trust->cut_windows, trust->windows, out);
    csp_buf_printf(out,
                   "instructions in a window    %.0f on average; a tenth below %llu, half "
                   "below %llu, nine tenths below %llu\n",
                   mean_length(trust), (unsigned long long)quantile(trust, 10),
                   (unsigned long long)quantile(trust, 50),
                   (unsigned long long)quantile(trust, 90));
    if (trust->duty > 0)
        csp_buf_printf(out, "trace unit on                 %.3f%% of the time, draining included\n",
                       100 * trust->duty);
    if (plan->staggered)
        csp_buf_printf(out, "planned, user-stagger       windows of one length every %llu cycles\n",
                       (unsigned long long)plan->resume_period);
    else if (plan->resume_period)
        csp_buf_printf(out, "planned, %-18s %.0f cycles every %llu: %.3f%% of the time\n",
                       plan->free_running ? "free-running" : "pulse", plan->length,
                       (unsigned long long)plan->resume_period, 100 * plan->duty);
}

static void text_program(const struct csp_recording_trust *trust, struct csp_buf *out)
{
    if (!trust->binary)
        return;
    csp_buf_printf(out, "\nof %s\n", trust->binary);
    line("contradictory samples", trust->checks.rejected, trust->checks.checked, out);
    for (int i = 0; i < CSP_RULE_COUNT; i++) {
        char name[40];
        if (!trust->checks.broken[i])
            continue;
        snprintf(name, sizeof name, "  %s%s", csp_sample_rule_names[i],
                 trust->rules & 1U << i ? "" : " (allowed)");
        line(name, trust->checks.broken[i], trust->checks.checked, out);
    }
    line("in functions with histories", trust->covered.count, trust->covered.of, out);
    csp_buf_printf(out,
                   "%-26s %10llu functions have 90%% of the samples; of %llu of them no "
                   "history tells\n",
                   "hot code", (unsigned long long)trust->hot_functions,
                   (unsigned long long)trust->hot_not_covered);
    csp_buf_printf(out, "%-26s %10.1f counts of each place in the hot functions\n", "density",
                   trust->density);
    csp_buf_printf(out, "%-26s %10.3f for each byte of code\n", "taken branches",
                   trust->branches_per_byte);
}

static void text_rows(const char *title, const csp_trust_rows *rows, size_t most,
                      struct csp_buf *out)
{
    if (!rows->len)
        return;
    csp_buf_printf(out, "\n   samples  with a history              exact  %s\n", title);
    for (size_t i = 0; i < rows->len && i < most; i++) {
        const struct csp_trust_row *row = &rows->data[i];
        struct csp_rate rate = csp_rate_of(csp_trust_stitched(row), row->samples);
        size_t before = out->len + 10;
        csp_buf_printf(out, "%10llu  ", (unsigned long long)row->samples);
        csp_rate_text(&rate, out);
        csp_buf_printf(out, "%*s%6.2f%%  %s\n", (int)(before + 27 - out->len), "",
                       row->samples
                           ? 100 * (double)row->verdicts[CSP_VERDICT_EXACT] / (double)row->samples
                           : 0,
                       row->name);
    }
    if (rows->len > most)
        csp_buf_printf(out, "and %zu more (--top, --json)\n", rows->len - most);
}

void csp_recording_trust_text(const struct csp_recording_trust *trust, size_t most,
                              struct csp_buf *out)
{
    text_verdicts(trust, out);
    text_evidence(trust, out);
    text_windows(trust, out);
    text_program(trust, out);
    text_rows("thread", &trust->threads, most, out);
    text_rows("file", &trust->files, most, out);
    text_rows("function", &trust->functions, most, out);
}

static void json_row(const char *key, const struct csp_trust_row *row, struct csp_json *json)
{
    struct csp_rate rate = csp_rate_of(csp_trust_stitched(row), row->samples);
    csp_json_object(json, key);
    if (row->name)
        csp_json_string(json, "name", row->name);
    csp_json_number(json, "samples", row->samples);
    csp_rate_json("stitched", &rate, json);
    for (int i = 0; i < CSP_VERDICT_COUNT; i++)
        if (i != CSP_VERDICT_NONE)
            csp_json_number(json, csp_verdict_name((enum csp_verdict)i), row->verdicts[i]);
    csp_json_object(json, "unstitched_reasons");
    for (int i = CSP_UNSTITCHED_NOT + 1; i < CSP_UNSTITCHED_COUNT; i++)
        csp_json_number(json, csp_unstitched_name((enum csp_unstitched)i), row->unstitched[i]);
    csp_json_end(json);
    csp_json_end(json);
}

static void json_rows(const char *key, const csp_trust_rows *rows, struct csp_json *json)
{
    csp_json_array(json, key);
    for (size_t i = 0; i < rows->len; i++)
        json_row(NULL, &rows->data[i], json);
    csp_json_end(json);
}

static void json_windows(const struct csp_recording_trust *trust, struct csp_json *json)
{
    csp_json_object(json, "windows");
    csp_json_number(json, "number", trust->windows);
    csp_json_number(json, "without_sample", trust->samples.stitch.windows_alone);
    csp_json_number(json, "cut", trust->cut_windows);
    csp_json_real(json, "mean_instructions", mean_length(trust));
    csp_json_number(json, "instructions_10", quantile(trust, 10));
    csp_json_number(json, "instructions_50", quantile(trust, 50));
    csp_json_number(json, "instructions_90", quantile(trust, 90));
    csp_json_real(json, "duty", trust->duty);
    csp_json_real(json, "planned_cycles", trust->plan.length);
    csp_json_real(json, "planned_duty", trust->plan.duty);
    csp_json_bool(json, "free_running", trust->plan.free_running);
    csp_json_bool(json, "staggered", trust->plan.staggered);
    csp_json_end(json);
}

static void json_program(const struct csp_recording_trust *trust, struct csp_json *json)
{
    struct csp_rate bogus = csp_trust_bogus(trust);
    csp_json_string(json, "binary", trust->binary);
    csp_rate_json("bogus", &bogus, json);
    csp_json_object(json, "broken_rules");
    for (int i = 0; i < CSP_RULE_COUNT; i++)
        csp_json_number(json, csp_sample_rule_names[i], trust->checks.broken[i]);
    csp_json_end(json);
    csp_rate_json("covered", &trust->covered, json);
    csp_json_number(json, "hot_functions", trust->hot_functions);
    csp_json_number(json, "hot_functions_not_covered", trust->hot_not_covered);
    csp_json_real(json, "density", trust->density);
    csp_json_real(json, "branches_per_byte", trust->branches_per_byte);
}

void csp_recording_trust_json(const struct csp_recording_trust *trust, struct csp_json *json)
{
    const struct csp_stitch_stats *stitch = &trust->samples.stitch;
    csp_json_string(json, "recording", trust->recording);
    csp_json_number(json, "lost_samples", trust->samples.lost);
    csp_json_number(json, "malformed_samples", trust->samples.malformed);
    json_row("all", &trust->all, json);
    csp_json_string(json, "clock", clocks[stitch->clock.time]);
    csp_json_signed(json, "lag_ns", stitch->clock.lag_median);
    csp_json_signed(json, "lag_limit_ns", stitch->clock.lag_limit);
    csp_json_number(json, "begin_at_resume_pc", stitch->start_agrees);
    csp_json_number(json, "repaired_by_history", stitch->made.repaired_by_history);
    csp_json_number(json, "repaired_by_lr", stitch->made.repaired_by_lr);
    json_windows(trust, json);
    if (trust->binary)
        json_program(trust, json);
    json_rows("threads", &trust->threads, json);
    json_rows("files", &trust->files, json);
    json_rows("functions", &trust->functions, json);
}
