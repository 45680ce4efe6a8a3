/* csprof decode: trace to ranges, branch stacks and packets. */
#include "cli/decode_report.h"

#include "base/counted.h"
#include "base/parse.h"
#include "base/progress.h"

#include <string.h>
#include <time.h>

static const struct {
    const char *name;
    enum csp_decode_format format;
} formats[] = {
    {"script", CSP_DECODE_SCRIPT},   {"samples", CSP_DECODE_SAMPLES},
    {"preagg", CSP_DECODE_PREAGG},   {"perfdata", CSP_DECODE_PERFDATA},
    {"packets", CSP_DECODE_PACKETS}, {"ranges", CSP_DECODE_RANGES},
    {"none", CSP_DECODE_NONE},
};

static const struct {
    const char *name;
    csp_engine_create_fn *create;
} engines[] = {{"native", csp_engine_create_native},
               {"opencsd", csp_engine_create_opencsd},
               {"both", csp_engine_create_both}};

enum { FORMATS = sizeof formats / sizeof *formats, ENGINES = sizeof engines / sizeof *engines };

enum { DEFAULT_PERIOD = 1000 /* instructions */ };

static int take_format(struct decode *decode, const char *name)
{
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(formats[i].name, name) != 0)
            continue;
        decode->output.format = formats[i].format;
        return 0;
    }
    return csp_cli_usage(decode->cli, "there is no format '%s'", name);
}

static int take_engine(struct decode *decode, const char *name)
{
    for (int i = 0; i < ENGINES; i++) {
        if (strcmp(engines[i].name, name) != 0)
            continue;
        decode->engine = engines[i].create;
        return 0;
    }
    return csp_cli_usage(decode->cli, "there is no engine '%s'", name);
}

static int take_period(struct decode *decode, const char *value)
{
    if (csp_parse_count(value, &decode->period) && decode->period)
        return 0;
    return csp_cli_usage(decode->cli, "--period takes a number of instructions, not '%s'", value);
}

static int take_stacks(struct decode *decode, const char *value)
{
    decode->recorded_stacks = !strcmp(value, "recorded");
    if (decode->recorded_stacks || !strcmp(value, "repaired"))
        return 0;
    return csp_cli_usage(decode->cli, "--stacks takes repaired or recorded, not '%s'", value);
}

static int take_option(struct decode *decode, const char *option, const char *value)
{
    if (!strcmp(option, "-i"))
        decode->input = value;
    else if (!strcmp(option, "--snapshot"))
        decode->snapshot_path = value;
    else if (!strcmp(option, "-o"))
        decode->output_path = value;
    else if (!strcmp(option, "--symfs"))
        decode->symfs = value;
    else if (!strcmp(option, "--code"))
        csp_vec_push(&decode->code, value);
    else if (!strcmp(option, "--format"))
        return take_format(decode, value);
    else if (!strcmp(option, "--period"))
        return take_period(decode, value);
    else if (!strcmp(option, "--stacks"))
        return take_stacks(decode, value);
    else
        return take_engine(decode, value);
    return 0;
}

static int take_options(struct decode *decode, int argc, char **argv)
{
    static const char *const known[] = {"-i",       "--snapshot", "-o",       "--symfs", "--code",
                                        "--format", "--engine",   "--period", "--stacks"};
    for (int i = 1; i < argc; i += 2) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= !strcmp(argv[i], known[k]);
        if (!found)
            return csp_cli_unexpected(decode->cli, argv[i], CSP_CLI_GIVEN_BY_I);
        if (i + 1 == argc)
            return csp_cli_usage(decode->cli, "%s needs a value", argv[i]);
        int error = take_option(decode, argv[i], argv[i + 1]);
        if (error)
            return error;
    }
    if (decode->input && decode->snapshot_path)
        return csp_cli_usage(decode->cli, "-i and --snapshot exclude each other");
    bool packets = decode->output.format == CSP_DECODE_PACKETS;
    bool perfdata = decode->output.format == CSP_DECODE_PERFDATA;
    if (perfdata && decode->snapshot_path)
        return csp_cli_usage(decode->cli,
                             "--format perfdata is for recordings: a snapshot has no samples");
    if (perfdata && (!decode->output_path || !strcmp(decode->output_path, "-")))
        return csp_cli_usage(decode->cli, "--format perfdata needs a file to write: -o FILE");
    const char *input = decode->input ? decode->input : CSP_CLI_RECORDING;
    int code = decode->output_path ? csp_cli_check_output(decode->cli, decode->output_path, true)
                                   : CSP_EXIT_DONE;
    if (!code && decode->output_path && !decode->snapshot_path)
        code = csp_cli_check_input(decode->cli, decode->output_path, input);
    if (!code && !decode->input && !decode->snapshot_path)
        code = csp_cli_require_default(decode->cli);
    if (code)
        return code;
    if (!decode->engine)
        decode->engine = packets ? csp_engine_create_opencsd : csp_engine_create_native;
    if (packets && decode->engine != csp_engine_create_opencsd)
        return csp_cli_usage(decode->cli, "--format packets needs --engine opencsd");
    return 0;
}

