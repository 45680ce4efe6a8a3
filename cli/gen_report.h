/* What csprof gen tells in the end. */
#ifndef CSP_CLI_GEN_REPORT_H
#define CSP_CLI_GEN_REPORT_H

#include "cli/gen_options.h"

/* In a few notes, or with --json as one object on standard output. */
void csp_gen_print_summary(const struct gen *gen, const struct csp_profgen *profgen);
/* --max-bogus. The profile is written all the same: whoever asked decides what it is good for.
 * Errors: CSP_ERR_QUALITY. */
int csp_gen_check_quality(const struct gen *gen, const struct csp_sample_check_stats *checks);

#endif
