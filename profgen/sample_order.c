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

/* Callers, to be sorted from the root on. */
struct stack {
    const uint64_t *end; /* behind the root's call: the innermost is the first */
    size_t len;
    uint32_t number;
};

/* Some that have the same outermost calls. */
struct stacks {
    struct stack *list;
    size_t count, depth;
};

static uint64_t call_at(const struct stacks *stacks, size_t i)
{
    return *(stacks->list[i].end - 1 - stacks->depth);
}

static void swap(const struct stacks *stacks, size_t a, size_t b)
{
    struct stack other = stacks->list[a];
    stacks->list[a] = stacks->list[b];
    stacks->list[b] = other;
}

/* Those that have no more calls come first. */
static void leave_out_ended(struct stacks *stacks)
{
    size_t ended = 0;
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->list[i].len == stacks->depth)
            swap(stacks, i, ended++);
    stacks->list += ended;
    stacks->count -= ended;
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
    if (a > b)
        return middle(b, a, c);
    return c < a ? a : c > b ? b : c;
}

enum { BEFORE, SAME, BEHIND, PARTS };

/* By their next call: those before that of one of them, those that have the same, and others. */
static void part(const struct stacks *stacks, struct stacks parts[PARTS])
{
    size_t before = 0, at = 0, behind = stacks->count;
    uint64_t call = middle(call_at(stacks, 0), call_at(stacks, stacks->count / 2),
                           call_at(stacks, stacks->count - 1));
    while (at < behind) {
        int order = compare(call_at(stacks, at), call);
        if (order < 0)
            swap(stacks, at++, before++);
        else if (order > 0)
            swap(stacks, at, --behind);
        else
            at++;
    }
    parts[BEFORE] = (struct stacks){stacks->list, before, stacks->depth};
    parts[SAME] = (struct stacks){stacks->list + before, behind - before, stacks->depth + 1};
    parts[BEHIND] = (struct stacks){stacks->list + behind, stacks->count - behind, stacks->depth};
}

/* What they have in common is looked at once, and not in each comparison. The largest part is
 * sorted last, here: the others have half of all at most. */
static void sort_stacks(struct stacks stacks)
{
    while (stacks.count > 1) {
        struct stacks parts[PARTS] = {{0}};
        int largest = 0;
        leave_out_ended(&stacks);
        if (stacks.count > 1)
            part(&stacks, parts);
        for (int i = 1; i < PARTS; i++)
            largest = parts[i].count > parts[largest].count ? i : largest;
        for (int i = 0; i < PARTS; i++)
            if (i != largest)
                sort_stacks(parts[i]);
        stacks = parts[largest];
    }
}

/* The callers that samples of the set have, sorted from the root on; `counts` of those is how many
 * samples have them, and 0 of the others. */
static struct stacks stacks_of(const struct csp_sample_set *set, const uint32_t *counts)
{
    const struct csp_intern_entry *entries = set->callers.entries.data;
    struct stacks stacks = {.list =
                                csp_malloc((set->callers.entries.len + 1) * sizeof *stacks.list)};
    for (uint32_t i = 0; i < set->callers.entries.len; i++) {
        size_t len = entries[i].size / sizeof *stacks.list->end;
        if (counts[i])
            stacks.list[stacks.count++] =
                (struct stack){(const uint64_t *)entries[i].data + len, len, i};
    }
    sort_stacks(stacks);
    return stacks;
}

uint32_t *csp_samples_by_callers(const struct csp_sample_set *set)
{
    size_t count = set->counts.len;
    uint32_t *at = csp_calloc(set->callers.entries.len + 1, sizeof *at), next = 0;
    uint32_t *numbers = csp_malloc((count + 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        at[csp_sample_set_at(set, i)->callers]++;
    struct stacks callers = stacks_of(set, at);
    for (size_t i = 0; i < callers.count; i++) {
        uint32_t *where = &at[callers.list[i].number], first = next;
        next += *where;
        *where = first; /* where the samples with these callers go */
    }
    for (uint32_t i = 0; i < count; i++)
        numbers[at[csp_sample_set_at(set, i)->callers]++] = i;
    free(callers.list);
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
