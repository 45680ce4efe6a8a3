/* The counters as text, in the form that llvm-profgen --skip-symbolization writes and
 * --unsymbolized-profile reads: for each context `[0xCALL @ 0xCALL]`, then the number of its ranges
 * and `FROM-TO:COUNT` lines, then the number of its branches and `FROM->TO:COUNT` lines. Contexts
 * of a profile by lines are `[caller:LINE.DISCRIMINATOR @ function]`. */
#ifndef CSP_PROFGEN_UNSYMBOLIZED_H
#define CSP_PROFGEN_UNSYMBOLIZED_H

#include "base/buf.h"
#include "base/file.h"
#include "profgen/counters.h"
#include "profgen/program.h"

#include <stdbool.h>

/* `base` is subtracted from all addresses. Without `contexts` there is one, which is not named. */
void csp_unsymbolized_write(const struct csp_program *program, const struct csp_counters *counters,
                            bool contexts, uint64_t base, struct csp_buf *out);

/* Adds the counters of such a text; `*contexts` becomes true when it names contexts. Errors:
 * CSP_ERR_INPUT; the message tells the line. */
int csp_unsymbolized_read(const struct csp_file *file, struct csp_program *program, uint64_t base,
                          struct csp_counters *counters, bool *contexts, struct csp_diag *diag);

#endif
