/* csprof bundle: what is needed to make a profile elsewhere. */
#include "base/counted.h"
#include "base/file.h"
#include "cache/store.h"
#include "cli/cli.h"
#include "profgen/bundle.h"
#include "profgen/recording_input.h"

#include <stdlib.h>
#include <string.h>

struct bundle {
    struct csp_cli *cli;
    const char *output_path, *binary_path, *symfs;
    CSP_VEC(const char *) inputs;
    CSP_VEC(struct csp_recording *) recordings; /* null: an aggregate */
    bool scrub;
    struct csp_store *store;
    uint64_t bytes;
};

static int parse(struct bundle *bundle, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char **value =
            !strcmp(argv[i], "-o") || !strcmp(argv[i], "--output")   ? &bundle->output_path
            : !strcmp(argv[i], "-b") || !strcmp(argv[i], "--binary") ? &bundle->binary_path
            : !strcmp(argv[i], "--symfs")                            ? &bundle->symfs
                                                                     : NULL;
        if (value && i + 1 == argc)
            return csp_cli_usage(bundle->cli, "%s needs a value", argv[i]);
        if (value)
            *value = argv[++i];
        else if (!strcmp(argv[i], "--scrub"))
            bundle->scrub = true;
        else if (argv[i][0] == '-')
            return csp_cli_unexpected(bundle->cli, argv[i], NULL);
        else
            csp_vec_push(&bundle->inputs, argv[i]);
    }
    if (!bundle->output_path || !bundle->inputs.len)
        return csp_cli_usage(bundle->cli, "it takes -o FILE and the recordings or aggregates");
    int code = csp_cli_check_output(bundle->cli, bundle->output_path, false);
    for (size_t i = 0; i < bundle->inputs.len && !code; i++)
        code = csp_cli_check_input(bundle->cli, bundle->output_path, bundle->inputs.data[i]);
    return code ? code : csp_cli_check_input(bundle->cli, bundle->output_path, bundle->binary_path);
}

static int open_inputs(struct bundle *bundle)
{
    struct csp_diag *diag = &bundle->cli->diag;
    const struct csp_image_options images = {.symfs = bundle->symfs,
                                             .program = bundle->binary_path,
                                             .store = bundle->store,
                                             .store_given = true};
    struct csp_recording *first = NULL;
    int error = 0;
    for (size_t i = 0; i < bundle->inputs.len && !error; i++) {
        struct csp_recording *recording = NULL;
        if (!csp_aggregate_is(bundle->inputs.data[i]))
            error = csp_recording_open(&recording, bundle->inputs.data[i], &images,
                                       bundle->cli->threads, diag);
        csp_vec_push(&bundle->recordings, recording);
        first = first ? first : recording;
    }
    if (error || bundle->binary_path)
        return error;
    if (!first)
        return csp_fail(diag, CSP_ERR_USAGE, "aggregates need the binary too: name it with -b");
    return csp_recording_main_program(first, &bundle->binary_path, diag);
}

/* An aggregate of the recording: it has no host, command line, path or address of a process. */
static int aggregate_of(struct bundle *bundle, struct csp_recording *recording,
                        struct csp_buf *bytes)
{
    struct csp_diag *diag = &bundle->cli->diag;
    struct csp_profgen gen;
    struct csp_aggregate aggregate = {0};
    struct csp_profgen_options options = csp_profgen_defaults();
    const struct csp_recording_how how = {.engine = csp_engine_create_native,
                                          .threads = bundle->cli->threads};
    options.binary_path = bundle->binary_path;
    options.aggregate = options.digests = true;
    options.store = bundle->store;
    int error = csp_profgen_open_for(&gen, &options, recording, diag);
    if (!error)
        error = csp_recording_aggregate(&gen, recording, &how, &aggregate, diag);
    if (!error)
        csp_aggregate_write(&aggregate, NULL, bytes);
    csp_aggregate_free(&aggregate);
    csp_profgen_close(&gen);
    return error;
}

static int add_input(struct bundle *bundle, struct csp_archive_writer *writer, size_t number)
{
    struct csp_recording *recording = bundle->recordings.data[number];
    struct csp_file file = {0};
    struct csp_buf bytes = {0};
    char name[32];
    snprintf(name, sizeof name, "input/%zu", number);
    if (recording && bundle->scrub) {
        int error = aggregate_of(bundle, recording, &bytes);
        if (!error)
            csp_archive_add(writer, name, bytes.data, bytes.len);
        csp_buf_free(&bytes);
        return error;
    }
    int error = csp_file_map(&file, bundle->inputs.data[number], &bundle->cli->diag);
    if (error)
        return error;
    csp_archive_add(writer, name, file.data, file.size);
    csp_file_unmap(&file);
    if (recording)
        csp_bundle_files(writer, recording, bundle->binary_path, bundle->scrub);
    return 0;
}

