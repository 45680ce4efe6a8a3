#include "profgen/context_nest.h"

#include "base/alloc.h"
#include "base/saturate.h"

static const struct csp_context_node *node_of(const struct csp_context_nest *nest, uint32_t number)
{
    return &nest->tree->nodes.data[nest->order[number]];
}

/* Of a context that is not called from nowhere. */
static uint32_t parent_of(const struct csp_context_nest *nest, uint32_t number)
{
    return nest->numbers[node_of(nest, number)->parent];
}

/* Whether a context with counts is in another one. */
static bool is_nested(const struct csp_context_nest *nest, uint32_t number)
{
    uint32_t parent = node_of(nest, number)->parent;
    return parent != CSP_PROFILE_TOP && nest->tree->nodes.data[parent].counted;
}

static void list_callees(struct csp_context_nest *nest)
{
    for (size_t i = nest->count; i; i--) {
        uint32_t number = (uint32_t)i - 1;
        if (!node_of(nest, number)->counted || !is_nested(nest, number))
            continue;
        uint32_t *first = &nest->callees[parent_of(nest, number)];
        nest->next[number] = *first;
        *first = number + 1;
    }
}

static void list_finished(struct csp_context_nest *nest)
{
    size_t finished = 0;
    nest->pending.len = 0;
    for (uint32_t number = 0; number < nest->count; number++) {
        uint32_t parent = node_of(nest, number)->parent;
        while (nest->pending.len &&
               nest->order[nest->pending.data[nest->pending.len - 1]] != parent)
            nest->finished[finished++] = nest->pending.data[--nest->pending.len];
        csp_vec_push(&nest->pending, number);
    }
    while (nest->pending.len)
        nest->finished[finished++] = nest->pending.data[--nest->pending.len];
}

static uint32_t home_at(struct csp_context_nest *nest, uint32_t number, uint32_t parent)
{
    uint32_t node = nest->order[number];
    uint32_t edge = parent == CSP_PROFILE_TOP ? csp_context_name(nest->tree, node)
                                              : nest->tree->nodes.data[node].edge;
    uint32_t home = csp_numbers_at(&nest->known, (uint64_t)parent << 32 | edge);
    if (home == nest->nodes.len)
        csp_vec_push(&nest->nodes, (struct csp_nested){.first = node, .parent = parent});
    return home;
}

/* Makes a context part of what it becomes in the profile; false: it is left out. */
static bool place(struct csp_context_nest *nest, uint32_t number, uint32_t parent)
{
    const struct csp_context_node *context = node_of(nest, number);
    uint32_t home = home_at(nest, number, parent);
    struct csp_nested *nested = &nest->nodes.data[home];
    if (!nested->hash)
        nested->hash = context->hash;
    else if (nested->hash != context->hash)
        return false;
    nested->head = csp_add_saturating(nested->head, context->head);
    nest->homes[number] = home;
    return true;
}

/* Places one that is on its own, with what is nested in it. */
static void place_all(struct csp_context_nest *nest, uint32_t number)
{
    if (!place(nest, number, CSP_PROFILE_TOP))
        return;
    nest->pending.len = 0;
    csp_vec_push(&nest->pending, number);
    while (nest->pending.len) {
        uint32_t caller = nest->pending.data[--nest->pending.len];
        for (uint32_t callee = nest->callees[caller]; callee; callee = nest->next[callee - 1])
            if (place(nest, callee - 1, nest->homes[caller]))
                csp_vec_push(&nest->pending, callee - 1);
    }
}

