/* The counters of a table by context, without a sorted copy of all: there are millions. */
#ifndef CSP_PROFGEN_COUNTER_GROUPS_H
#define CSP_PROFGEN_COUNTER_GROUPS_H

#include "profgen/counters.h"

struct csp_counter_groups {
    const struct csp_counter_table *table;
    uint32_t *ends;  /* by context: where its group ends in `order` */
    uint32_t *order; /* numbers of counters, by context; null: they are in that order */
    CSP_VEC(struct csp_counter) group;
};

void csp_counter_groups_begin(struct csp_counter_groups *groups,
                              const struct csp_counter_table *table, size_t contexts);
/* The counters of one context: they are in `group` until the next call. */
void csp_counter_groups_of(struct csp_counter_groups *groups, uint32_t context);
/* Sorts them by from and to. */
void csp_counter_groups_sort(struct csp_counter_groups *groups);
void csp_counter_groups_free(struct csp_counter_groups *groups);

#endif