static int open_input(struct decode *decode)
{
    struct csp_diag *diag = &decode->cli->diag;
    if (decode->snapshot_path) {
        int error = csp_snapshot_open(&decode->snapshot, decode->snapshot_path, diag);
        if (!error)
            decode->trace = csp_snapshot_trace(decode->snapshot);
        return error;
    }
    struct csp_image_options images = {
        .symfs = decode->symfs, .code = decode->code.data, .code_count = decode->code.len};
    const char *path = decode->input ? decode->input : CSP_CLI_RECORDING;
    int error = csp_recording_open(&decode->recording, path, &images, decode->cli->threads, diag);
    if (!error)
        error = csp_recording_require_trace(decode->recording, diag);
    if (error)
        return error;
    decode->trace = csp_recording_trace(decode->recording);
    decode->output.recording = decode->recording;
    decode->output.by_sample = csp_recording_has_samples(decode->recording);
    return 0;
}

static int decode_streams(struct decode *decode, struct csp_progress *progress)
{
    struct csp_trace_consumer consumer = csp_decode_output_consumer(&decode->output);
    bool packets = decode->output.format == CSP_DECODE_PACKETS;
    struct csp_trace_decode_options options = {
        .create = decode->engine,
        .threads = decode->cli->threads,
        .sums_up = !consumer.part && !consumer.print,
        .started = packets ? csp_decode_output_started : NULL,
        .consumer = &consumer,
        .progress = progress,
    };
    return csp_trace_decode(decode->trace, &options, &decode->stats, &decode->cli->diag);
}

static int decode_samples(struct decode *decode, struct csp_progress *progress)
{
    struct csp_trace_consumer consumer = csp_decode_output_consumer(&decode->output);
    enum csp_decode_format format = decode->output.format;
    bool print = format == CSP_DECODE_SAMPLES || format == CSP_DECODE_SCRIPT;
    bool cut = format == CSP_DECODE_SAMPLES || format == CSP_DECODE_PERFDATA;
    struct csp_recording_samples_options options = {
        .create = decode->engine,
        .threads = decode->cli->threads,
        .sample = decode->perfdata ? csp_perfdata_output_sample : NULL,
        .print = print ? csp_decode_output_print : NULL,
        .text = csp_decode_output_text,
        .all_stats = decode->cli->json,
        .user = decode->perfdata ? (void *)decode->perfdata : &decode->output,
        .tee = &consumer,
        .started = format == CSP_DECODE_PACKETS ? csp_decode_output_started : NULL,
        .progress = progress,
        .period = cut ? decode->period : 0,
        .recorded_stacks = decode->recorded_stacks,
    };
    int error =
        csp_recording_samples(decode->recording, &options, &decode->samples, &decode->cli->diag);
    decode->stats = decode->samples.trace;
    return error;
}

static int decode_all(struct decode *decode)
{
    struct csp_progress progress;
    decode->output.count_distinct = decode->cli->json;
    csp_progress_begin(&progress, "decoding", 0, decode->cli->quiet);
    int error =
        decode->recording ? decode_samples(decode, &progress) : decode_streams(decode, &progress);
    csp_progress_end(&progress);
    return error;
}

/* An empty result has a reason, which is told; so has code that was not followed. */
static int judge(struct decode *decode)
{
    bool nothing = !decode->stats.windows.ranges;
    struct csp_diag *diag = &decode->cli->diag;
    if (!decode->trace->streams.len)
        return 0;
    if (decode->recording)
        return csp_recording_report_missing(decode->recording, decode->stats.windows.ranges, diag);
    if (nothing)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: nothing was decoded: the trace goes through no code of the snapshot",
                        decode->snapshot_path);
    if (decode->stats.windows.unmapped_ranges)
        csp_warn(diag, "%s: trace went %s where the snapshot has no code", decode->snapshot_path,
                 CSP_COUNTED(decode->stats.windows.unmapped_ranges, "time"));
    return 0;
}

/* What was decoded is a file of its own shape: the output is only its place and its name. */
static int open_perfdata(struct decode *decode)
{
    if (decode->output.format != CSP_DECODE_PERFDATA)
        return 0;
    if (!decode->file.temporary)
        return csp_fail(&decode->cli->diag, CSP_ERR_USAGE,
                        "%s: --format perfdata writes files only, no devices or pipes",
                        decode->output_path);
    return csp_perfdata_output_open(&decode->perfdata, decode->file.temporary, decode->recording,
                                    &decode->cli->diag);
}

static int close_perfdata(struct decode *decode)
{
    if (!decode->perfdata)
        return 0;
    int error = csp_perfdata_output_close(decode->perfdata, &decode->written, &decode->cli->diag);
    decode->perfdata = NULL;
    return error;
}

