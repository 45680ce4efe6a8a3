/* The order of a sample set's contents that depends on nothing else: of branches by their
 * addresses, of callers by their number and calls, of samples by both. Inside of profgen only. */
#ifndef CSP_PROFGEN_SAMPLE_ORDER_H
#define CSP_PROFGEN_SAMPLE_ORDER_H

#include "profgen/sample_set.h"

struct csp_sample_order {
    const struct csp_sample_set *set;
    uint32_t *branches, *callers;          /* numbers, sorted */
    uint32_t *branch_ranks, *caller_ranks; /* where in that order a number is */
};

/* Valid until the set has more branches or callers. */
void csp_sample_order_begin(struct csp_sample_order *order, const struct csp_sample_set *set);
int csp_sample_order_compare(const struct csp_sample_order *order, const struct csp_flat_sample *a,
                             const struct csp_flat_sample *b);
/* The numbers of the set's samples, sorted; to be freed. */
uint32_t *csp_sample_order_samples(const struct csp_sample_order *order);
void csp_sample_order_free(struct csp_sample_order *order);

/* The numbers of a set's samples, those whose callers are alike from the root on side by side; to
 * be freed. */
uint32_t *csp_samples_by_callers(const struct csp_sample_set *set);

#endif
