/* csprof validate profile: two profiles, or a profile and a program. */
#include "cli/validate_options.h"

#include "base/parse.h"
#include "profgen/llvm/instr_profile.h"
#include "validate/entry_table.h"
#include "validate/profile_fit.h"
#include "validate/profile_overlap.h"
#include "validate/truth_profile.h"

#include <string.h>

struct comparison {
    struct csp_cli *cli;
    const char *a, *b, *binary;
    uint64_t top, callers;
    double min_block, min_function, min_context, max_lost; /* per cent */
    bool has_thresholds, has_max_lost, has_callers;
};

static bool take_option(struct comparison *job, const char *name, const char *value, bool *good)
{
    static const char *const names[] = {"--min-overlap", "--min-function-overlap",
                                        "--min-context-overlap", "--max-lost"};
    double *const values[] = {&job->min_block, &job->min_function, &job->min_context,
                              &job->max_lost};
    if (!strcmp(name, "-b"))
        job->binary = value;
    else if (!strcmp(name, "--top"))
        *good = csp_parse_count(value, &job->top);
    else if (!strcmp(name, "--context-depth"))
        *good = job->has_callers = csp_parse_count(value, &job->callers) && job->callers < 1024;
    else
        for (int i = 0; i < 4; i++) {
            if (strcmp(name, names[i]) != 0)
                continue;
            *good = csp_parse_real(value, 0, 100, values[i]);
            *(i < 3 ? &job->has_thresholds : &job->has_max_lost) = true;
            return true;
        }
    return !strcmp(name, "-b") || !strcmp(name, "--top") || !strcmp(name, "--context-depth");
}

static int parse(struct comparison *job, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bool good = true;
        if (argv[i][0] != '-') {
            if (job->b)
                return csp_cli_usage(job->cli, "more than two profiles: '%s'", argv[i]);
            *(job->a ? &job->b : &job->a) = argv[i];
            continue;
        }
        if (!take_option(job, argv[i], i + 1 < argc ? argv[i + 1] : "", &good))
            return csp_cli_unexpected(job->cli, argv[i], NULL);
        if (i + 1 == argc)
            return csp_cli_usage(job->cli, "%s needs a value", argv[i]);
        if (!good)
            return csp_cli_usage(job->cli, "%s: '%s' is not a value for it", argv[i], argv[i + 1]);
        i++;
    }
    if (!job->a || (!job->b && !job->binary))
        return csp_cli_usage(job->cli, "give a profile, and another one or a binary (-b)");
    if (job->b ? job->has_max_lost : job->has_thresholds || job->has_callers)
        return csp_cli_usage(job->cli,
                             job->b ? "--max-lost is for a profile and a binary"
                                    : "--min-overlap and --context-depth are for two profiles");
    return 0;
}

static int read_b(const struct comparison *job, struct csp_profile_table *table, bool exact)
{
    struct csp_diag *diag = &job->cli->diag;
    if (!exact)
        return csp_profile_table_read(table, job->b, diag);
    if (!job->binary)
        return csp_fail(diag, CSP_ERR_USAGE, "%s holds counts by address: name the binary (-b)",
                        job->b);
    return csp_truth_profile(table, job->b, job->binary, diag);
}

/* Both profiles' entries of functions: an instrumented profile tells no more. */
static int read_entries(const struct comparison *job, struct csp_profile_table *a,
                        struct csp_profile_table *b)
{
    struct csp_diag *diag = &job->cli->diag;
    struct csp_profile_table whole = {0};
    if (job->min_block > 0 || job->min_context > 0 || job->has_callers)
        return csp_fail(
            diag, CSP_ERR_USAGE,
            "%s is an instrumented profile, of which only functions can be compared: use "
            "--min-function-overlap",
            job->b);
    int error = csp_profile_table_read(&whole, job->a, diag);
    if (!error)
        error = csp_entry_table_of(a, &whole, job->a, diag);
    if (!error)
        error = csp_entry_table_read(b, job->b, diag);
    csp_profile_table_free(&whole);
    return error;
}

