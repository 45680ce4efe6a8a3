/* csprof merge: aggregates and recordings into one aggregate. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/progress.h"
#include "cache/store.h"
#include "cli/cli.h"
#include "cli/merge_builds.h"
#include "profgen/aggregate_parts.h"
#include "profgen/recording_input.h"
#include "profgen/resume.h"
#include "profgen/runs.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL_MEMORY = 256 << 20 };

struct input {
    const char *path;
    uint64_t weight;
    bool is_aggregate; /* or a recording; known once all are parsed */
};

struct merge {
    struct csp_cli *cli;
    const char *output_path, *binary_path, *symfs;
    CSP_VEC(struct input) inputs;
    struct csp_arena listed; /* names of inputs that stood in a list */
    bool duplicates, weighted, resume, across;
    CSP_VEC(const char *) binaries; /* all of -b */
    uint64_t memory;
    struct csp_store *store;
    struct csp_profgen gen; /* for recordings */
    bool opened;
    struct csp_runs runs;
    struct csp_aggregate all;
    struct csp_aggregate_written written;
};

/* Reads "N,FILE". */
static bool parse_weighted(const char *text, struct input *input)
{
    const char *comma = strchr(text, ',');
    if (!comma || !comma[1])
        return false;
    char *number = csp_strndup(text, (size_t)(comma - text));
    bool is_count = csp_parse_count(number, &input->weight) && input->weight;
    free(number);
    input->path = comma + 1;
    return is_count;
}

static int parse_option(struct merge *merge, const char *name, const char *value)
{
    struct input input = {0};
    if (!strcmp(name, "-o") || !strcmp(name, "--output"))
        merge->output_path = value;
    else if (!strcmp(name, "-b") || !strcmp(name, "--binary"))
        csp_vec_push(&merge->binaries, value);
    else if (!strcmp(name, "--symfs"))
        merge->symfs = value;
    else if (!strcmp(name, "--memory") && csp_parse_count(value, &merge->memory))
        return CSP_EXIT_DONE;
    else if (!strcmp(name, "--weighted-input") && parse_weighted(value, &input)) {
        merge->weighted = true;
        csp_vec_push(&merge->inputs, input);
    } else
        return csp_cli_usage(merge->cli, "%s cannot be '%s'", name, value);
    return CSP_EXIT_DONE;
}

static bool takes_value(const char *name)
{
    static const char *const names[] = {"-o",       "--output",        "-b", "--binary", "--symfs",
                                        "--memory", "--weighted-input"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static int add_list(struct merge *merge, const char *path);

static int parse(struct merge *merge, int argc, char **argv)
{
    int code = CSP_EXIT_DONE;
    for (int i = 1; i < argc && code == CSP_EXIT_DONE; i++) {
        if (takes_value(argv[i])) {
            if (i + 1 == argc)
                return csp_cli_usage(merge->cli, "%s needs a value", argv[i]);
            code = parse_option(merge, argv[i], argv[i + 1]);
            i++;
        } else if (!strcmp(argv[i], "--allow-duplicates")) {
            merge->duplicates = true;
        } else if (!strcmp(argv[i], "--across-builds")) {
            merge->across = true;
        } else if (!strcmp(argv[i], "--resume")) {
            merge->resume = true;
        } else if (argv[i][0] == '@') {
            code = add_list(merge, argv[i] + 1);
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return csp_cli_unexpected(merge->cli, argv[i], NULL);
        } else {
            csp_vec_push(&merge->inputs, (struct input){argv[i], 1, false});
        }
    }
    if (code == CSP_EXIT_DONE && (!merge->output_path || !merge->inputs.len))
        return csp_cli_usage(merge->cli, "it takes -o FILE and what to merge");
    for (size_t i = 0; code == CSP_EXIT_DONE && i < merge->inputs.len; i++) {
        struct input *input = &merge->inputs.data[i];
        input->is_aggregate = csp_aggregate_is(input->path);
        if (!input->is_aggregate)
            code = csp_cli_check_input(merge->cli, merge->output_path, input->path);
    }
    if (code == CSP_EXIT_DONE)
        code = csp_cli_check_output(merge->cli, merge->output_path, false);
    for (size_t i = 0; code == CSP_EXIT_DONE && i < merge->binaries.len; i++)
        code = csp_cli_check_input(merge->cli, merge->output_path, merge->binaries.data[i]);
    if (code == CSP_EXIT_DONE && merge->resume && (merge->duplicates || merge->weighted))
        return csp_cli_usage(merge->cli, "--resume cannot tell what was weighted, or is there "
                                         "twice");
    return code;
}

static const char *keep_name(struct merge *merge, const char *name, size_t length)
{
    char *kept = csp_arena_alloc(&merge->listed, length + 1);
    memcpy(kept, name, length);
    kept[length] = '\0';
    return kept;
}

/* A file with a name on each line. */
static int add_list(struct merge *merge, const char *path)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, &merge->cli->diag);
    if (error)
        return (int)csp_error_exit(error);
    const char *at = (const char *)file.data, *end = at + file.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        if (length)
            csp_vec_push(&merge->inputs, (struct input){keep_name(merge, at, length), 1, false});
        at += length + 1;
    }
    csp_file_unmap(&file);
    return CSP_EXIT_DONE;
}