static int write_output(struct decode *decode)
{
    struct csp_diag *diag = &decode->cli->diag;
    int error = 0;
    if (decode->output_path || !decode->cli->json)
        error =
            csp_output_open(&decode->file, decode->output_path ? decode->output_path : "-", diag);
    decode->output.stream = decode->file.stream;
    if (!error)
        error = open_perfdata(decode);
    if (error)
        return error;
    csp_decode_output_begin(&decode->output);
    error = decode_all(decode);
    if (!error)
        error = judge(decode);
    if (error)
        return error;
    csp_decode_output_end(&decode->output);
    error = close_perfdata(decode);
    if (error)
        return error;
    bool nothing = !decode->trace->streams.len;
    return decode->file.stream && !nothing ? csp_output_commit(&decode->file, diag) : 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void release(struct decode *decode)
{
    close_perfdata(decode);
    csp_output_abort(&decode->file);
    csp_decode_output_free(&decode->output);
    csp_snapshot_close(decode->snapshot);
    csp_recording_close(decode->recording);
    csp_vec_free(&decode->code);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct decode decode = {.cli = cli, .period = DEFAULT_PERIOD};
    double began = now();
    int code = take_options(&decode, argc, argv);
    if (!code) {
        int error = open_input(&decode);
        if (!error)
            error = write_output(&decode);
        if (!error && cli->json)
            csp_decode_print_json(&decode, now() - began);
        else if (!error && decode.trace->streams.len)
            csp_decode_print_summary(&decode);
        code = (int)csp_error_exit(error);
    }
    release(&decode);
    return code;
}

const struct csp_command csp_command_decode = {
    .name = "decode",
    .summary = "turn trace into ranges, branch stacks or packets",
    .usage =
        "usage: csprof decode [-i FILE | --snapshot DIR] [options]\n"
        "\n"
        "Decodes the ETMv4 or ETE trace of a recording (perf.data, whoever wrote it) or of a\n"
        "CoreSight snapshot.\n"
        "\n"
        "  -i FILE          the recording; csprof.data when neither -i nor --snapshot is given\n"
        "  --snapshot DIR   a folder with snapshot.ini, trace buffers and memory dumps\n"
        "  --symfs DIR      look for the files that were mapped below DIR: by path, by name, by\n"
        "                   build-id; not at their own paths\n"
        "  --code PATH=FILE take FILE for what was mapped as PATH (or whose name is PATH), "
        "whatever\n"
        "                   its build-id; may be repeated\n"
        "  --engine native  csprof's own (the default)\n"
        "           opencsd OpenCSD's full decoder, the reference; also follows 32-bit code\n"
        "           both    both, compared element by element; the first difference is a failure\n"
        "  --format script  mappings, then each stitched sample (of a recording without samples:\n"
        "                   each run) with its callchain and branch stack, newest branch first,\n"
        "                   as perf script prints it and llvm-profgen reads it (the default)\n"
        "           samples a line `TIME PID/TID CPU VERDICT FRAME... | ..END FROM>TO... START..`\n"
        "                   per pause sample, stitched or not; of a recording without any, "
        "samples\n"
        "                   are cut from the trace and their call stacks followed along it\n"
        "           perfdata the same as a perf.data file with branch stacks, for perf report,\n"
        "                   perf2bolt -p, create_llvm_prof; needs -o\n"
        "           preagg  counted branches and fall-throughs, for perf2bolt -pa\n"
        "           ranges  a line `start end instructions kind` per range: hexadecimal, end\n"
        "                   exclusive; kind of the last instruction, not-taken for a branch that\n"
        "                   was not, none if it is no branch\n"
        "           packets a line `offset source text` per packet\n"
        "           none    nothing but the statistics\n"
        "  --period N       where samples are cut from trace: one every N instructions (1000),\n"
        "                   and one at each gap\n"
        "  --stacks repaired|recorded\n"
        "                   whether frames that the kernel's walk missed are put into callchains\n"
        "                   (the default) or not\n"
        "  --threads N      decode on so many processors at once (all there are); the output is "
        "the\n"
        "                   same\n"
        "  -o FILE          write there instead of to standard output; with --json nothing is\n"
        "                   written without it\n"
        "  --json           statistics as one JSON object on standard output\n"
        "\n"
        "A file of which the build-id is known is used only if it has that build-id. Without\n"
        "--symfs, perf's cache (~/.debug) is searched before the path itself. Code that is "
        "missing\n"
        "is named once, with how often the trace went there; what follows it is decoded from the\n"
        "next address in the trace on.\n"
        "\n"
        "Exit codes: 0 done; 1 failed, or the engines differ; 2 usage; 3 unusable input: no\n"
        "recording, no trace, or not enough of the code that ran was found; 4 environment;\n"
        "75 try again.\n",
    .run = run,
};
