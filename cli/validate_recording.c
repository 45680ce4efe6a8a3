/* csprof validate [-i FILE]: a recording. */
#include "cli/validate_options.h"

#include "base/counted.h"
#include "base/parse.h"
#include "base/progress.h"
#include "validate/recording_trust.h"
#include "validate/spe_table.h"

#include <stdio.h>
#include <string.h>

struct check {
    struct csp_cli *cli;
    struct csp_recording_trust_options options;
    const char *spe; /* compare with these records, and nothing else */
    uint64_t top;
    double min_stitched, max_bogus; /* per cent */
};

static bool take_option(struct check *check, const char *name, const char *value, bool *good)
{
    if (!strcmp(name, "-i"))
        check->options.path = value;
    else if (!strcmp(name, "-b"))
        check->options.binary = value;
    else if (!strcmp(name, "--symfs"))
        check->options.symfs = value;
    else if (!strcmp(name, "--spe"))
        check->spe = value;
    else if (!strcmp(name, "--top"))
        *good = csp_parse_count(value, &check->top);
    else if (!strcmp(name, "--rules"))
        *good = csp_sample_rules_parse(value, &check->options.rules);
    else if (!strcmp(name, "--min-stitched"))
        *good = csp_parse_real(value, 0, 100, &check->min_stitched);
    else if (!strcmp(name, "--max-bogus"))
        *good = csp_parse_real(value, 0, 100, &check->max_bogus);
    else
        return false;
    return true;
}

static int parse(struct check *check, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        bool good = true;
        if (!take_option(check, argv[i], i + 1 < argc ? argv[i + 1] : "", &good))
            return csp_cli_unexpected(check->cli, argv[i], CSP_CLI_GIVEN_BY_I);
        if (i + 1 == argc)
            return csp_cli_usage(check->cli, "%s needs a value", argv[i]);
        if (!good)
            return csp_cli_usage(check->cli, "%s: '%s' is not a value for it", argv[i],
                                 argv[i + 1]);
    }
    return 0;
}

static void print(const struct check *check, const struct csp_recording_trust *trust)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    if (check->cli->json) {
        csp_json_object(&json, NULL);
        csp_recording_trust_json(trust, &json);
        csp_json_end(&json);
    } else {
        csp_recording_trust_text(trust, check->top, &out);
    }
    csp_cli_print(&out);
}

static int check_quality(const struct check *check, const struct csp_recording_trust *trust)
{
    struct csp_rate stitched = csp_rate_of(csp_trust_stitched(&trust->all), trust->all.samples);
    int error = csp_validate_at_least(check->cli, "the share of samples with a history",
                                      100 * stitched.rate, check->min_stitched, "--min-stitched");
    if (!error && check->max_bogus < 100 && !trust->binary)
        error = csp_fail(&check->cli->diag, CSP_ERR_QUALITY,
                         "--max-bogus: without the program nothing can be checked");
    if (!error)
        error = csp_validate_at_most(check->cli, "the share of contradictory samples",
                                     100 * csp_trust_bogus(trust).rate, check->max_bogus,
                                     "--max-bogus");
    return error;
}

static void print_spe(const struct check *check, const struct csp_spe_table *table,
                      const struct csp_places *samples)
{
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    if (check->cli->json) {
        csp_json_object(&json, NULL);
        csp_json_number(&json, "samples", samples->total);
        csp_spe_table_json(table, samples, &json);
        csp_json_end(&json);
    } else {
        csp_spe_table_text(table, samples, check->top, &out);
    }
    csp_cli_print(&out);
}

static int compare_with_spe(const struct check *check)
{
    struct csp_diag *diag = &check->cli->diag;
    const struct csp_image_options images = {.symfs = check->options.symfs};
    struct csp_recording *recording = NULL;
    struct csp_places samples = {0};
    struct csp_spe_table table = {0};
    uint64_t elsewhere = 0;
    int error =
        csp_recording_open(&recording, check->options.path, &images, check->options.threads, diag);
    if (!error)
        error = csp_spe_table_read(&table, check->spe, check->options.symfs, diag);
    if (!error) {
        csp_places_of_samples(&samples, recording, &elsewhere);
        if (elsewhere)
            csp_note(diag, "%s %s taken in no file", CSP_COUNTED(elsewhere, "sample"),
                     csp_by_count(elsewhere, "was", "were"));
        print_spe(check, &table, &samples);
    }
    csp_spe_table_free(&table);
    csp_places_free(&samples);
    csp_recording_close(recording);
    return error;
}

int csp_validate_recording(struct csp_cli *cli, int argc, char **argv)
{
    struct csp_progress progress;
    struct check check = {.cli = cli, .top = 10, .max_bogus = 100};
    check.options = (struct csp_recording_trust_options){.rules = CSP_TRUST_RULES,
                                                         .threads = cli->threads,
                                                         .engine = csp_engine_create_native,
                                                         .progress = &progress};
    int code = parse(&check, argc, argv);
    if (!code && !check.options.path)
        code = csp_cli_require_default(cli);
    if (code)
        return code;
    if (!check.options.path)
        check.options.path = CSP_CLI_RECORDING;
    if (check.spe && check.options.binary)
        return csp_cli_usage(cli, "-b has no use with --spe, which tells of all files");
    if (check.spe)
        return (int)csp_error_exit(compare_with_spe(&check));
    struct csp_recording_trust trust;
    csp_progress_begin(&progress, "decoding", 0, cli->quiet);
    int error = csp_recording_trust(&trust, &check.options, &cli->diag);
    csp_progress_end(&progress);
    if (!error) {
        print(&check, &trust);
        error = check_quality(&check, &trust);
    }
    csp_recording_trust_free(&trust);
    return (int)csp_error_exit(error);
}
