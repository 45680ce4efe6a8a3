/* csprof decode: trace to text. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/progress.h"
#include "decode/snapshot.h"
#include "decode/text_output.h"
#include "decode/trace/opencsd_engine.h"

#include <string.h>
#include <time.h>

enum format { RANGES, PACKETS, NONE };

static const struct {
    const char *name;
    enum format format;
} formats[] = {{"ranges", RANGES}, {"packets", PACKETS}, {"none", NONE}};

static const struct {
    const char *name;
    csp_engine_create_fn *create;
} engines[] = {{"native", csp_engine_create_native}, {"opencsd", csp_engine_create_opencsd}};

enum { FORMATS = sizeof formats / sizeof *formats, ENGINES = sizeof engines / sizeof *engines };

enum { FLUSH_AT = 1 << 20 };

struct decode {
    struct csp_cli *cli;
    const char *input, *snapshot, *output_path;
    enum format format;
    csp_engine_create_fn *engine;
    struct csp_output output;
    struct csp_buf text; /* not yet in the output */
    uint64_t packets;
    struct csp_trace_stats stats;
};

static void write_text(struct decode *decode)
{
    if (decode->text.len && decode->output.stream)
        fwrite(decode->text.data, 1, decode->text.len, decode->output.stream);
    decode->text.len = 0;
}

static int on_elements(void *user, const struct csp_element *elements, size_t count)
{
    struct decode *decode = user;
    for (size_t i = 0; i < count; i++)
        if (elements[i].type == CSP_ELEMENT_RANGE)
            csp_text_range(&decode->text, &elements[i]);
    if (decode->text.len >= FLUSH_AT)
        write_text(decode);
    return 0;
}

static void on_packet(void *user, uint64_t offset, uint8_t source, const char *text)
{
    struct decode *decode = user;
    csp_buf_printf(&decode->text, "%llu %02x %s\n", (unsigned long long)offset, source, text);
    if (decode->text.len >= FLUSH_AT)
        write_text(decode);
}

static void on_engine(void *user, struct csp_engine *engine)
{
    struct decode *decode = user;
    if (decode->format == PACKETS)
        csp_engine_opencsd_print_packets(engine, on_packet, decode);
}

static int decode_input(struct decode *decode, const struct csp_trace_input *input)
{
    struct csp_trace_consumer consumer = {.user = decode};
    if (decode->format == RANGES)
        consumer.elements = on_elements;
    for (uint32_t i = 0; i < input->streams.len; i++) {
        int error = csp_trace_decode(input, i, decode->engine, &consumer, on_engine, &decode->stats,
                                     &decode->cli->diag);
        if (error)
            return error;
    }
    write_text(decode);
    return 0;
}

static void print_json(const struct decode *decode, const struct csp_trace_input *input,
                       double seconds)
{
    const struct csp_window_stats *windows = &decode->stats.windows;
    const struct csp_engine_stats *engine = &decode->stats.engine;
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_number(&json, "trace_bytes", engine->bytes);
    csp_json_number(&json, "sources", input->sources.len);
    csp_json_number(&json, "windows", windows->windows);
    csp_json_number(&json, "runs", windows->runs);
    csp_json_number(&json, "ranges", windows->ranges);
    csp_json_number(&json, "instructions", windows->instructions);
    csp_json_number(&json, "branches", windows->branches);
    csp_json_number(&json, "unmapped_ranges", windows->unmapped_ranges);
    csp_json_number(&json, "discontinuities", windows->discontinuities);
    csp_json_number(&json, "exceptions", windows->exceptions);
    csp_json_number(&json, "bad_packets", engine->bad_packets);
    csp_json_number(&json, "lost_bytes", engine->lost_bytes);
    csp_json_real(&json, "seconds", seconds);
    csp_json_end(&json);
    fwrite(out.data, 1, out.len, stdout);
    csp_buf_free(&out);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int parse_options(struct decode *decode, int argc, char **argv)
{
    struct csp_cli *cli = decode->cli;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        static const char *const known[] = {"-i", "--snapshot", "-o", "--format", "--engine"};
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= !strcmp(option, known[k]);
        if (!found)
            return csp_cli_usage(cli, "unknown option '%s'", option);
        if (!value)
            return csp_cli_usage(cli, "%s needs a value", option);
        i++;
        if (!strcmp(option, "-i"))
            decode->input = value;
        else if (!strcmp(option, "--snapshot"))
            decode->snapshot = value;
        else if (!strcmp(option, "-o"))
            decode->output_path = value;
        else if (!strcmp(option, "--format")) {
            size_t k = 0;
            while (k < FORMATS && strcmp(formats[k].name, value) != 0)
                k++;
            if (k == FORMATS)
                return csp_cli_usage(cli, "unknown format '%s'", value);
            decode->format = formats[k].format;
        } else {
            size_t k = 0;
            while (k < ENGINES && strcmp(engines[k].name, value) != 0)
                k++;
            if (k == ENGINES)
                return csp_cli_usage(cli, "unknown engine '%s'", value);
            decode->engine = engines[k].create;
        }
    }
    return 0;
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct decode decode = {.cli = cli, .engine = csp_engine_create_opencsd};
    int error = parse_options(&decode, argc, argv);
    if (error)
        return error;
    struct csp_snapshot *snapshot = NULL;
    double began = now();
    error = csp_snapshot_open(&snapshot, decode.snapshot, &cli->diag);
    if (error)
        return csp_error_exit(error);
    if (decode.output_path || !cli->json)
        error = csp_output_open(&decode.output, decode.output_path ? decode.output_path : "-",
                                &cli->diag);
    if (!error)
        error = decode_input(&decode, csp_snapshot_trace(snapshot));
    if (!error && decode.output.stream)
        error = csp_output_commit(&decode.output, &cli->diag);
    if (!error && cli->json)
        print_json(&decode, csp_snapshot_trace(snapshot), now() - began);
    csp_output_abort(&decode.output);
    csp_snapshot_close(snapshot);
    csp_buf_free(&decode.text);
    return csp_error_exit(error);
}

const struct csp_command csp_command_decode = {
    .name = "decode",
    .summary = "turn trace into ranges, branch stacks and samples",
    .usage = "",
    .run = run,
};
