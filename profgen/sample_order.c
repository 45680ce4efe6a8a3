#include "profgen/sample_order.h"

#include "base/alloc.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_branch(const void *a, const void *b, void *user)
{
    const struct csp_pair *list = ((const struct csp_sample_set *)user)->branches.list.data;
    const struct csp_pair *x = &list[*(const uint32_t *)a], *y = &list[*(const uint32_t *)b];
    int order = compare(x->first, y->first);
    return order ? order : compare(x->second, y->second);
}

static int by_calls(const void *a, const void *b, void *user)
{
    const struct csp_intern_entry *list =
        ((const struct csp_sample_set *)user)->callers.entries.data;
    const struct csp_intern_entry *x = &list[*(const uint32_t *)a];
    const struct csp_intern_entry *y = &list[*(const uint32_t *)b];
    const uint64_t *calls = x->data, *others = y->data;
    int order = compare(x->size, y->size);
    for (size_t i = 0; !order && i < x->size / sizeof *calls; i++)
        order = compare(calls[i], others[i]);
    return order;
}

int csp_sample_order_compare(const struct csp_sample_order *ranks, const struct csp_flat_sample *x,
                             const struct csp_flat_sample *y)
{
    int order = compare(ranks->caller_ranks[x->callers], ranks->caller_ranks[y->callers]);
    if (!order)
        order = compare(x->branch_len, y->branch_len);
    for (uint32_t i = 0; !order && i < x->branch_len; i++)
        if (csp_flat_number(x, i) != csp_flat_number(y, i))
            order = compare(ranks->branch_ranks[csp_flat_number(x, i)],
                            ranks->branch_ranks[csp_flat_number(y, i)]);
    if (!order)
        order = compare(x->leaf, y->leaf);
    if (!order)
        order = compare(x->start, y->start);
    return order ? order : compare(x->end, y->end);
}

static int by_sample(const void *a, const void *b, void *user)
{
    const struct csp_sample_order *order = user;
    return csp_sample_order_compare(order, csp_sample_set_at(order->set, *(const uint32_t *)a),
                                    csp_sample_set_at(order->set, *(const uint32_t *)b));
}

static uint32_t *sorted(size_t count, int (*less)(const void *, const void *, void *), void *user)
{
    uint32_t *numbers = csp_malloc((count + 1) * sizeof *numbers);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    qsort_r(numbers, count, sizeof *numbers, less, user);
    return numbers;
}

static uint32_t *ranks_of(const uint32_t *numbers, size_t count)
{
    uint32_t *ranks = csp_malloc((count + 1) * sizeof *ranks);
    for (uint32_t i = 0; i < count; i++)
        ranks[numbers[i]] = i;
    return ranks;
}

void csp_sample_order_begin(struct csp_sample_order *order, const struct csp_sample_set *set)
{
    order->set = set;
    order->branches = sorted(set->branches.list.len, by_branch, (void *)(uintptr_t)set);
    order->branch_ranks = ranks_of(order->branches, set->branches.list.len);
    order->callers = sorted(set->callers.entries.len, by_calls, (void *)(uintptr_t)set);
    order->caller_ranks = ranks_of(order->callers, set->callers.entries.len);
}

uint32_t *csp_sample_order_samples(const struct csp_sample_order *order)
{
    return sorted(order->set->counts.len, by_sample, (void *)(uintptr_t)order);
}

static int from_root(const void *a, const void *b, void *user)
{
    const struct csp_intern_entry *list =
        ((const struct csp_sample_set *)user)->callers.entries.data;
    const struct csp_intern_entry *x = &list[*(const uint32_t *)a];
    const struct csp_intern_entry *y = &list[*(const uint32_t *)b];
    const uint64_t *calls = x->data, *others = y->data;
    size_t len = x->size / sizeof *calls, other_len = y->size / sizeof *others;
    while (len && other_len)
        if (calls[--len] != others[--other_len])
            return compare(calls[len], others[other_len]);
    return compare(len, other_len);
}

/* The callers that samples of the set have, sorted from the root on; `counts` of those is how many
 * samples have them, and 0 of the others. */
static uint32_t *callers_from_root(const struct csp_sample_set *set, const uint32_t *counts,
                                   size_t *len)
{
    uint32_t *callers = csp_malloc((set->callers.entries.len + 1) * sizeof *callers);
    *len = 0;
    for (uint32_t i = 0; i < set->callers.entries.len; i++)
        if (counts[i])
            callers[(*len)++] = i;
    qsort_r(callers, *len, sizeof *callers, from_root, (void *)(uintptr_t)set);
    return callers;
}

uint32_t *csp_samples_by_callers(const struct csp_sample_set *set)
{
    size_t count = set->counts.len, callers_len;
    uint32_t *at = csp_calloc(set->callers.entries.len + 1, sizeof *at), next = 0;
    uint32_t *numbers = csp_malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        at[csp_sample_set_at(set, i)->callers]++;
    uint32_t *callers = callers_from_root(set, at, &callers_len);
    for (size_t i = 0; i < callers_len; i++) {
        uint32_t first = next;
        next += at[callers[i]];
        at[callers[i]] = first; /* where the samples with these callers go */
    }
    for (uint32_t i = 0; i < count; i++)
        numbers[at[csp_sample_set_at(set, i)->callers]++] = i;
    free(callers);
    free(at);
    return numbers;
}

void csp_sample_order_free(struct csp_sample_order *order)
{
    free(order->branches);
    free(order->branch_ranks);
    free(order->callers);
    free(order->caller_ranks);
}
