/* csprof collect: runs a program and records it. */
#include "cli/cli.h"

#include "base/parse.h"
#include "collect/host.h"
#include "emulate/launch.h"
#include "emulate/pmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: csprof collect --emulate [options] -- PROGRAM [ARGUMENT...]\n"
    "\n"
    "Runs an AArch64 program under qemu-aarch64 with a virtual trace unit and records what it\n"
    "executes in short windows. Each window is opened by a cycle counter and closed, after WINDOW\n"
    "cycles, by a sample with the callchain of that moment. The result is an ordinary perf.data\n"
    "file: `csprof gen` makes a profile of it, perf 6.1 and later read it too. The program's "
    "input,\n"
    "output and arguments are untouched, and its exit code becomes that of csprof.\n"
    "\n"
    "  -o FILE                 where to write (csprof.data)\n"
    "  --emulate               record in the emulator; needs no Arm hardware\n"
    "  --window CYCLES         length of a window (1000); with --strategy free-running the period "
    "of\n"
    "                          the event that closes windows\n"
    "  --period CYCLES         a window opens every so many cycles (20011); one cycle is one\n"
    "                          instruction\n"
    "  --strategy NAME         pulse: the closing counter runs only while the trace unit does, so\n"
    "                          all windows are equally long (default); free-running: it always "
    "runs\n"
    "  --skid CYCLES           interrupts come 0 to CYCLES late, evenly distributed (40)\n"
    "  --protocol NAME         etmv4: CoreSight frames in an ETR, drained at each window "
    "(default);\n"
    "                          ete: a TRBE's raw bytes, many windows in one piece\n"
    "  --timestamp-interval N  nanoseconds between timestamps in the trace (1000); they take most "
    "of\n"
    "                          its bytes when they are dense\n"
    "  --emulate-granularity insn|block\n"
    "                          insn: windows begin and end at any instruction (default); block: "
    "at\n"
    "                          branch targets only, about twice as fast\n"
    "  --seed N                of the skid and of what is random in the program's start (1); the "
    "same\n"
    "                          seed gives the same windows\n"
    "  --truth FILE            write what really happened, for tests\n"
    "  --sysroot DIR           the program's libraries (/usr/aarch64-linux-gnu when this machine "
    "has\n"
    "                          none at their usual place)\n"
    "  --qemu PROGRAM          emulator to run (qemu-aarch64)\n"
    "\n"
    "Threads are recorded, each as on a processor of its own. Forked children run but are not\n"
    "recorded, and a program that replaces itself by execve leaves the emulator: both are counted\n"
    "and warned of. With --json the program's standard output goes to standard error.\n"
    "Exit codes: the program's own, 128 + N when signal N killed it; before it could run 2 "
    "(usage),\n"
    "3 (not an AArch64 program), 4 (QEMU or the plugin is missing), 75 (cannot write).\n";

struct collect {
    struct csp_cli *cli;
    bool emulate;
    struct csp_emulate_options options;
};

static bool parse_choice(const char *value, const char *const *names, uint32_t *choice)
{
    for (uint32_t i = 0; names[i]; i++)
        if (!strcmp(value, names[i])) {
            *choice = i;
            return true;
        }
    return false;
}

/* Counts beyond this would overflow the arithmetic of the virtual PMU. */
static bool parse_cycles(const char *value, uint64_t least, uint64_t *cycles)
{
    return csp_parse_count(value, cycles) && *cycles >= least && *cycles <= UINT64_C(1) << 48;
}

static int parse_option(struct collect *collect, const char *name, const char *value)
{
    static const char *const protocols[] = {"etmv4", "ete", NULL};
    static const char *const strategies[] = {"pulse", "free-running", NULL};
    static const char *const granularities[] = {"insn", "block", NULL};
    struct csp_emulate_options *options = &collect->options;
    struct csp_emulate_settings *settings = &options->settings;
    bool good = true;
    if (!strcmp(name, "-o"))
        options->output = value;
    else if (!strcmp(name, "--truth"))
        options->truth = value;
    else if (!strcmp(name, "--sysroot"))
        options->sysroot = value;
    else if (!strcmp(name, "--qemu"))
        options->qemu = value;
    else if (!strcmp(name, "--window"))
        good = parse_cycles(value, 1, &settings->window);
    else if (!strcmp(name, "--period"))
        good = parse_cycles(value, 1, &settings->period);
    else if (!strcmp(name, "--skid"))
        good = parse_cycles(value, 0, &settings->skid);
    else if (!strcmp(name, "--timestamp-interval"))
        good = parse_cycles(value, 0, &settings->timestamp_interval);
    else if (!strcmp(name, "--seed"))
        good = csp_parse_count(value, &settings->seed);
    else if (!strcmp(name, "--protocol"))
        good = parse_choice(value, protocols, &settings->protocol);
    else if (!strcmp(name, "--strategy"))
        good = parse_choice(value, strategies, &settings->strategy);
    else if (!strcmp(name, "--emulate-granularity"))
        good = parse_choice(value, granularities, &settings->whole_blocks);
    else
        return csp_cli_usage(collect->cli, "unknown option '%s'", name);
    return good ? 0 : csp_cli_usage(collect->cli, "%s: '%s' is not a value for it", name, value);
}

