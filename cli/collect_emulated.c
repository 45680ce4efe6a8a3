/* csprof collect --emulate: what the emulator did, in words and JSON. */
#include "base/counted.h"
#include "cli/collect_options.h"

#include <string.h>
#include <unistd.h>

static void warn_of_gaps(struct csp_diag *diag, const struct csp_emulate_result *result)
{
    const struct csp_emulated_recording *recording = &result->recording;
    const struct csp_journal_totals *totals = &recording->totals;
    if (result->signal)
        csp_warn(diag, "the program was killed by signal %d (%s); the recording goes up to there",
                 result->signal, strsignal(result->signal));
    else if (!recording->complete)
        csp_warn(diag, "the emulator ended early; the recording goes up to there");
    if (recording->cut_off)
        csp_warn(diag, "%s at the end of the journal, no whole record, %s dropped",
                 CSP_COUNTED(recording->cut_off, "byte"),
                 csp_by_count(recording->cut_off, "was", "were"));
    if (totals->execs)
        csp_warn(diag, "the program replaced itself by execve and left the emulator: what came "
                       "after is not recorded; name the new program instead");
    if (totals->forks)
        csp_warn(diag, "%s %s not recorded", CSP_COUNTED(totals->forks, "forked process"),
                 csp_by_count(totals->forks, "was", "were"));
    if (totals->untraced_threads)
        csp_warn(diag, "%s %s not traced: more than %d ran at the same time",
                 CSP_COUNTED(totals->untraced_threads, "thread"),
                 csp_by_count(totals->untraced_threads, "was", "were"), CSP_EMULATE_CPUS);
    if (totals->unexplained)
        csp_warn(diag, "%s %s neither a branch nor a signal; the trace has a gap at each",
                 CSP_COUNTED(totals->unexplained, "jump"),
                 csp_by_count(totals->unexplained, "was", "were"));
    if (totals->frame_pointers_wrong)
        csp_warn(diag, "the emulator's idea of x29 was wrong %s of %llu: callchains may be, too",
                 CSP_COUNTED(totals->frame_pointers_wrong, "time"),
                 (unsigned long long)totals->frame_pointers);
    if (!recording->pause_samples)
        csp_warn(diag,
                 "not a single sample: the program ran only %s; run it longer, or "
                 "give a smaller --period or --window",
                 CSP_COUNTED(totals->instructions, "instruction"));
}

static void print_json(const struct csp_collect *collect, const struct csp_emulate_result *result)
{
    const struct csp_emulated_recording *recording = &result->recording;
    const struct csp_journal_totals *totals = &recording->totals;
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_string(&json, "output", collect->emulation.output);
    csp_json_number(&json, "exit_code", (uint64_t)result->exit_code);
    csp_json_number(&json, "signal", (uint64_t)result->signal);
    csp_json_bool(&json, "complete", recording->complete);
    csp_json_number(&json, "instructions", totals->instructions);
    csp_json_number(&json, "threads", recording->threads);
    csp_json_number(&json, "windows", totals->windows);
    csp_json_number(&json, "unsampled_windows", totals->unsampled_windows);
    csp_json_number(&json, "pause_samples", recording->pause_samples);
    csp_json_number(&json, "resume_samples", recording->resume_samples);
    csp_json_number(&json, "trace_bytes", totals->trace_bytes);
    csp_json_number(&json, "aux_bytes", recording->aux_bytes);
    csp_json_number(&json, "signals", totals->signals);
    csp_json_number(&json, "system_calls_in_windows", totals->system_calls_in_windows);
    csp_json_number(&json, "frame_pointers_checked", totals->frame_pointers);
    csp_json_number(&json, "frame_pointers_wrong", totals->frame_pointers_wrong);
    csp_json_number(&json, "forks", totals->forks);
    csp_json_number(&json, "execs", totals->execs);
    csp_json_number(&json, "untraced_threads", totals->untraced_threads);
    csp_json_number(&json, "unexplained", totals->unexplained);
    csp_json_end(&json);
    csp_cli_print(&out);
}

/* Debian has AArch64 libraries in two packages: libc6:arm64, at its usual place, and
 * libc6-arm64-cross. With a sysroot, a program would get the loader of the second and the libc of
 * the first, which need not fit. */
static const char *default_sysroot(void)
{
    static const char cross[] = "/usr/aarch64-linux-gnu";
    bool native = access("/lib/ld-linux-aarch64.so.1", R_OK) == 0;
    return !native && access(cross, X_OK) == 0 ? cross : NULL;
}

/* What the emulator counted is told at the program's end, which a killed one does not reach. */
static void print_summary(struct csp_diag *diag, const char *output,
                          const struct csp_emulated_recording *recording)
{
    const struct csp_journal_totals *totals = &recording->totals;
    bool many = totals->instructions >= 10000000;
    struct csp_buf text = {0};
    csp_buf_printf(&text, "%s: ", output);
    if (recording->complete)
        csp_buf_printf(&text,
                       "%s and %s from %llu %s instructions in %s, "
                       "%llu kB of trace",
                       CSP_COUNTED(totals->windows, "window"),
                       CSP_COUNTED(recording->pause_samples, "sample"),
                       (unsigned long long)(totals->instructions / (many ? 1000000 : 1000)),
                       many ? "million" : "thousand", CSP_COUNTED(recording->threads, "thread"),
                       (unsigned long long)(totals->trace_bytes / 1000));
    else
        csp_buf_printf(&text, "%s in %s", CSP_COUNTED(recording->pause_samples, "sample"),
                       CSP_COUNTED(recording->threads, "thread"));
    if (recording->pause_samples)
        csp_buf_printf(&text, "; next: csprof gen -i %s", output);
    csp_note(diag, "%s", text.data);
    csp_buf_free(&text);
}

int csp_collect_emulated(struct csp_collect *collect)
{
    struct csp_emulate_options *options = &collect->emulation;
    options->output = collect->output;
    options->command = collect->command;
    struct csp_emulate_result result;
    struct csp_diag *diag = &collect->cli->diag;
    if (!options->sysroot)
        options->sysroot = default_sysroot();
    options->recorder_command = collect->recorder_command;
    options->output_to_stderr = collect->cli->json;
    int error = csp_emulate_run(options, &result, diag);
    if (error)
        return csp_error_exit(error);
    const struct csp_emulated_recording *recording = &result.recording;
    warn_of_gaps(diag, &result);
    print_summary(diag, options->output, recording);
    if (collect->cli->json)
        print_json(collect, &result);
    if (!recording->pause_samples && !result.exit_code)
        return CSP_EXIT_QUALITY;
    return result.exit_code;
}