static int add_program(struct bundle *bundle, struct csp_archive_writer *writer)
{
    struct csp_file file;
    struct csp_buf copy = {0};
    char name[CSP_ARCHIVE_NAME];
    int error = csp_file_map(&file, bundle->binary_path, &bundle->cli->diag);
    if (error)
        return error;
    snprintf(name, sizeof name, "program/%.80s", csp_file_name(bundle->binary_path));
    if (csp_bundle_binary(file.data, file.size, true, bundle->scrub, &copy))
        csp_archive_add(writer, name, copy.data, copy.len);
    else
        error = csp_fail(&bundle->cli->diag, CSP_ERR_INPUT,
                         "%s is no ELF file with section headers", bundle->binary_path);
    csp_buf_free(&copy);
    csp_file_unmap(&file);
    return error;
}

static int write_bundle(struct bundle *bundle)
{
    struct csp_output output = {0};
    int error = csp_output_open(&output, bundle->output_path, &bundle->cli->diag);
    if (error)
        return error;
    struct csp_archive_writer *writer = csp_archive_begin(output.stream);
    error = add_program(bundle, writer);
    for (size_t i = 0; i < bundle->inputs.len && !error; i++)
        error = add_input(bundle, writer, i);
    csp_archive_end(writer);
    long end = ftell(output.stream);
    bundle->bytes = end < 0 ? 0 : (uint64_t)end;
    if (!error)
        return csp_output_commit(&output, &bundle->cli->diag);
    csp_output_abort(&output);
    return error;
}

static void print_summary(const struct bundle *bundle)
{
    struct csp_buf text = {0};
    struct csp_json json = {.out = &text};
    if (!bundle->cli->json) {
        csp_note(&bundle->cli->diag, "%s: %s with %s, %s", bundle->output_path,
                 CSP_COUNTED(bundle->inputs.len, "input"), bundle->binary_path,
                 CSP_COUNTED(bundle->bytes, "byte"));
        return;
    }
    csp_json_object(&json, NULL);
    csp_json_number(&json, "inputs", bundle->inputs.len);
    csp_json_string(&json, "binary", bundle->binary_path);
    csp_json_bool(&json, "scrubbed", bundle->scrub);
    csp_json_number(&json, "bytes", bundle->bytes);
    csp_json_string(&json, "output", bundle->output_path);
    csp_json_end(&json);
    csp_cli_print(&text);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct bundle bundle = {.cli = cli};
    int code = parse(&bundle, argc, argv);
    if (code == CSP_EXIT_DONE) {
        bundle.store = csp_store_open_usual(&cli->diag);
        int error = open_inputs(&bundle);
        if (!error)
            error = write_bundle(&bundle);
        if (!error)
            print_summary(&bundle);
        code = (int)csp_error_exit(error);
    }
    for (size_t i = 0; i < bundle.recordings.len; i++)
        if (bundle.recordings.data[i])
            csp_recording_close(bundle.recordings.data[i]);
    csp_store_close(bundle.store);
    csp_vec_free(&bundle.recordings);
    csp_vec_free(&bundle.inputs);
    return code;
}

const struct csp_command csp_command_bundle = {
    .name = "bundle",
    .summary = CSP_BUNDLE_SUMMARY,
    .usage =
        "usage: csprof bundle -o FILE [options] INPUT...\n"
        "\n"
        "Puts recordings or aggregates into one file, with what is needed of the binaries, to be\n"
        "handed over: `csprof gen -i FILE` elsewhere makes the profile that it would have made\n"
        "here. The file is what `tar --zstd -tvf FILE` lists. Of binaries it has headers, code\n"
        "and unwind tables, and of the profiled one symbols, pseudo-probes and debug\n"
        "information; there are zeroes in place of data and everything else.\n"
        "\n"
        "  -o, --output FILE   where to write\n"
        "  -b, --binary FILE   the profiled binary, by default the one that most of the first\n"
        "                      recording's samples were taken in\n"
        "  --symfs DIR         where the recordings' files are, instead of at their own paths\n"
        "  --scrub             hand over aggregates instead of recordings, which have the host's\n"
        "                      name, the command line, paths and addresses of processes; and no\n"
        "                      names with a slash of the binary's strings, which are paths of\n"
        "                      sources (file names in line tables before DWARF 5 stay)\n"
        "\n"
        "exit codes: 0 done; 1 failed; 2 usage; 3 unusable input; 4 environment; 75 try again.\n",
    .run = run,
};