/* Options end at "--" or at the first word that is none: the program. */
static int parse_options(struct collect *collect, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (!strcmp(argv[i], "--emulate")) {
            collect->emulate = true;
            continue;
        }
        if (i + 1 == argc)
            return csp_cli_usage(collect->cli, "%s needs a value, or is unknown", argv[i]);
        int code = parse_option(collect, argv[i], argv[i + 1]);
        if (code)
            return code;
        i++;
    }
    collect->options.command = argv + i;
    return 0;
}

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
        csp_warn(diag, "%llu bytes at the end of the journal are no whole record and were dropped",
                 (unsigned long long)recording->cut_off);
    if (totals->execs)
        csp_warn(diag, "the program replaced itself by execve and left the emulator: what came "
                       "after is not recorded; name the new program instead");
    if (totals->forks)
        csp_warn(diag, "%llu forked children were not recorded", (unsigned long long)totals->forks);
    if (totals->untraced_threads)
        csp_warn(diag, "%llu threads were not traced: more than %d ran at the same time",
                 (unsigned long long)totals->untraced_threads, CSP_EMULATE_CPUS);
    if (totals->unexplained)
        csp_warn(diag, "%llu jumps were neither a branch nor a signal; the trace has a gap at each",
                 (unsigned long long)totals->unexplained);
    if (!recording->pause_samples)
        csp_warn(diag,
                 "no sample: the program ran only %llu instructions; run it longer, or give "
                 "a smaller --period",
                 (unsigned long long)totals->instructions);
}

static void print_json(const struct collect *collect, const struct csp_emulate_result *result)
{
    const struct csp_emulated_recording *recording = &result->recording;
    const struct csp_journal_totals *totals = &recording->totals;
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_string(&json, "output", collect->options.output);
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
    csp_json_number(&json, "forks", totals->forks);
    csp_json_number(&json, "execs", totals->execs);
    csp_json_number(&json, "untraced_threads", totals->untraced_threads);
    csp_json_number(&json, "unexplained", totals->unexplained);
    csp_json_end(&json);
    fwrite(out.data, 1, out.len, stdout);
    csp_buf_free(&out);
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

static int emulate(struct collect *collect, char **recorder_command)
{
    struct csp_emulate_options *options = &collect->options;
    struct csp_emulate_result result;
    struct csp_diag *diag = &collect->cli->diag;
    if (!options->sysroot)
        options->sysroot = default_sysroot();
    options->recorder_command = (const char *const *)recorder_command;
    options->output_to_stderr = collect->cli->json;
    int error = csp_emulate_run(options, &result, diag);
    if (error)
        return csp_error_exit(error);
    const struct csp_emulated_recording *recording = &result.recording;
    warn_of_gaps(diag, &result);
    csp_note(diag,
             "%s: %llu windows and %llu samples from %llu million instructions in %llu thread%s, "
             "%llu kB of trace; next: csprof gen -i %s",
             options->output, (unsigned long long)recording->totals.windows,
             (unsigned long long)recording->pause_samples,
             (unsigned long long)(recording->totals.instructions / 1000000),
             (unsigned long long)recording->threads, recording->threads == 1 ? "" : "s",
             (unsigned long long)(recording->totals.trace_bytes / 1000), options->output);
    if (collect->cli->json)
        print_json(collect, &result);
    return result.exit_code;
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct collect collect = {
        .cli = cli,
        .options =
            {
                .settings = {.window = 1000,
                             .period = 20011,
                             .skid = 40,
                             .timestamp_interval = 1000,
                             .seed = 1},
                .output = "csprof.data",
                .qemu = "qemu-aarch64",
            },
    };
    int code = parse_options(&collect, argc, argv);
    if (code)
        return code;
    if (!collect.emulate)
        return csp_error_exit(csp_host_explain("/sys", &cli->diag));
    if (!collect.options.command[0])
        return csp_cli_usage(cli, "no program to run was given");
    return emulate(&collect, argv);
}

const struct csp_command csp_command_collect = {
    .name = "collect",
    .summary = "record a program",
    .usage = usage,
    .run = run,
};
