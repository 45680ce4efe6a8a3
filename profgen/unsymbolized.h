/* The counters as text, in the form that llvm-profgen --skip-symbolization writes and
 * --unsymbolized-profile reads: for each context `[0xCALL @ 0xCALL]`, then the number of its ranges
 * and `FROM-TO:COUNT` lines, then the number of its branches and `FROM->TO:COUNT` lines. */
#ifndef CSP_PROFGEN_UNSYMBOLIZED_H
#define CSP_PROFGEN_UNSYMBOLIZED_H

#include "base/buf.h"
#include "profgen/counters.h"

#include <stdbool.h>

/* `base` is subtracted from all addresses. Without `contexts` there is one, which is not named. */
void csp_unsymbolized_write(const struct csp_counters *counters, bool contexts, uint64_t base,
                            struct csp_buf *out);

#endif
