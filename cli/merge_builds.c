#include "cli/merge_builds.h"

#include "base/alloc.h"
#include "base/file.h"
#include "profgen/aggregate_input.h"

#include <stdlib.h>

static int open_build(const struct csp_merge_builds *merge, struct csp_profgen *gen, size_t number)
{
    struct csp_profgen_options options = csp_profgen_defaults();
    options.binary_path = merge->binaries[number];
    options.digests = true;
    options.duplicates = merge->duplicates;
    options.threads = merge->cli->threads;
    return csp_profgen_open(gen, &options, &merge->cli->diag);
}

typedef CSP_VEC(const char *) paths;

/* Finds the build that an aggregate is of. */
static int sort(const struct csp_merge_builds *merge, const struct csp_profgen *builds,
                const char *path, paths *of_builds)
{
    struct csp_diag *diag = &merge->cli->diag;
    struct csp_aggregate head;
    char id[41];
    int error = csp_aggregate_read_head(&head, path, diag);
    size_t build = 0;
    while (!error && build < merge->binary_count &&
           csp_code_digest(&builds[build].program.code) != head.code)
        build++;
    csp_build_id_text(&head.build_id, id);
    if (!error && build == merge->binary_count)
        error =
            csp_fail(diag, CSP_ERR_INPUT, "%s is of a build of %s (build-id %s) that no -b names",
                     path, head.name, id[0] ? id : "none");
    if (!error)
        csp_vec_push(&of_builds[build], path);
    csp_aggregate_free(&head);
    return error;
}

/* Adds the aggregates to the builds that they are of. */
static int add_all(const struct csp_merge_builds *merge, struct csp_profgen *builds)
{
    struct csp_diag *diag = &merge->cli->diag;
    paths *of_builds = csp_calloc(merge->binary_count, sizeof *of_builds);
    int error = 0;
    for (size_t i = 0; i < merge->aggregate_count && !error; i++)
        error = sort(merge, builds, merge->aggregates[i], of_builds);
    for (size_t i = 0; i < merge->binary_count; i++) {
        if (!error && !of_builds[i].len)
            error =
                csp_fail(diag, CSP_ERR_INPUT, "there is no aggregate of %s", merge->binaries[i]);
        if (!error)
            error = csp_profgen_aggregates(&builds[i], of_builds[i].data, of_builds[i].len, diag);
        csp_vec_free(&of_builds[i]);
    }
    free(of_builds);
    return error;
}

static int combine(const struct csp_merge_builds *merge, struct csp_profgen *builds,
                   struct csp_buf *profile)
{
    struct csp_diag *diag = &merge->cli->diag;
    int error = add_all(merge, builds);
    for (size_t i = 1; i < merge->binary_count && !error; i++)
        error = csp_profgen_other_build(&builds[0], &builds[i], diag);
    return error ? error : csp_profgen_finish(&builds[0], profile, diag);
}

static void print_json(const struct csp_merge_builds *merge, const struct csp_profgen *gen)
{
    struct csp_buf text = {0};
    struct csp_json json = {.out = &text};
    csp_json_object(&json, NULL);
    csp_json_number(&json, "builds", merge->binary_count);
    csp_json_number(&json, "functions_of_others", gen->across.functions);
    csp_json_number(&json, "functions_left_out", gen->across.left_out);
    csp_json_number(&json, "counts_of_others", gen->across.counts);
    csp_json_number(&json, "counts_left_out", gen->across.counts_left_out);
    csp_json_number(&json, "contexts_shortened", gen->across.contexts_shortened);
    csp_json_string(&json, "output", merge->output_path);
    csp_json_end(&json);
    csp_cli_print(&text);
}

int csp_merge_builds(const struct csp_merge_builds *merge)
{
    struct csp_profgen *builds = csp_calloc(merge->binary_count, sizeof *builds);
    struct csp_buf profile = {0};
    size_t opened = 0;
    int error = 0;
    for (; opened < merge->binary_count && !error; opened++)
        error = open_build(merge, &builds[opened], opened);
    if (!error)
        error = combine(merge, builds, &profile);
    if (!error)
        error = csp_output_write(merge->output_path, profile.data, profile.len, &merge->cli->diag);
    if (!error && merge->cli->json)
        print_json(merge, &builds[0]);
    for (size_t i = 0; i < opened; i++)
        csp_profgen_close(&builds[i]);
    free(builds);
    csp_buf_free(&profile);
    return (int)csp_error_exit(error);
}
