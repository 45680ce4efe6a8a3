/* csprof merge: aggregates into one. */
#include "base/file.h"
#include "cli/cli.h"
#include "profgen/aggregate.h"

#include <string.h>

struct merge {
    struct csp_cli *cli;
    const char *output_path;
    CSP_VEC(const char *) inputs;
    bool duplicates;
};

static int parse(struct merge *merge, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") || !strcmp(argv[i], "--output")) {
            if (i + 1 == argc)
                return csp_cli_usage(merge->cli, "%s needs a value", argv[i]);
            merge->output_path = argv[++i];
        } else if (!strcmp(argv[i], "--allow-duplicates")) {
            merge->duplicates = true;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return csp_cli_usage(merge->cli, "unexpected argument '%s'", argv[i]);
        } else {
            csp_vec_push(&merge->inputs, argv[i]);
        }
    }
    if (!merge->output_path || !merge->inputs.len)
        return csp_cli_usage(merge->cli, "it takes -o FILE and the aggregates to merge");
    return CSP_EXIT_DONE;
}

static int merge_all(const struct merge *merge, struct csp_aggregate *all)
{
    struct csp_diag *diag = &merge->cli->diag;
    int error = 0;
    for (size_t i = 0; i < merge->inputs.len && !error; i++) {
        struct csp_aggregate one;
        error = csp_aggregate_read(&one, merge->inputs.data[i], diag);
        if (!error)
            error = csp_aggregate_merge(all, &one, merge->duplicates, merge->inputs.data[i], diag);
        csp_aggregate_free(&one);
    }
    return error;
}

static int write_output(const struct merge *merge, const struct csp_buf *bytes)
{
    struct csp_output output = {0};
    int error = csp_output_open(&output, merge->output_path, &merge->cli->diag);
    if (error)
        return error;
    fwrite(bytes->data, 1, bytes->len, output.stream);
    return csp_output_commit(&output, &merge->cli->diag);
}

static void print_summary(const struct merge *merge, const struct csp_aggregate *all, size_t bytes)
{
    const struct csp_sample_set *set = &all->set;
    if (!merge->cli->json) {
        csp_note(&merge->cli->diag, "%s: %zu distinct of %llu samples of %s, %zu inputs, %zu bytes",
                 merge->output_path, set->counts.len, (unsigned long long)set->stats.used,
                 all->name, all->inputs.len, bytes);
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
    csp_json_number(&json, "samples", set->stats.samples);
    csp_json_number(&json, "used", set->stats.used);
    csp_json_number(&json, "distinct_samples", set->counts.len);
    csp_json_number(&json, "bytes", bytes);
    csp_json_string(&json, "output", merge->output_path);
    csp_json_end(&json);
    fwrite(text.data, 1, text.len, stdout);
    csp_buf_free(&text);
}

static int run(struct csp_cli *cli, int argc, char **argv)
{
    struct merge merge = {.cli = cli};
    struct csp_aggregate all = {.set = {.contexts = true, .keep_all = true}};
    struct csp_buf bytes = {0};
    int code = parse(&merge, argc, argv);
    if (code == CSP_EXIT_DONE) {
        int error = merge_all(&merge, &all);
        if (!error) {
            csp_sample_set_warn(&all.set, &cli->diag);
            csp_aggregate_write(&all, &bytes);
            error = write_output(&merge, &bytes);
        }
        if (!error)
            print_summary(&merge, &all, bytes.len);
        code = (int)csp_error_exit(error);
    }
    csp_buf_free(&bytes);
    csp_aggregate_free(&all);
    csp_vec_free(&merge.inputs);
    return code;
}

const struct csp_command csp_command_merge = {
    .name = "merge",
    .summary = CSP_MERGE_SUMMARY,
    .usage =
        "usage: csprof merge -o FILE AGGREGATE...\n"
        "\n"
        "Merges aggregates of one binary, as `csprof gen --format aggregate` and `csprof merge` "
        "write\n"
        "them: `csprof gen --aggregate FILE -b BINARY` then makes the profile of all their inputs. "
        "What\n"
        "is written does not depend on the order of the aggregates, or of earlier merges.\n"
        "\n"
        "  -o, --output FILE   where to write\n"
        "  --allow-duplicates  count an input twice that is in two of them; else that is an error\n"
        "\n"
        "exit codes: 0 done; 1 failed; 2 usage; 3 unusable input; 75 try again.\n",
    .run = run,
};
