/* One run of csprof gen for several binaries: -o with %b, the binary's file name, or %i, its
 * build-id. */
#ifndef CSP_CLI_GEN_EACH_H
#define CSP_CLI_GEN_EACH_H

#include "cli/gen_options.h"

bool csp_gen_is_pattern(const char *output);
/* What a pattern becomes for a binary; the caller frees it. Null, after a message, when the binary
 * cannot be read, or has no build-id and %i needs one. */
char *csp_gen_expand(const struct gen *gen, const char *binary);

struct csp_gen_target {
    char *binary, *output;
};

typedef CSP_VEC(struct csp_gen_target) csp_gen_targets;

/* Binaries and outputs: those that -b names or, where it names none, the files that the recordings'
 * samples were taken in. Returns an exit code. Free after an error too. */
int csp_gen_find_targets(struct gen *gen, csp_gen_targets *targets);
void csp_gen_free_targets(csp_gen_targets *targets);

#endif