static int check_overlap(const struct comparison *job, const struct csp_profile_overlap *overlap)
{
    struct csp_cli *cli = job->cli;
    int error = csp_validate_at_least(cli, "the overlap by blocks", 100 * overlap->block,
                                      job->min_block, "--min-overlap");
    if (!error)
        error = csp_validate_at_least(cli, "the overlap by functions", 100 * overlap->function,
                                      job->min_function, "--min-function-overlap");
    if (!error)
        error = csp_validate_at_least(cli, "the overlap by contexts", 100 * overlap->context,
                                      job->min_context, "--min-context-overlap");
    return error;
}

static void print_overlap(const struct comparison *job, const struct csp_profile_overlap *overlap)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    if (job->cli->json) {
        csp_json_object(&json, NULL);
        csp_json_string(&json, "a", job->a);
        csp_json_string(&json, "b", job->b);
        csp_profile_overlap_json(overlap, &json);
        csp_json_end(&json);
    } else {
        csp_profile_overlap_text(overlap, &out);
    }
    csp_cli_print(&out);
}

static int compare(const struct comparison *job)
{
    struct csp_profile_table a = {0}, b = {0};
    struct csp_profile_overlap overlap = {0};
    bool exact = csp_truth_is(job->b), entries = csp_instr_profile_is(job->b);
    int error =
        entries ? read_entries(job, &a, &b) : csp_profile_table_read(&a, job->a, &job->cli->diag);
    if (!error && !entries)
        error = read_b(job, &b, exact);
    if (!error && job->has_callers) {
        csp_profile_table_cut_contexts(&a, job->callers);
        csp_profile_table_cut_contexts(&b, job->callers);
    }
    if (!error)
        error = csp_profile_overlap(&overlap, &a, &b, job->top, &job->cli->diag);
    if (!error && exact && job->min_context > 0)
        error = csp_fail(&job->cli->diag, CSP_ERR_USAGE,
                         "--min-context-overlap: exact counts have no contexts to compare with");
    if (!error) {
        overlap.no_contexts = exact || entries;
        overlap.entries = entries;
        print_overlap(job, &overlap);
        error = check_overlap(job, &overlap);
    }
    csp_profile_overlap_free(&overlap);
    csp_profile_table_free(&a);
    csp_profile_table_free(&b);
    return error;
}

static void print_fit(const struct comparison *job, const struct csp_profile_fit *fit, bool fits)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    if (job->cli->json) {
        csp_json_object(&json, NULL);
        csp_json_string(&json, "profile", job->a);
        csp_json_string(&json, "binary", job->binary);
        csp_json_bool(&json, "fits", fits);
        csp_profile_fit_json(fit, &json);
        csp_json_end(&json);
    } else {
        csp_profile_fit_text(fit, job->top, &out);
        csp_buf_printf(&out, "\n%s\n",
                       fits ? "The profile fits this program."
                            : "The profile does not fit this program: make a new one.");
    }
    csp_cli_print(&out);
}

static int fit(const struct comparison *job)
{
    struct csp_diag *diag = &job->cli->diag;
    struct csp_profile_table profile = {0};
    struct csp_profile_fit fit = {0};
    struct csp_program program = {0};
    int error = csp_profile_table_read(&profile, job->a, diag);
    if (!error)
        error =
            csp_program_open(&program, &(struct csp_program_options){.path = job->binary}, diag);
    if (!error)
        error = csp_profile_fit(&fit, &profile, &program, diag);
    if (!error) {
        double lost = 100 * csp_profile_fit_lost(&fit);
        print_fit(job, &fit, lost <= job->max_lost);
        error = csp_validate_at_most(job->cli, "what the program would lose of the profile", lost,
                                     job->max_lost, "--max-lost");
    }
    csp_profile_fit_free(&fit);
    csp_program_close(&program);
    csp_profile_table_free(&profile);
    return error;
}

int csp_validate_profile(struct csp_cli *cli, int argc, char **argv)
{
    struct comparison job = {.cli = cli, .top = 10, .max_lost = 5};
    int code = parse(&job, argc, argv);
    return code ? code : (int)csp_error_exit(job.b ? compare(&job) : fit(&job));
}