/* The binary that recordings are looked through for: the one named, or the first one's own. */
static int open_program(struct merge *merge, struct csp_recording *recording)
{
    struct csp_diag *diag = &merge->cli->diag;
    struct csp_profgen_options options = csp_profgen_defaults();
    int error = 0;
    options.binary_path = merge->binary_path;
    options.aggregate = options.digests = true;
    options.duplicates = merge->duplicates;
    options.store = merge->store;
    options.threads = merge->cli->threads;
    if (!options.binary_path)
        error = csp_recording_main_program(recording, &options.binary_path, diag);
    merge->opened = !error;
    return error ? error : csp_profgen_open_for(&merge->gen, &options, recording, diag);
}

static int add_recording(struct merge *merge, const struct input *input,
                         struct csp_recording *recording)
{
    struct csp_diag *diag = &merge->cli->diag;
    struct csp_aggregate aggregate = {0};
    struct csp_progress progress;
    const struct csp_aggregate_how add = {input->weight, merge->duplicates};
    const struct csp_recording_how how = {
        .engine = csp_engine_create_native, .threads = merge->cli->threads, .progress = &progress};
    int error = merge->opened ? 0 : open_program(merge, recording);
    if (error)
        return error;
    csp_progress_begin(&progress, "decoding", 0, merge->cli->quiet);
    error = csp_recording_aggregate(&merge->gen, recording, &how, &aggregate, diag);
    csp_progress_end(&progress);
    if (!error)
        error = csp_aggregate_merge(&merge->all, &aggregate, input->path, &add, diag);
    csp_aggregate_free(&aggregate);
    return error;
}

static int add_input(struct merge *merge, const struct input *input)
{
    struct csp_diag *diag = &merge->cli->diag;
    const struct csp_aggregate_how how = {input->weight, merge->duplicates};
    const struct csp_image_options images = {.symfs = merge->symfs,
                                             .program = merge->binary_path,
                                             .store = merge->store,
                                             .store_given = true};
    struct csp_recording *recording = NULL;
    if (input->is_aggregate)
        return csp_aggregate_read(&merge->all, input->path, &how, diag);
    if (!merge->store)
        merge->store = csp_store_open_usual(diag);
    int error = csp_recording_open(&recording, input->path, &images, merge->cli->threads, diag);
    if (error == -CSP_ERR_INPUT)
        csp_note(diag, "what can be merged are recordings, and aggregates of them (csprof gen "
                       "--format aggregate)");
    if (!error)
        error = add_recording(merge, input, recording);
    if (recording)
        csp_recording_close(recording);
    return error;
}

static int relieve(struct merge *merge)
{
    return csp_runs_relieve(&merge->runs, &merge->all.set, csp_aggregate_beside(&merge->all),
                            &merge->cli->diag);
}

static void show_progress(void *user, size_t done)
{
    csp_progress_at(user, done);
}

