#include "profgen/counter_groups.h"

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

static bool is_before(const struct csp_counter *a, const struct csp_counter *b)
{
    return a->from != b->from ? a->from < b->from : a->to < b->to;
}

static int by_span(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

static void sort(struct csp_counter *counters, size_t count)
{
    enum { FEW = 24 };
    if (count > FEW) {
        qsort(counters, count, sizeof *counters, by_span);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct csp_counter counter = counters[i];
        size_t at = i;
        for (; at && is_before(&counter, &counters[at - 1]); at--)
            counters[at] = counters[at - 1];
        counters[at] = counter;
    }
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
    if (group->len)
        sort(group->data, group->len);
}

void csp_counter_groups_free(struct csp_counter_groups *groups)
{
    free(groups->ends);
    free(groups->order);
}
