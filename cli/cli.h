/* What every subcommand gets, and the table they are in. One file cmd_<name>.c per subcommand:
 * arguments, progress and exit codes, no logic. */
#ifndef CSP_CLI_CLI_H
#define CSP_CLI_CLI_H

#include "base/diag.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct csp_cli {
    struct csp_diag diag;
    const char *command; /* "decode" */
    char **arguments;    /* the whole command line, as it was given */
    bool json;           /* --json: one object on standard output and nothing else there */
    bool quiet, verbose;
    unsigned threads;            /* at least 1 */
    struct csp_buf last_failure; /* becomes {"error": …} with --json */
};

/* Returns an exit code. argv[0] is the subcommand's name; common options are already taken out. */
typedef int csp_command_fn(struct csp_cli *cli, int argc, char **argv);

struct csp_command {
    const char *name;
    const char *summary; /* one line for `csprof help` */
    const char *usage;   /* the whole of `csprof help NAME`, ending in a newline */
    csp_command_fn *run;
    /* Instead of these two: becomes another program, which is given the whole command line. */
    csp_command_fn *start;
};

extern const struct csp_command csp_command_collect;
extern const struct csp_command csp_command_doctor;
extern const struct csp_command csp_command_version;
#ifndef CSPROF_RECORDER_ONLY
extern const struct csp_command csp_command_cache;
extern const struct csp_command csp_command_decode;
/* Of csprof-gen: cmd_gen.c, cmd_merge.c and cmd_validate.c; of csprof: gen_program.c, which starts
 * that. */
extern const struct csp_command csp_command_bundle;
extern const struct csp_command csp_command_gen;
extern const struct csp_command csp_command_merge;
extern const struct csp_command csp_command_validate;
#define CSP_BUNDLE_SUMMARY "put together what is needed to make a profile elsewhere"
#define CSP_GEN_SUMMARY "make a profile for clang -fprofile-sample-use from samples"
#define CSP_MERGE_SUMMARY "merge what several recordings told of one binary"
#define CSP_VALIDATE_SUMMARY "tell how far a recording or a profile can be trusted"
#endif

/* Writes text to standard output, and frees it. */
void csp_cli_print(struct csp_buf *text);
/* Tells that the output was there already (--resume). */
void csp_cli_resumed(struct csp_cli *cli, const char *output);
/* Refuse to write to standard output ("-") what would mix with JSON there, or mess up a terminal;
 * to write where that cannot be; to put the output in the place of an input (null: none). Return
 * the exit code. */
int csp_cli_check_output(struct csp_cli *cli, const char *output, bool is_text);
int csp_cli_check_input(struct csp_cli *cli, const char *output, const char *input);
/* The recording that is read when none is named. */
#define CSP_CLI_RECORDING "csprof.data"
#define CSP_CLI_GIVEN_BY_I "a recording is given with -i"
/* Refuses that it is not there; returns the exit code. */
int csp_cli_require_default(struct csp_cli *cli);
/* Reports an argument that the subcommand does not take; `how` says how files are given to it, or
 * is null. Returns the exit code. */
int csp_cli_unexpected(struct csp_cli *cli, const char *argument, const char *how);
/* Reports a usage error that names the subcommand and points at its help; returns the exit code. */
int csp_cli_usage(struct csp_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