/* The aggregates at the head of the list, by all threads; `read` tells which. */
static void merge_parts(struct merge *merge, struct csp_progress *progress, bool *read)
{
    CSP_VEC(struct csp_aggregate_input) inputs = {0};
    for (size_t i = 0; i < merge->inputs.len && merge->inputs.data[i].is_aggregate; i++)
        csp_vec_push(&inputs, (struct csp_aggregate_input){merge->inputs.data[i].path,
                                                           merge->inputs.data[i].weight});
    const struct csp_aggregate_parts parts = {
        .inputs = inputs.data,
        .count = inputs.len,
        .threads = merge->cli->threads,
        .duplicates = merge->duplicates,
        .memory = merge->runs.memory,
        .progress = show_progress,
        .user = progress,
    };
    csp_aggregate_read_parts(&merge->all, &parts, read);
    csp_vec_free(&inputs);
}

static int merge_all(struct merge *merge)
{
    struct csp_progress progress;
    bool *read = csp_calloc(merge->inputs.len, sizeof *read);
    csp_progress_begin(&progress, "merging", merge->inputs.len, merge->cli->quiet);
    merge_parts(merge, &progress, read);
    int error = relieve(merge);
    for (size_t i = 0; i < merge->inputs.len && !error; i++) {
        if (read[i])
            continue;
        error = add_input(merge, &merge->inputs.data[i]);
        if (!error)
            error = relieve(merge);
        csp_progress_at(&progress, i + 1);
    }
    csp_progress_end(&progress);
    free(read);
    return error;
}

static int write_output(struct merge *merge)
{
    struct csp_diag *diag = &merge->cli->diag;
    struct csp_output output = {0};
    int error = csp_output_open(&output, merge->output_path, diag);
    if (!error)
        error = csp_aggregate_write_runs(&merge->all, &merge->runs, output.stream, &merge->written,
                                         diag);
    if (!error) {
        csp_sample_set_warn(&merge->all.set, diag);
        return csp_output_commit(&output, diag);
    }
    csp_output_abort(&output);
    return error;
}

static void print_summary(const struct merge *merge)
{
    const struct csp_aggregate *all = &merge->all;
    if (!merge->cli->json) {
        csp_note(&merge->cli->diag, "%s: %llu distinct of %s of %s, %s, %s", merge->output_path,
                 (unsigned long long)merge->written.samples,
                 CSP_COUNTED(all->set.stats.used, "sample"), all->name,
                 CSP_COUNTED(all->inputs.len, "input"), CSP_COUNTED(merge->written.bytes, "byte"));
        return;
    }
    struct csp_buf text = {0};
    struct csp_json json = {.out = &text};
    char build_id[41];
    csp_build_id_text(&all->build_id, build_id);
    csp_json_object(&json, NULL);
    csp_json_string(&json, "binary", all->name);
    csp_json_string(&json, "build_id", build_id);
    csp_json_number(&json, "inputs", all->inputs.len);
    csp_json_number(&json, "samples", all->set.stats.samples);
    csp_json_number(&json, "used", all->set.stats.used);
    csp_json_number(&json, "distinct_samples", merge->written.samples);
    csp_json_number(&json, "saturated_counts", all->set.saturated);
    csp_json_number(&json, "runs_put_aside", merge->runs.files.len);
    csp_json_number(&json, "bytes", merge->written.bytes);
    csp_json_string(&json, "output", merge->output_path);
    csp_json_end(&json);
    csp_cli_print(&text);
}

static int check_binaries(struct merge *merge)
{
    size_t count = merge->binaries.len;
    bool only_aggregates = true;
    for (size_t i = 0; i < merge->inputs.len; i++)
        only_aggregates &= merge->inputs.data[i].is_aggregate;
    if (merge->across && (count < 2 || merge->weighted || merge->resume || !only_aggregates))
        return csp_cli_usage(merge->cli, "--across-builds takes aggregates and a -b for each "
                                         "build, first the one that the profile is for");
    if (!merge->across && count > 1)
        return csp_cli_usage(merge->cli, "several -b are for --across-builds");
    merge->binary_path = count ? merge->binaries.data[0] : NULL;
    return CSP_EXIT_DONE;
}

