/* The parts of csprof validate. Each gets argv[0], the word that chose it, and the rest. */
#ifndef CSP_CLI_VALIDATE_OPTIONS_H
#define CSP_CLI_VALIDATE_OPTIONS_H

#include "cli/cli.h"

int csp_validate_profile(struct csp_cli *cli, int argc, char **argv);
int csp_validate_recording(struct csp_cli *cli, int argc, char **argv);
int csp_validate_skid(struct csp_cli *cli, int argc, char **argv);

/* Records a workload as well as this machine can; what it says of itself goes to the file `answer`.
 * Errors: those of csp_session_run; CSP_ERR_FAILED when it failed. */
int csp_skid_record(struct csp_cli *cli, const char *workload, double seconds,
                    const char *recording, const char *answer);

/* Whether a threshold of the quality holds: `value` at least `least`. Tells when it does not. */
int csp_validate_at_least(struct csp_cli *cli, const char *what, double value, double least,
                          const char *option);
int csp_validate_at_most(struct csp_cli *cli, const char *what, double value, double most,
                         const char *option);

#endif
