/* What commands refuse to write: before anything else is done. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int csp_cli_check_output(struct csp_cli *cli, const char *output, bool is_text)
{
    if (!output[0])
        return csp_cli_usage(cli, "the name of the output is empty");
    if (strcmp(output, "-") != 0)
        return (int)csp_error_exit(csp_output_check(output, &cli->diag));
    if (cli->json)
        return csp_cli_usage(cli, "--json and -o - would both write to standard output");
    if (!is_text && isatty(STDOUT_FILENO))
        return csp_cli_usage(cli, "what it writes is no text, and standard output is a terminal: "
                                  "give a file with -o, or a pipe");
    return CSP_EXIT_DONE;
}

int csp_cli_check_input(struct csp_cli *cli, const char *output, const char *input)
{
    struct stat in, out;
    if (!input || stat(output, &out) != 0 || stat(input, &in) != 0 || !S_ISREG(out.st_mode) ||
        in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return CSP_EXIT_DONE;
    return csp_cli_usage(cli, "%s would be written over, though it is read: give another -o",
                         output);
}
