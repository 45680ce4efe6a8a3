/* What is wrong with arguments that several commands have. */
#include "cli/cli.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int csp_cli_unexpected(struct csp_cli *cli, const char *argument, const char *how)
{
    if (argument[0] == '-' && argument[1])
        return csp_cli_usage(cli, "there is no option '%s'", argument);
    return csp_cli_usage(cli, "unexpected argument '%s'%s%s", argument, how ? ": " : "",
                         how ? how : "");
}

int csp_cli_require_default(struct csp_cli *cli)
{
    if (access(CSP_CLI_RECORDING, F_OK) == 0)
        return CSP_EXIT_DONE;
    return (int)csp_error_exit(csp_fail(&cli->diag, CSP_ERR_INPUT,
                                        "%s: %s: name a recording with -i, or make one with "
                                        "`csprof collect`",
                                        CSP_CLI_RECORDING, strerror(errno)));
}
