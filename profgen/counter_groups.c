#include "profgen/counter_groups.h"

#include "base/sort.h"

static uint32_t context_of(const struct csp_counter_table *table, size_t i)
{
    return (uint32_t)(table->keys.list.data[i] >> 32);
}

void csp_counter_groups_begin(struct csp_counter_groups *groups,
                              const struct csp_counter_table *table, size_t contexts)
{
    size_t count = table->counts.len;
    *groups = (struct csp_counter_groups){.table = table};
    uint32_t *at = groups->ends = csp_calloc(contexts + 1, sizeof *groups->ends);
    bool in_order = true;
    for (size_t i = 0; i < count; i++) {
        at[context_of(table, i) + 1]++;
        in_order &= !i || context_of(table, i - 1) <= context_of(table, i);
    }
    for (size_t context = 0; context < contexts; context++)
        at[context + 1] += at[context];
    if (in_order) {
        for (size_t context = 0; context < contexts; context++)
            at[context] = at[context + 1];
        return;
    }
    groups->order = csp_malloc((count + 1) * sizeof *groups->order);
    /* Now where each begins; when all are placed, where it ends. */
    for (size_t i = 0; i < count; i++)
        groups->order[at[context_of(table, i)]++] = (uint32_t)i;
}

static bool is_before(const void *a, const void *b)
{
    const struct csp_counter *x = a, *y = b;
    return x->from != y->from ? x->from < y->from : x->to < y->to;
}

void csp_counter_groups_get(const struct csp_counter_groups *groups, uint32_t context,
                            csp_counter_list *group)
{
    group->len = 0;
    for (uint32_t i = context ? groups->ends[context - 1] : 0; i < groups->ends[context]; i++)
        csp_vec_push(group, csp_counters_at(groups->table, groups->order ? groups->order[i] : i));
}

void csp_counter_group_sort(csp_counter_list *group)
{
    csp_sort(group->data, group->len, sizeof *group->data, is_before);
}

void csp_counter_groups_free(struct csp_counter_groups *groups)
{
    free(groups->ends);
    free(groups->order);
}
