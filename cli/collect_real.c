/* csprof collect on this machine's own counters and trace units. */
#include "cli/collect_options.h"

#include "base/counted.h"
#include "collect/host.h"

#include <signal.h>
#include <string.h>

/* What is in the way of the next better strategy: after a colon that says what the chosen one
 * gives. */
static char *why_not_better(const struct csp_collect *collect,
                            const struct csp_assessment *assessment)
{
    bool cpus = collect->system_wide && !collect->session.cgroup;
    for (int i = (int)collect->strategy - 1; i >= 0; i--) {
        const struct csp_strategy_verdict *verdict = &assessment->of[i];
        if (verdict->lacks.len && (cpus || i != CSP_STRATEGY_USER_STAGGER))
            return csp_asprintf("; %s would be better, but %s",
                                csp_strategy_name((enum csp_strategy)i),
                                verdict->lacks.data[0].what);
    }
    return csp_strdup("");
}

/* The strategy, and why; or why not. */
static int choose_strategy(struct csp_collect *collect, const struct csp_target *target,
                           const struct csp_assessment *assessment)
{
    struct csp_diag *diag = &collect->cli->diag;
    if (collect->resume_at) {
        collect->strategy = CSP_STRATEGY_TRACEPOINT;
    } else if (collect->automatic) {
        if (!csp_assessment_has_branches(assessment))
            return csp_host_explain(target, assessment, diag);
        collect->strategy = collect->system_wide && !collect->session.cgroup
                                ? assessment->best_of_cpus
                                : assessment->best;
        char *better = why_not_better(collect, assessment);
        csp_note(diag, "strategy %s: %s%s", csp_strategy_name(collect->strategy),
                 assessment->of[collect->strategy].gives, better);
        free(better);
    }
    const struct csp_strategy_verdict *verdict = &assessment->of[collect->strategy];
    for (size_t i = 0; i < verdict->lacks.len; i++)
        csp_warn(diag, "%s; to mend it: %s", verdict->lacks.data[i].what,
                 verdict->lacks.data[i].fix);
    for (size_t i = 0; i < verdict->cautions.len && !collect->dry_run; i++)
        csp_note(diag, "%s", verdict->cautions.data[i]);
    return 0;
}

static int make_plan(const struct csp_collect *collect, const struct csp_target *target,
                     struct csp_plan *plan)
{
    struct csp_diag *diag = &collect->cli->diag;
    struct csp_plan_request request;
    csp_plan_request_default(&request, target, collect->strategy);
    request.window = collect->window;
    request.period = collect->period;
    if (collect->samples > 0)
        request.samples_per_second = collect->samples;
    if (collect->overhead > 0)
        request.overhead = collect->overhead;
    int error = 0;
    if (collect->resume_at)
        error = csp_tracepoint_find(&request.resume_at, target->root, collect->resume_at, diag);
    if (!error && collect->pause_at)
        error = csp_tracepoint_find(&request.pause_at, target->root, collect->pause_at, diag);
    if (!error)
        csp_plan_make(plan, &request);
    return error;
}

static void print_plan(const struct csp_collect *collect, const struct csp_target *target,
                       const struct csp_plan *plan)
{
    struct csp_buf out = {0}, perf = {0};
    struct csp_json json = {.out = &out};
    csp_plan_perf(plan, target, collect->session.compression, (const char *const *)collect->command,
                  &perf);
    if (collect->cli->json) {
        if (perf.len)
            perf.data[perf.len - 1] = '\0';
        csp_json_object(&json, NULL);
        csp_plan_json(plan, &json);
        if (perf.len)
            csp_json_string(&json, "perf", perf.data);
        else
            csp_json_null(&json, "perf");
        csp_json_end(&json);
    } else {
        csp_plan_text(plan, &out);
        csp_buf_add_char(&out, '\n');
        csp_plan_draw(plan, &out);
        if (perf.len)
            csp_buf_printf(&out, "\nthe same with perf:\n  %s", perf.data);
        else
            csp_buf_add_string(&out, "\nperf cannot do the same: it does not set events off "
                                     "against each other\n");
    }
    csp_cli_print(&out);
    csp_buf_free(&perf);
}

