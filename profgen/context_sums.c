#include "profgen/contexts.h"

#include "base/alloc.h"
#include "base/saturate.h"

#include <string.h>

static void make_room(struct csp_context_sums *sums, size_t places)
{
    size_t known = sums->by_place.len;
    if (places <= known)
        return;
    csp_vec_reserve(&sums->by_place, places - known);
    memset(sums->by_place.data + known, 0, (places - known) * sizeof *sums->by_place.data);
    sums->by_place.len = places;
}

static void add(struct csp_context_sums *sums, uint32_t place, uint64_t count)
{
    make_room(sums, (size_t)place + 1);
    struct csp_context_place_sum *sum = &sums->by_place.data[place];
    if (sum->round != sums->round) {
        *sum = (struct csp_context_place_sum){.round = sums->round};
        csp_vec_push(&sums->places, place);
    }
    sum->count = csp_add_saturating(sum->count, count);
}

/* Each of the places from `first` on was in the list: it has room for all of them. */
static void shorten(struct csp_context_tree *tree, struct csp_context_list *list,
                    const struct csp_context_sums *sums, size_t first)
{
    struct csp_context_walk walk = csp_context_walk_begin(tree, list), last = {0};
    for (size_t i = first; i < sums->places.len; i++) {
        struct csp_context_count *count = &tree->counts.data[walk.at - 1];
        count->place = sums->places.data[i];
        count->count = sums->by_place.data[count->place].count;
        last = walk;
        csp_context_walk_step(tree, &walk);
    }
    tree->counts.data[last.at - 1].next = 0;
    list->last = last.pieces ? last.pieces : last.at;
    if (last.pieces) {
        tree->pieces.data[last.pieces - 1].next = 0;
        tree->pieces.data[last.pieces - 1].len = last.piece + 1;
    }
}

static void add_counts(const struct csp_context_tree *tree, uint32_t first,
                       struct csp_context_sums *sums)
{
    for (uint32_t at = first; at; at = tree->counts.data[at - 1].next)
        add(sums, tree->counts.data[at - 1].place, tree->counts.data[at - 1].count);
}

/* Of most pieces, all. */
static void fetch(const struct csp_context_tree *tree, const struct csp_context_pieces *pieces)
{
    enum { COUNTS = 12, A_LINE = 4 };
    for (uint32_t i = 0; i < pieces->len; i++)
        for (uint32_t at = 0; at < COUNTS; at += A_LINE)
            __builtin_prefetch(&tree->counts.data[pieces->firsts[i] - 1 + at]);
}

static const struct csp_context_pieces *next_pieces(const struct csp_context_tree *tree,
                                                    const struct csp_context_pieces *pieces)
{
    return pieces && pieces->next ? &tree->pieces.data[pieces->next - 1] : NULL;
}

/* Fetches the next pieces while some are added up. */
static void add_pieces(const struct csp_context_tree *tree, uint32_t first,
                       struct csp_context_sums *sums)
{
    const struct csp_context_pieces *pieces = &tree->pieces.data[first - 1], *next;
    fetch(tree, pieces);
    const struct csp_context_pieces *ahead = next_pieces(tree, pieces);
    for (; pieces; pieces = next) {
        next = next_pieces(tree, pieces);
        if (ahead)
            fetch(tree, ahead);
        ahead = next_pieces(tree, ahead);
        if (ahead)
            __builtin_prefetch(ahead);
        for (uint32_t i = 0; i < pieces->len; i++)
            add_counts(tree, pieces->firsts[i], sums);
    }
}

static void add_list(struct csp_context_tree *tree, struct csp_context_list *list,
                     struct csp_context_sums *sums)
{
    size_t first = sums->places.len;
    if (list->in_pieces)
        add_pieces(tree, list->first, sums);
    else
        add_counts(tree, list->first, sums);
    if (list->first)
        shorten(tree, list, sums, first);
}

static void begin(const struct csp_context_tree *tree, struct csp_context_sums *sums)
{
    sums->round++;
    sums->places.len = 0;
    make_room(sums, tree->places.list.len);
}

static void add_zeros(struct csp_context_tree *tree, uint32_t inline_node,
                      struct csp_context_sums *sums)
{
    const struct csp_probes *probes = tree->probes;
    for (uint32_t id = probes->nodes.data[inline_node].first_probe; id != CSP_NO_PROBE;
         id = probes->probes.data[id].next)
        add(sums, csp_context_probe_place(tree, id), 0);
}

void csp_context_settle_lists(struct csp_context_tree *tree, struct csp_context_list *lists,
                              struct csp_context_sums *sums)
{
    sums->round++;
    sums->places.len = 0;
    for (int kind = 0; kind < CSP_LISTS; kind++)
        add_list(tree, &lists[kind], sums);
}

void csp_context_gather_calls(struct csp_context_tree *tree, uint32_t node,
                              struct csp_context_sums *sums)
{
    begin(tree, sums);
    add_list(tree, &tree->nodes.data[node].lists[CSP_LIST_CALLS], sums);
}

