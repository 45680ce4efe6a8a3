/* Why a profile would be empty, and what it leaves out that is more than an accident: the messages
 * name the reason that concerns most samples, and what to do. */
#ifndef CSP_PROFGEN_EXPLAIN_H
#define CSP_PROFGEN_EXPLAIN_H

#include "profgen/profgen.h"

/* These fail, with CSP_ERR_INPUT. */

/* There is no sample that can be used. */
int csp_explain_no_samples(const struct csp_profgen *gen, struct csp_diag *diag);
/* All samples contradict themselves. */
int csp_explain_bogus(const struct csp_profgen *gen, struct csp_diag *diag);
/* Samples that can be used, of code with neither probes nor lines. */
int csp_explain_no_counts(const struct csp_profgen *gen, struct csp_diag *diag);

/* Branches that begin where the binary has no branch instruction tell of another build: a few are
 * warned of, many are a failure. */
int csp_explain_branches(const struct csp_profgen *gen, struct csp_diag *diag);

/* Warns where nobody asked for contexts, and some samples have none. */
void csp_explain_missing_callchains(const struct csp_profgen *gen, struct csp_diag *diag);

#endif