typedef CSP_VEC(const char *) names;

static names input_paths(const struct merge *merge)
{
    names paths = {0};
    for (size_t i = 0; i < merge->inputs.len; i++)
        csp_vec_push(&paths, merge->inputs.data[i].path);
    return paths;
}

static int across_builds(const struct merge *merge)
{
    names paths = input_paths(merge);
    int code = csp_merge_builds(&(struct csp_merge_builds){.cli = merge->cli,
                                                           .output_path = merge->output_path,
                                                           .binaries = merge->binaries.data,
                                                           .binary_count = merge->binaries.len,
                                                           .aggregates = paths.data,
                                                           .aggregate_count = paths.len,
                                                           .duplicates = merge->duplicates});
    csp_vec_free(&paths);
    return code;
}

static bool is_done(const struct merge *merge)
{
    names paths = input_paths(merge);
    bool done =
        csp_aggregate_is_done(merge->output_path, paths.data, paths.len, merge->binary_path);
    csp_vec_free(&paths);
    return done;
}

static void release(struct merge *merge)
{
    if (merge->opened)
        csp_profgen_close(&merge->gen);
    csp_runs_free(&merge->runs);
    csp_aggregate_free(&merge->all);
    csp_store_close(merge->store);
    csp_vec_free(&merge->binaries);
    csp_vec_free(&merge->inputs);
    csp_arena_free(&merge->listed);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct merge merge = {.cli = cli, .memory = USUAL_MEMORY, .all = csp_aggregate_empty()};
    int code = parse(&merge, argc, argv);
    merge.runs.memory = merge.memory;
    if (code == CSP_EXIT_DONE)
        code = check_binaries(&merge);
    if (code == CSP_EXIT_DONE && merge.across) {
        code = across_builds(&merge);
        release(&merge);
        return code;
    }
    bool done = code == CSP_EXIT_DONE && merge.resume && is_done(&merge);
    if (done)
        csp_cli_resumed(cli, merge.output_path);
    if (code == CSP_EXIT_DONE && !done) {
        int error = merge_all(&merge);
        if (!error)
            error = write_output(&merge);
        if (!error)
            print_summary(&merge);
        code = (int)csp_error_exit(error);
    }
    release(&merge);
    return code;
}

const struct csp_command csp_command_merge = {
    .name = "merge",
    .summary = CSP_MERGE_SUMMARY,
    .usage =
        "usage: csprof merge -o FILE [options] INPUT...\n"
        "\n"
        "Merges what recordings told of one binary. An input is an aggregate, as `csprof gen\n"
        "--format aggregate` and `csprof merge` write them, or a recording; @FILE is a list of\n"
        "them, one a line. `csprof gen -i FILE -b BINARY` then makes the profile of all. What is\n"
        "written does not depend on the order of the inputs, or on earlier merges.\n"
        "\n"
        "  -o, --output FILE   where to write\n"
        "  --allow-duplicates  count a recording twice that is in two of them; else that is an\n"
        "                      error\n"
        "  --weighted-input N,FILE\n"
        "                      an input of which each sample counts N times\n"
        "  --resume            leave the output as it is when it is there, whole, of the same\n"
        "                      recordings\n"
        "  --memory BYTES      how much the samples may take (256Mi); what does not fit is put\n"
        "                      aside in $TMPDIR\n"
        "  -b, --binary FILE   of recordings: the binary, by default the one that most of the\n"
        "                      first recording's samples were taken in\n"
        "  --symfs DIR         where the recordings' files are, instead of at their own paths\n"
        "  --across-builds     aggregates of several builds of a program into a profile (not an\n"
        "                      aggregate) for the one that the first -b names; a -b for each.\n"
        "                      Functions count by their probes where their control flow is the\n"
        "                      same in that build; what is left out is told\n"
        "\n"
        "exit codes: 0 done; 1 failed; 2 usage; 3 unusable input; 4 environment; 75 try again.\n",
    .run = run,
};