void csp_context_gather(struct csp_context_tree *tree, uint32_t node, struct csp_context_sums *sums)
{
    begin(tree, sums);
    for (int kind = 0; kind < CSP_LISTS; kind++)
        add_list(tree, &tree->nodes.data[node].lists[kind], sums);
    size_t listed = sums->places.len, kept = 0;
    for (size_t i = 0; i < listed; i++) {
        const struct csp_context_place place = csp_context_place_at(tree, sums->places.data[i]);
        if (place.kind == CSP_PLACE_ZEROS)
            add_zeros(tree, place.probe, sums);
        else if (place.kind == CSP_PLACE_COUNT && place.name != CSP_INTERN_NONE)
            add(sums, csp_context_place(tree, place.probe, place.discriminator, CSP_INTERN_NONE),
                0);
    }
    for (size_t i = 0; i < sums->places.len; i++)
        if (csp_context_place_at(tree, sums->places.data[i]).kind != CSP_PLACE_ZEROS)
            sums->places.data[kept++] = sums->places.data[i];
    sums->places.len = kept;
}

void csp_context_complete_places(struct csp_context_tree *tree)
{
    for (uint32_t i = 0; i < tree->places.list.len; i++) {
        const struct csp_context_place place = csp_context_place_at(tree, i);
        if (place.kind == CSP_PLACE_COUNT && place.name != CSP_INTERN_NONE)
            csp_context_place(tree, place.probe, place.discriminator, CSP_INTERN_NONE);
        for (uint32_t id = place.kind == CSP_PLACE_ZEROS
                               ? tree->probes->nodes.data[place.probe].first_probe
                               : CSP_NO_PROBE;
             id != CSP_NO_PROBE; id = tree->probes->probes.data[id].next)
            csp_context_probe_place(tree, id);
    }
}

void csp_context_calls_by_place(struct csp_context_tree *tree, const struct csp_context_sums *sums,
                                struct csp_context_sums *calls)
{
    calls->round++;
    calls->places.len = 0;
    for (size_t i = 0; i < sums->places.len; i++) {
        uint32_t id = sums->places.data[i];
        const struct csp_context_place place = csp_context_place_at(tree, id);
        if (place.kind == CSP_PLACE_COUNT && place.name != CSP_INTERN_NONE)
            add(calls, csp_context_place(tree, place.probe, place.discriminator, CSP_INTERN_NONE),
                sums->by_place.data[id].count);
    }
}

static uint64_t first_of_zeros(struct csp_context_tree *tree, uint32_t inline_node)
{
    const struct csp_probes *probes = tree->probes;
    while (tree->zero_firsts.len <= inline_node)
        csp_vec_push(&tree->zero_firsts, UINT64_MAX);
    uint64_t *first = &tree->zero_firsts.data[inline_node];
    for (uint32_t id = *first == UINT64_MAX ? probes->nodes.data[inline_node].first_probe
                                            : CSP_NO_PROBE;
         id != CSP_NO_PROBE; id = probes->probes.data[id].next) {
        const struct csp_probe *probe = &probes->probes.data[id];
        uint64_t key = (uint64_t)probe->index << 32 | probe->discriminator;
        if (key < *first)
            *first = key;
    }
    return *first;
}

/* The lowest place of a node so far, and what was counted there. */
struct lowest {
    uint64_t place, count;
};

static void note_lowest(struct csp_context_tree *tree, const struct csp_context_list *list,
                        struct lowest *lowest)
{
    for (struct csp_context_walk walk = csp_context_walk_begin(tree, list); walk.at;
         csp_context_walk_step(tree, &walk)) {
        const struct csp_context_count *count = &tree->counts.data[walk.at - 1];
        const struct csp_pair *key = &tree->places.list.data[count->place];
        enum csp_context_place_kind kind = (enum csp_context_place_kind)(key->second >> 32);
        if (kind == CSP_PLACE_TYPE)
            continue;
        uint64_t place = kind == CSP_PLACE_ZEROS
                             ? first_of_zeros(tree, (uint32_t)(key->first >> 32))
                             : key->first;
        if (place > lowest->place)
            continue;
        if (place < lowest->place)
            *lowest = (struct lowest){.place = place};
        if (kind == CSP_PLACE_COUNT && (uint32_t)key->second == CSP_INTERN_NONE)
            lowest->count = csp_add_saturating(lowest->count, count->count);
    }
}

uint64_t csp_context_entries(struct csp_context_tree *tree, uint32_t node)
{
    const struct csp_context_node *entered = &tree->nodes.data[node];
    struct lowest lowest = {.place = UINT64_MAX};
    if (entered->head)
        return entered->head;
    for (int kind = 0; kind < CSP_LISTS; kind++)
        note_lowest(tree, &entered->lists[kind], &lowest);
    return lowest.count ? lowest.count : entered->total > 0;
}

void csp_context_sums_free(struct csp_context_sums *sums)
{
    csp_vec_free(&sums->places);
    csp_vec_free(&sums->by_place);
}
