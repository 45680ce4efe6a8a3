/* Samples of a set that do not fit into memory: put aside in temporary files, each a sorted run,
 * and merged when all are there. Branches and callers stay in the set, whose numbers the runs use.
 */
#ifndef CSP_PROFGEN_RUNS_H
#define CSP_PROFGEN_RUNS_H

#include "base/diag.h"
#include "profgen/sample_order.h"

#include <stdio.h>

struct csp_runs {
    size_t memory; /* bytes that the samples of the set may take */
    CSP_VEC(FILE *) files;
    uint64_t bytes; /* in them */
};

/* Bytes that the samples of a set take. */
size_t csp_samples_memory(const struct csp_sample_set *set);
/* Puts the set's samples aside if they, and the bytes that are taken `beside` for them, are more
 * than they may. Errors: CSP_ERR_IO: $TMPDIR cannot
 * be written. */
int csp_runs_relieve(struct csp_runs *runs, struct csp_sample_set *set, size_t beside,
                     struct csp_diag *diag);
/* The same whatever they take. */
int csp_runs_put(struct csp_runs *runs, struct csp_sample_set *set, struct csp_diag *diag);
/* Delivers all samples of all runs in order, equal ones added up. Returns how often a count became
 * too large. Errors: CSP_ERR_INPUT, CSP_ERR_IO: the files are not what was written. */
typedef void csp_run_sample_fn(void *user, const struct csp_flat_sample *sample, uint64_t count);
int csp_runs_merge(struct csp_runs *runs, const struct csp_sample_order *order,
                   csp_run_sample_fn *each, void *user, uint64_t *saturated, struct csp_diag *diag);
void csp_runs_free(struct csp_runs *runs);

#endif
