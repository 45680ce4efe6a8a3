/* csprof merge --across-builds. */
#ifndef CSP_CLI_MERGE_BUILDS_H
#define CSP_CLI_MERGE_BUILDS_H

#include "base/vec.h"
#include "cli/cli.h"
#include "profgen/profgen.h"

struct csp_merge_builds {
    struct csp_cli *cli;
    const char *output_path;
    const char *const *binaries; /* the first is the one that the profile is for */
    size_t binary_count;
    const char *const *aggregates;
    size_t aggregate_count;
    bool duplicates;
};

/* Writes the profile. Returns an exit code. */
int csp_merge_builds(const struct csp_merge_builds *merge);

#endif