#define COUNT(value) (unsigned long long)(value)

void csp_collect_warn_of_loss(struct csp_diag *diag, const struct csp_session_result *result)
{
    const struct csp_ring_totals *totals = &result->totals;
    if (totals->lost_records || totals->lost_samples)
        csp_warn(diag,
                 "the kernel dropped %s and %s because the rings were full; "
                 "raise --buffer or lower --samples",
                 CSP_COUNTED(totals->lost_records, "record"),
                 CSP_COUNTED(totals->lost_samples, "sample"));
    if (totals->throttled)
        csp_warn(diag,
                 "the kernel throttled sampling %s; lower --samples, or raise "
                 "kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent",
                 CSP_COUNTED(totals->throttled, "time"));
    if (totals->aux_truncated || totals->aux_collisions)
        csp_warn(diag,
                 "trace was lost %s because its ring was full, %s by collision; "
                 "raise --trace-buffer",
                 CSP_COUNTED(totals->aux_truncated, "time"),
                 CSP_COUNTED(totals->aux_collisions, "time"));
    if (totals->restarts)
        csp_warn(diag,
                 "tracing stopped %s because a ring of trace was full, and went on when it had "
                 "been emptied: there are no windows of the time between; raise --trace-buffer",
                 CSP_COUNTED(totals->restarts, "time"));
    if (totals->torn)
        csp_warn(diag, "the kernel's ring made no sense %s; its contents were dropped",
                 CSP_COUNTED(totals->torn, "time"));
    if (result->unscheduled)
        csp_warn(diag,
                 "%u of the event groups did not run all the time: somebody else uses the "
                 "counters or the trace unit",
                 result->unscheduled);
    if (result->bad_phases)
        csp_warn(diag,
                 "on %u of %s another program ran while the counters were set off against each "
                 "other: windows last up to %s there; record again when less is to do",
                 result->bad_phases, CSP_COUNTED(result->rings, "CPU"),
                 CSP_COUNTED(result->most_phase, "cycle"));
    if (result->not_readable)
        csp_warn(diag, "the mappings of %s may not be seen: their samples have no binary",
                 CSP_COUNTED(result->not_readable, "process"));
}

void csp_collect_json(const struct csp_collect *collect, const struct csp_session_result *result,
                      struct csp_json *json)
{
    static const char *const stops[] = {"ended", "signal",      "duration",
                                        "size",  "write error", "enough"};
    const struct csp_ring_totals *totals = &result->totals;
    csp_json_string(json, "output", collect->output);
    csp_json_object(json, "plan");
    csp_plan_json(collect->session.plan, json);
    csp_json_end(json);
    csp_json_string(json, "stopped_by", stops[result->stop]);
    csp_json_number(json, "exit_code", (uint64_t)result->exit_code);
    csp_json_real(json, "seconds", result->seconds);
    csp_json_real(json, "own_cpu_seconds", result->own_seconds);
    csp_json_number(json, "bytes", result->bytes);
    csp_json_number(json, "compression_level", (uint64_t)collect->session.compression);
    csp_json_number(json, "record_bytes_before_compression", result->plain_bytes);
    csp_json_number(json, "record_bytes_compressed", result->packed_bytes);
    csp_json_number(json, "files", result->files);
    csp_json_bool(json, "became_user", result->became_user);
    csp_json_number(json, "rings", result->rings);
    csp_json_number(json, "events", result->events);
    csp_json_number(json, "threads_attached", result->threads);
    csp_json_number(json, "samples", totals->samples);
    csp_json_number(json, "records", totals->records);
    csp_json_number(json, "lost_records", totals->lost_records);
    csp_json_number(json, "lost_samples", totals->lost_samples);
    csp_json_number(json, "throttled", totals->throttled);
    csp_json_number(json, "aux_records", totals->aux_records);
    csp_json_number(json, "aux_bytes", totals->aux_bytes);
    csp_json_number(json, "aux_truncated", totals->aux_truncated);
    csp_json_number(json, "aux_partial", totals->aux_partial);
    csp_json_number(json, "aux_collisions", totals->aux_collisions);
    csp_json_number(json, "trace_restarts", totals->restarts);
    csp_json_number(json, "torn", totals->torn);
    csp_json_number(json, "trace_units", result->trace_units_seen);
    csp_json_number(json, "unscheduled", result->unscheduled);
    csp_json_number(json, "least_phase", result->least_phase);
    csp_json_number(json, "most_phase", result->most_phase);
}

