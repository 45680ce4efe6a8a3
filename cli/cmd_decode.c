#include "cli/cli.h"

static int run(struct csp_cli *cli, int argc, char **argv)
{
    (void)argc, (void)argv;
    return csp_cli_usage(cli, "not built yet");
}

const struct csp_command csp_command_decode = {
    .name = "decode",
    .summary = "",
    .usage = "",
    .run = run,
};
