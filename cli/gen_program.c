/* csprof bundle, gen, merge, validate and collect --live, for the program that has no libLLVM:
 * starts the one that has.
 *
 * Only these need libLLVM, of which they have 15 MB within them where its archives are at hand, and
 * loading it takes longer than decoding a small recording where they are not. So it is linked with
 * csprof-gen alone, which knows every command and is installed out of sight. */
#include "cli/collect_options.h"

#include "base/alloc.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the folder that this program is in: in the build tree, and where both are installed. */
static const char *const places[] = {"csprof-gen", CSPROF_GEN_INSTALLED};

static int start(struct csp_cli *cli, int argc, char **argv)
{
    (void)argc;
    char *folder = csp_own_folder();
    for (size_t i = 0; folder && i < sizeof places / sizeof *places; i++) {
        char *program = csp_asprintf("%s%s", folder, places[i]);
        execv(program, argv);
        free(program);
    }
    int error = csp_fail(&cli->diag, CSP_ERR_ENV,
                         "%s%s, which makes and checks profiles: %s; install it again",
                         folder ? folder : "", CSPROF_GEN_INSTALLED, strerror(errno));
    free(folder);
    return (int)csp_error_exit(error);
}

int csp_collect_live(struct csp_collect *collect)
{
    return start(collect->cli, 0, collect->cli->arguments);
}

const struct csp_command csp_command_bundle = {
    .name = "bundle",
    .summary = CSP_BUNDLE_SUMMARY,
    .start = start,
};

const struct csp_command csp_command_gen = {
    .name = "gen",
    .summary = CSP_GEN_SUMMARY,
    .start = start,
};

const struct csp_command csp_command_merge = {
    .name = "merge",
    .summary = CSP_MERGE_SUMMARY,
    .start = start,
};

const struct csp_command csp_command_validate = {
    .name = "validate",
    .summary = CSP_VALIDATE_SUMMARY,
    .start = start,
};
