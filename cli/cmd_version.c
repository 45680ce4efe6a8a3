#include "cli/cli.h"

#include <stdio.h>

static int run(struct csp_cli *cli, int argc, char **argv)
{
    if (argc > 1)
        return csp_cli_unexpected(cli, argv[1], NULL);
#ifdef CSPROF_RECORDER_ONLY
    bool generator = false;
#else
    bool generator = true;
#endif
    if (!cli->json) {
        printf("csprof %s%s\n", CSPROF_VERSION, generator ? "" : " (recorder only)");
        return CSP_EXIT_DONE;
    }
    struct csp_buf out = {0};
    struct csp_json json = {.out = &out};
    csp_json_object(&json, NULL);
    csp_json_string(&json, "version", CSPROF_VERSION);
    csp_json_bool(&json, "decode", generator);
    csp_json_bool(&json, "gen", generator);
    csp_json_end(&json);
    csp_cli_print(&out);
    return CSP_EXIT_DONE;
}

const struct csp_command csp_command_version = {
    .name = "version",
    .summary = "the version and what was built in",
    .usage = "usage: csprof version [--json]\n",
    .run = run,
};