static void print_json(const struct csp_collect *collect, const struct csp_session_result *result)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_collect_json(collect, result, &json);
    csp_json_end(&json);
    csp_cli_print(&out);
}

int csp_collect_quality(struct csp_diag *diag, const struct csp_session_result *result)
{
    const struct csp_ring_totals *totals = &result->totals;
    if (result->exit_code > 128)
        csp_warn(diag, "the program was killed by signal %d (%s)", result->exit_code - 128,
                 strsignal(result->exit_code - 128));
    if (totals->samples || totals->aux_bytes || result->exit_code)
        return result->exit_code;
    csp_warn(diag, "not a single sample: nothing ran in user space for as long as a period; record "
                   "for longer, or raise --samples");
    return CSP_EXIT_QUALITY;
}

int csp_collect_run_session(struct csp_collect *collect, struct csp_session_result *result)
{
    struct csp_session_options *options = &collect->session;
    options->output = collect->output;
    options->command = collect->command[0] ? collect->command : NULL;
    options->cpus = collect->cpus.cpus.len ? &collect->cpus : NULL;
    options->recorder_command = collect->recorder_command;
    options->output_to_stderr = collect->cli->json;
    options->program = collect->binary;
    struct csp_user user;
    if (csp_sudo_user(&user))
        options->user = &user;
    return csp_session_run(options, result, &collect->cli->diag);
}

static int record(struct csp_collect *collect)
{
    struct csp_diag *diag = &collect->cli->diag;
    struct csp_session_result result;
    int error = csp_collect_run_session(collect, &result);
    if (error)
        return csp_error_exit(error);
    csp_collect_warn_of_loss(diag, &result);
    char *files = collect->session.keep_files
                      ? csp_asprintf("%s.%u and those before it", collect->output, result.files)
                      : csp_strdup(collect->output);
    char *packed =
        result.plain_bytes
            ? csp_asprintf("; records were compressed from %llu to %llu kB",
                           COUNT(result.plain_bytes / 1000), COUNT(result.packed_bytes / 1000))
            : csp_strdup("");
    csp_note(diag, "%s: %s, %llu kB of trace, %llu kB in %.1f s%s", files,
             CSP_COUNTED(result.totals.samples, "sample"), COUNT(result.totals.aux_bytes / 1000),
             COUNT(result.bytes / 1000), result.seconds, packed);
    free(packed);
    free(files);
    if (collect->cli->json)
        print_json(collect, &result);
    return csp_collect_quality(diag, &result);
}

int csp_collect_with_plan(struct csp_collect *collect, csp_collect_record_fn *how)
{
    struct csp_target target;
    struct csp_assessment assessment;
    struct csp_plan plan;
    csp_target_read(&target, collect->sysfs ? collect->sysfs : "");
    if (collect->pulse)
        target.trace.pulse = collect->pulse;
    csp_assess(&assessment, &target);
    int code = csp_error_exit(choose_strategy(collect, &target, &assessment));
    if (!code)
        code = csp_error_exit(make_plan(collect, &target, &plan));
    if (!code && plan.phase && collect->session.cgroup)
        code = csp_cli_usage(collect->cli,
                             "user-stagger goes not with -G: its counters stand still while csprof "
                             "itself runs, which is not in the group");
    if (!code) {
        collect->session.target = &target;
        collect->session.plan = &plan;
        if (collect->dry_run)
            print_plan(collect, &target, &plan);
        else
            code = how(collect);
    }
    csp_assessment_free(&assessment);
    csp_target_free(&target);
    return code;
}

int csp_collect_real(struct csp_collect *collect)
{
    return csp_collect_with_plan(collect, record);
}
