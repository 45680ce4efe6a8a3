/* The command line of csprof gen. */
#ifndef CSP_CLI_GEN_OPTIONS_H
#define CSP_CLI_GEN_OPTIONS_H

#include "base/messages.h"
#include "cli/cli.h"
#include "profgen/bundle.h"
#include "profgen/profgen.h"
#include "profgen/recording_input.h"
#include "profgen/run_key.h"

extern const char csp_gen_usage[];

/* Of --format, beside those of enum csp_profile_format. */
enum {
    CSP_FORMAT_AGGREGATE = CSP_PROFILE_BINARY + 1,
    CSP_FORMAT_PREAGG,
    CSP_FORMAT_FDATA,
};

struct gen {
    struct csp_cli *cli;
    struct csp_profgen_options options;
    CSP_VEC(const char *) inputs, scripts, aggregates, unsymbolized, branch_lists;
    CSP_VEC(const char *) binaries; /* of -b; options.binary_path is the one at hand */
    const char *profile_path;       /* a profile instead of samples */
    const char *data_access_path;
    CSP_VEC(struct csp_recording *) recordings;
    struct csp_messages *opening; /* of each: what was told while it was opened */
    const char *output_path, *symfs;
    struct csp_bundle bundle; /* the input, if it is one */
    csp_engine_create_fn *engine;
    double density_threshold; /* below it, more samples are recommended */
    bool show_density, detailed_warnings, resume;
    double max_bogus; /* per cent of samples that may be rejected for breaking a rule */
    bool has_max_bogus;
    bool is_last;             /* the process ends when the result is written */
    struct csp_json *results; /* null: the one result is an object of its own */
};

/* Reads the command line into `gen`, whose defaults are set. Returns an exit code. */
int csp_gen_parse(struct gen *gen, int argc, char **argv);
/* Sorts the inputs and checks the options. Returns an exit code. */
int csp_gen_check_options(struct gen *gen);
/* Whether `output_path` can be written: it is no input, and no terminal. Returns an exit code. */
int csp_gen_check_output(const struct gen *gen);
/* All options that a result depends on, except the contents of files. */
void csp_gen_options_key(const struct gen *gen, struct csp_run_key *key);

#endif
