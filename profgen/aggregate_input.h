/* Aggregates in and out of profile generation. */
#ifndef CSP_PROFGEN_AGGREGATE_INPUT_H
#define CSP_PROFGEN_AGGREGATE_INPUT_H

#include "profgen/aggregate.h"
#include "profgen/profgen.h"

/* Adds the samples of aggregates, read by as many threads as the options say. Errors: those of
 * csp_aggregate_read; CSP_ERR_INPUT: they are of another binary, or have an input that was counted
 * already. */
int csp_profgen_aggregates(struct csp_profgen *gen, const char *const *paths, size_t count,
                           struct csp_diag *diag);
/* Adds the samples of one that was read; `path` is for messages. Errors: the latter two. */
int csp_profgen_add_aggregate(struct csp_profgen *gen, struct csp_aggregate *aggregate,
                              const char *path, struct csp_diag *diag);
/* Fails where an aggregate is of another program than that of `gen`, be it one that could not be
 * used, which their build-ids tell; see csp_profgen_check_ran. Errors: those of
 * csp_aggregate_read_head; CSP_ERR_INPUT. */
int csp_profgen_check_aggregate(const struct csp_profgen *gen, const char *path,
                                struct csp_diag *diag);
/* Appends all samples that were added, as an aggregate. */
void csp_profgen_write_aggregate(struct csp_profgen *gen, struct csp_buf *out);

#endif