void csp_context_nest_begin(struct csp_context_nest *nest, const struct csp_context_tree *tree,
                            const uint32_t *order, const uint32_t *numbers, size_t count)
{
    *nest =
        (struct csp_context_nest){.tree = tree, .order = order, .numbers = numbers, .count = count};
    nest->callees = csp_calloc(count + 1, sizeof *nest->callees);
    nest->next = csp_calloc(count + 1, sizeof *nest->next);
    nest->finished = csp_malloc((count + 1) * sizeof *nest->finished);
    nest->taken = csp_calloc(count + 1, sizeof *nest->taken);
    nest->homes = csp_malloc((count + 1) * sizeof *nest->homes);
    for (size_t i = 0; i < count; i++)
        nest->homes[i] = CSP_NESTED_NOWHERE;
    list_callees(nest);
    list_finished(nest);
    for (size_t i = 0; i < count; i++)
        if (node_of(nest, nest->finished[i])->counted && !is_nested(nest, nest->finished[i]))
            place_all(nest, nest->finished[i]);
}

/* The place of the count that all calls from a callsite are part of. */
static uint32_t callsite_of(const struct csp_context_tree *tree, uint32_t place)
{
    const struct csp_context_place call = csp_context_place_at(tree, place);
    return csp_context_find_place(tree, call.probe, call.discriminator, CSP_INTERN_NONE);
}

/* Returns what was taken. With its last count, all that is known of a callsite goes. */
static uint64_t take_call(const struct csp_context_tree *tree, uint32_t edge,
                          struct csp_context_sums *sums)
{
    uint32_t callsite = callsite_of(tree, edge);
    if (!csp_context_is_among(sums, callsite))
        return 0;
    uint64_t *left = &sums->by_place.data[callsite].count;
    uint64_t calls = csp_context_sum(sums, edge);
    uint64_t taken = calls < *left ? calls : *left;
    csp_context_forget_sum(sums, edge);
    *left -= taken;
    if (!*left)
        csp_context_forget_sum(sums, callsite);
    return taken;
}

static void forget_calls(const struct csp_context_tree *tree, struct csp_context_sums *sums)
{
    size_t kept = 0;
    for (size_t i = 0; i < sums->places.len; i++) {
        uint32_t place = sums->places.data[i];
        if (csp_context_is_call(tree, place) &&
            !csp_context_is_among(sums, callsite_of(tree, place)))
            csp_context_forget_sum(sums, place);
        if (csp_context_is_among(sums, place))
            sums->places.data[kept++] = place;
    }
    sums->places.len = kept;
}

void csp_context_nest_take(struct csp_context_nest *nest, uint32_t number,
                           struct csp_context_sums *sums)
{
    if (!nest->callees[number])
        return;
    for (uint32_t callee = nest->callees[number]; callee; callee = nest->next[callee - 1])
        nest->taken[callee - 1] = take_call(nest->tree, node_of(nest, callee - 1)->edge, sums);
    forget_calls(nest->tree, sums);
}

void csp_context_nest_totals(struct csp_context_nest *nest)
{
    uint64_t *totals = csp_malloc((nest->count + 1) * sizeof *totals);
    for (uint32_t number = 0; number < nest->count; number++)
        totals[number] = node_of(nest, number)->total;
    for (size_t i = 0; i < nest->count; i++) {
        uint32_t number = nest->finished[i], home = nest->homes[number];
        if (!node_of(nest, number)->counted)
            continue;
        if (home != CSP_NESTED_NOWHERE)
            nest->nodes.data[home].total =
                csp_add_saturating(nest->nodes.data[home].total, totals[number]);
        if (!is_nested(nest, number))
            continue;
        uint64_t *caller = &totals[parent_of(nest, number)];
        *caller = csp_add_saturating(*caller, totals[number]);
        *caller -= nest->taken[number] < *caller ? nest->taken[number] : *caller;
    }
    free(totals);
}

void csp_context_nest_free(struct csp_context_nest *nest)
{
    free(nest->callees);
    free(nest->next);
    free(nest->finished);
    free(nest->taken);
    free(nest->homes);
    csp_numbers_free(&nest->known);
    csp_vec_free(&nest->nodes);
    csp_vec_free(&nest->pending);
}
