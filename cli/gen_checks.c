/* What options of csprof gen go together, and what its inputs are. */
#include "cli/gen_each.h"
#include "cli/gen_options.h"
#include "profgen/aggregate_input.h"

#include <string.h>
#include <sys/stat.h>

/* BOLT's inputs are flat counts of addresses. */
static int choose_bolt(struct gen *gen)
{
    struct csp_profgen_options *options = &gen->options;
    int format = (int)options->profile.format;
    if (format != CSP_FORMAT_PREAGG && format != CSP_FORMAT_FDATA)
        return CSP_EXIT_DONE;
    if (gen->unsymbolized.len || gen->profile_path || options->compat)
        return csp_cli_usage(gen->cli, "what BOLT reads is made of samples: -i, --perfscript, "
                                       "--aggregate, without --compat");
    options->bolt = format == CSP_FORMAT_PREAGG ? CSP_BOLT_PREAGG : CSP_BOLT_FDATA;
    options->mode = CSP_PROFGEN_FLAT;
    return CSP_EXIT_DONE;
}

/* Among the recordings there may be aggregates. */
static void sort_inputs(struct gen *gen)
{
    size_t kept = 0;
    for (size_t i = 0; i < gen->inputs.len; i++) {
        const char *path = gen->inputs.data[i];
        if (csp_aggregate_is(path))
            csp_vec_push(&gen->aggregates, path);
        else
            gen->inputs.data[kept++] = path;
    }
    gen->inputs.len = kept;
}

/* Takes the place of a bundle: what is in it. */
static int open_bundle(struct gen *gen)
{
    size_t found = gen->inputs.len;
    for (size_t i = 0; i < gen->inputs.len; i++)
        if (csp_archive_is(gen->inputs.data[i]))
            found = i;
    if (found == gen->inputs.len)
        return CSP_EXIT_DONE;
    if (gen->inputs.len > 1 || gen->symfs)
        return csp_cli_usage(gen->cli, "a bundle goes alone: make aggregates of it and of others, "
                                       "and merge those");
    int error = csp_bundle_open(&gen->bundle, gen->inputs.data[0], &gen->cli->diag);
    if (error)
        return (int)csp_error_exit(error);
    gen->inputs.len = 0;
    for (size_t i = 0; i < gen->bundle.inputs.len; i++)
        csp_vec_push(&gen->inputs, gen->bundle.inputs.data[i]);
    struct stat status;
    if (stat(gen->bundle.symfs, &status) == 0)
        gen->symfs = gen->bundle.symfs;
    if (!gen->options.binary_path)
        gen->options.binary_path = gen->bundle.program;
    return CSP_EXIT_DONE;
}

int csp_gen_check_output(const struct gen *gen)
{
    const char *output = gen->output_path;
    int format = (int)gen->options.profile.format;
    bool is_text = format == CSP_PROFILE_TEXT || format == CSP_FORMAT_PREAGG ||
                   format == CSP_FORMAT_FDATA || gen->options.skip_symbolization;
    int code = csp_gen_is_pattern(output) ? CSP_EXIT_DONE
                                          : csp_cli_check_output(gen->cli, output, is_text);
    for (size_t i = 0; i < gen->inputs.len && !code; i++)
        if (!csp_aggregate_is(gen->inputs.data[i])) /* may grow in its place */
            code = csp_cli_check_input(gen->cli, output, gen->inputs.data[i]);
    for (size_t i = 0; i < gen->scripts.len && !code; i++)
        code = csp_cli_check_input(gen->cli, output, gen->scripts.data[i]);
    return code ? code : csp_cli_check_input(gen->cli, output, gen->options.binary_path);
}

int csp_gen_check_options(struct gen *gen)
{
    int code = csp_gen_check_output(gen);
    if (code == CSP_EXIT_DONE)
        code = open_bundle(gen);
    if (code != CSP_EXIT_DONE)
        return code;
    sort_inputs(gen);
    struct csp_profgen_options *options = &gen->options;
    size_t samples = gen->inputs.len + gen->scripts.len + gen->aggregates.len;
    int kinds = (samples != 0) + (gen->unsymbolized.len != 0) + (gen->branch_lists.len != 0) +
                (gen->profile_path != NULL);
    if (kinds > 1)
        return csp_cli_usage(gen->cli, "samples (-i, --perfscript, --aggregate), --branch-list, "
                                       "--unsymbolized-profile and --llvm-sample-profile do not "
                                       "go together");
    if (gen->branch_lists.len &&
        (options->mode == CSP_PROFGEN_CONTEXTS || options->mode == CSP_PROFGEN_LINE_CONTEXTS))
        return csp_cli_usage(gen->cli, "a branch list tells of no contexts: its profile is flat");
    if (gen->data_access_path && samples && !gen->scripts.len)
        return csp_cli_usage(gen->cli, "--data-access-perftrace goes with --perfscript: that text "
                                       "tells where the program is mapped");
    options->aggregate = (int)options->profile.format == CSP_FORMAT_AGGREGATE;
    options->digests = options->aggregate || gen->aggregates.len || samples > 1;
    if (gen->resume && (!options->aggregate || options->duplicates))
        return csp_cli_usage(gen->cli, "--resume is for --format aggregate, which tells what it is "
                                       "of, without --allow-duplicates");
    if (options->compat && (options->aggregate || gen->aggregates.len))
        return csp_cli_usage(gen->cli, "aggregates hold what llvm-profgen 22 takes no notice of: "
                                       "they do not go with --compat");
    for (size_t i = 0; options->digests && i < gen->inputs.len; i++)
        if (!strcmp(gen->inputs.data[i], "-"))
            return csp_cli_usage(gen->cli, "a recording from standard input cannot be told from "
                                           "others: put it in a file");
    if (options->aggregate && (gen->unsymbolized.len || gen->branch_lists.len || gen->profile_path))
        return csp_cli_usage(gen->cli, "an aggregate is made of samples: -i, --perfscript, "
                                       "--aggregate");
    if (!kinds) {
        csp_vec_push(&gen->inputs, CSP_CLI_RECORDING);
        code = csp_cli_require_default(gen->cli);
        if (code == CSP_EXIT_DONE)
            code = csp_cli_check_input(gen->cli, gen->output_path, CSP_CLI_RECORDING);
        if (code != CSP_EXIT_DONE)
            return code;
    }
    if (!gen->inputs.len && !gen->options.binary_path)
        return csp_cli_usage(gen->cli, "this input needs the binary too: name it with -b");
    if (gen->detailed_warnings)
        gen->cli->verbose = true;
    return choose_bolt(gen);
}
