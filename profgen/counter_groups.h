/* The counters of a table by context, without a sorted copy of all: there are millions. */
#ifndef CSP_PROFGEN_COUNTER_GROUPS_H
#define CSP_PROFGEN_COUNTER_GROUPS_H

#include "profgen/counters.h"

struct csp_counter_groups {
    const struct csp_counter_table *table;
    uint32_t *ends;  /* by context: where its group ends in `order` */
    uint32_t *order; /* numbers of counters, by context; null: they are in that order */
};

typedef CSP_VEC(struct csp_counter) csp_counter_list;

void csp_counter_groups_begin(struct csp_counter_groups *groups,
                              const struct csp_counter_table *table, size_t contexts);
/* Fetches the first counters of a context, or those of a context that was fetched before. */
static inline void csp_counter_groups_fetch(const struct csp_counter_groups *groups,
                                            uint32_t context)
{
    uint32_t first = context ? groups->ends[context - 1] : 0;
    if (groups->order)
        return;
    __builtin_prefetch(&groups->table->keys.list.data[first]);
    __builtin_prefetch(&groups->table->counts.data[first]);
}
/* The counters of one context: they replace what is in `group`. */
void csp_counter_groups_get(const struct csp_counter_groups *groups, uint32_t context,
                            csp_counter_list *group);
/* Sorts them by from and to. */
void csp_counter_group_sort(csp_counter_list *group);
void csp_counter_groups_free(struct csp_counter_groups *groups);

#endif
