#include "profgen/contexts.h"

#include "base/alloc.h"
#include "base/saturate.h"

static uint64_t both(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static uint32_t place_of(struct csp_context_tree *tree, uint32_t probe, uint32_t discriminator,
                         uint32_t name, enum csp_context_place_kind kind)
{
    return csp_pairs_at(&tree->places, both(probe, discriminator), both(kind, name));
}

uint32_t csp_context_place(struct csp_context_tree *tree, uint32_t probe, uint32_t discriminator,
                           uint32_t name)
{
    return place_of(tree, probe, discriminator, name, CSP_PLACE_COUNT);
}

uint32_t csp_context_find_place(const struct csp_context_tree *tree, uint32_t probe,
                                uint32_t discriminator, uint32_t name)
{
    return csp_pairs_find(&tree->places, both(probe, discriminator), both(CSP_PLACE_COUNT, name));
}

uint32_t csp_context_probe_place(struct csp_context_tree *tree, uint32_t probe)
{
    while (tree->probe_places.len <= probe)
        csp_vec_push(&tree->probe_places, 0);
    uint32_t *place = &tree->probe_places.data[probe];
    if (!*place) {
        const struct csp_probe *at = &tree->probes->probes.data[probe];
        *place = csp_context_place(tree, at->index, at->discriminator, CSP_INTERN_NONE) + 1;
    }
    return *place - 1;
}

/* A node that was moved also is in the slot where it was: it is no longer found there. */
uint32_t csp_context_find(const struct csp_context_tree *tree, uint32_t parent, uint32_t edge)
{
    if (!tree->slots)
        return CSP_PROFILE_TOP;
    for (uint32_t i = csp_context_slot(tree, parent, edge); tree->slots[i];
         i = (i + 1) & tree->mask) {
        const struct csp_context_node *node = &tree->nodes.data[tree->slots[i] - 1];
        if (node->parent == parent && node->edge == edge)
            return tree->slots[i] - 1;
    }
    return CSP_PROFILE_TOP;
}

static void fill_slot(struct csp_context_tree *tree, uint32_t node)
{
    const struct csp_context_node *filled = &tree->nodes.data[node];
    uint32_t i = csp_context_slot(tree, filled->parent, filled->edge);
    while (tree->slots[i])
        i = (i + 1) & tree->mask;
    tree->slots[i] = node + 1;
    tree->slots_in++;
}

#define NO_EDGE UINT32_MAX

/* Makes room for so many nodes, and forgets where nodes were. */
static void make_slots(struct csp_context_tree *tree, size_t nodes)
{
    uint32_t size = 64;
    while (size / 8 * 3 < nodes)
        size *= 2;
    free(tree->slots);
    tree->slots = csp_calloc_table(size, sizeof *tree->slots);
    tree->mask = size - 1;
    tree->slots_in = 0;
    for (size_t i = 0; i < tree->nodes.len; i++)
        if (tree->nodes.data[i].edge != NO_EDGE)
            fill_slot(tree, (uint32_t)i);
}

/* Makes room for one more. */
static void grow_slots(struct csp_context_tree *tree)
{
    size_t live = 0;
    for (size_t i = 0; i < tree->nodes.len; i++)
        live += tree->nodes.data[i].edge != NO_EDGE;
    make_slots(tree, live);
}

void csp_context_expect(struct csp_context_tree *tree, size_t nodes)
{
    make_slots(tree, tree->nodes.len + nodes);
}

void csp_context_reserve(struct csp_context_tree *tree, size_t nodes)
{
    csp_vec_reserve(&tree->nodes, nodes);
    if (!tree->slots || tree->slots_in + nodes >= tree->mask / 2)
        csp_context_expect(tree, nodes);
    tree->slots_in += (uint32_t)nodes;
}

void csp_context_publish(struct csp_context_tree *tree, uint32_t node)
{
    const struct csp_context_node *published = &tree->nodes.data[node];
    uint32_t i = csp_context_slot(tree, published->parent, published->edge), free = 0;
    while (!__atomic_compare_exchange_n(&tree->slots[i], &free, node + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
        i = (i + 1) & tree->mask;
        free = 0;
    }
}

static uint32_t *first_child(struct csp_context_tree *tree, uint32_t parent)
{
    return parent == CSP_PROFILE_TOP ? &tree->top : &tree->nodes.data[parent].child;
}

uint32_t csp_context_children(const struct csp_context_tree *tree, uint32_t node)
{
    return node == CSP_PROFILE_TOP ? tree->top : tree->nodes.data[node].child;
}

void csp_context_prepend(struct csp_context_tree *tree, uint32_t node)
{
    struct csp_context_node *linked = &tree->nodes.data[node];
    uint32_t *first = first_child(tree, linked->parent);
    linked->previous = 0;
    linked->next = *first;
    if (*first)
        tree->nodes.data[*first - 1].previous = node + 1;
    *first = node + 1;
}

void csp_context_link(struct csp_context_tree *tree, uint32_t node, uint32_t parent, uint32_t edge)
{
    tree->nodes.data[node].parent = parent;
    tree->nodes.data[node].edge = edge;
    csp_context_prepend(tree, node);
    if (!tree->slots || tree->slots_in >= tree->mask / 2)
        grow_slots(tree);
    else
        fill_slot(tree, node);
}

void csp_context_unlink(struct csp_context_tree *tree, uint32_t node)
{
    const struct csp_context_node *unlinked = &tree->nodes.data[node];
    if (unlinked->next)
        tree->nodes.data[unlinked->next - 1].previous = unlinked->previous;
    if (unlinked->previous)
        tree->nodes.data[unlinked->previous - 1].next = unlinked->next;
    else
        *first_child(tree, unlinked->parent) = unlinked->next;
}

void csp_context_drop(struct csp_context_tree *tree, uint32_t node)
{
    tree->nodes.data[node].edge = NO_EDGE;
}

/* A child, or CSP_PROFILE_TOP. While a tree is made, a child is mostly one of the newest few of its
 * parent, or there are no others: these are at hand, and where else to look is not. */
static uint32_t find_newest_first(const struct csp_context_tree *tree, uint32_t parent,
                                  uint32_t edge)
{
    enum { FEW = 4 };
    uint32_t child = csp_context_children(tree, parent);
    for (int i = 0; child && i < FEW; i++) {
        if (tree->nodes.data[child - 1].edge == edge)
            return child - 1;
        child = tree->nodes.data[child - 1].next;
    }
    return child ? csp_context_find(tree, parent, edge) : CSP_PROFILE_TOP;
}

uint32_t csp_context_child_at(struct csp_context_tree *tree, uint32_t parent, uint32_t edge)
{
    uint32_t known = find_newest_first(tree, parent, edge);
    if (known != CSP_PROFILE_TOP)
        return known;
    csp_vec_push(&tree->nodes, (struct csp_context_node){.edge = NO_EDGE});
    uint32_t made = (uint32_t)tree->nodes.len - 1;
    csp_context_link(tree, made, parent, edge);
    return made;
}

uint32_t csp_context_child(struct csp_context_tree *tree, uint32_t parent, uint32_t callsite,
                           uint32_t discriminator, uint32_t name)
{
    return csp_context_child_at(tree, parent,
                                csp_context_place(tree, callsite, discriminator, name));
}

/* A list in pieces. */
static struct csp_context_list in_pieces(struct csp_context_tree *tree,
                                         struct csp_context_list list)
{
    if (list.in_pieces)
        return list;
    csp_vec_push(&tree->pieces, (struct csp_context_pieces){.len = 1, .firsts = {list.first}});
    uint32_t made = (uint32_t)tree->pieces.len;
    return (struct csp_context_list){made, true, made};
}

static void hang(struct csp_context_tree *tree, struct csp_context_list *list,
                 struct csp_context_list other)
{
    enum { MOST = sizeof tree->pieces.data->firsts / sizeof *tree->pieces.data->firsts };
    if (!list->first) {
        *list = other;
        return;
    }
    *list = in_pieces(tree, *list);
    struct csp_context_pieces *last = &tree->pieces.data[list->last - 1];
    if (!other.in_pieces && last->len < MOST) {
        last->firsts[last->len++] = other.first;
        return;
    }
    other = in_pieces(tree, other);
    tree->pieces.data[list->last - 1].next = other.first;
    list->last = other.last;
}

/* A new count at the end of a node's list. */
static uint64_t *append(struct csp_context_tree *tree, uint32_t node, uint32_t place)
{
    struct csp_context_list *lists = tree->nodes.data[node].lists;
    struct csp_context_list *list =
        &lists[csp_context_is_call(tree, place) ? CSP_LIST_CALLS : CSP_LIST_PROBES];
    csp_vec_push(&tree->counts, (struct csp_context_count){.place = place});
    uint32_t made = (uint32_t)tree->counts.len;
    if (list->first && !list->in_pieces) {
        tree->counts.data[list->last - 1].next = made;
        list->last = made;
    } else {
        hang(tree, list, (struct csp_context_list){.first = made, .last = made});
    }
    return &tree->counts.data[made - 1].count;
}

static uint64_t *indexed(struct csp_context_tree *tree, uint32_t node, uint32_t place)
{
    uint32_t id = csp_numbers_at(&tree->index, both(node, place));
    return id == tree->counts.len ? append(tree, node, place) : &tree->counts.data[id].count;
}

void csp_context_add_at(struct csp_context_tree *tree, uint32_t node, uint32_t place,
                        uint64_t count)
{
    uint64_t *known = tree->indexed ? indexed(tree, node, place) : append(tree, node, place);
    *known = csp_add_saturating(*known, count);
}

void csp_context_add(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                     uint32_t discriminator, uint32_t callee, uint64_t count)
{
    csp_context_add_at(tree, node, csp_context_place(tree, probe, discriminator, callee), count);
}

void csp_context_add_type(struct csp_context_tree *tree, uint32_t node, uint32_t line,
                          uint32_t discriminator, uint32_t table, uint64_t count)
{
    csp_context_add_at(tree, node, place_of(tree, line, discriminator, table, CSP_PLACE_TYPE),
                       count);
}

void csp_context_add_zeros(struct csp_context_tree *tree, uint32_t node, uint32_t inline_node)
{
    if (tree->nodes.data[node].zeros == inline_node + 1)
        return;
    tree->nodes.data[node].zeros = inline_node + 1;
    csp_context_add_at(tree, node, place_of(tree, inline_node, 0, 0, CSP_PLACE_ZEROS), 0);
}

void csp_context_hang(struct csp_context_tree *tree, uint32_t node, enum csp_context_list_kind kind,
                      struct csp_context_list list)
{
    if (list.first)
        hang(tree, &tree->nodes.data[node].lists[kind], list);
}

void csp_context_raise(struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                       uint32_t discriminator, uint64_t count)
{
    uint64_t *known =
        indexed(tree, node, csp_context_place(tree, probe, discriminator, CSP_INTERN_NONE));
    if (*known < count)
        *known = count;
}

uint64_t csp_context_count_at(const struct csp_context_tree *tree, uint32_t node, uint32_t probe,
                              uint32_t discriminator)
{
    uint32_t place = csp_context_find_place(tree, probe, discriminator, CSP_INTERN_NONE);
    uint32_t id =
        place == CSP_NO_PAIR ? CSP_NUMBERS_NONE : csp_numbers_find(&tree->index, both(node, place));
    return id == CSP_NUMBERS_NONE ? 0 : tree->counts.data[id].count;
}

void csp_context_end_index(struct csp_context_tree *tree)
{
    csp_numbers_free(&tree->index);
    tree->indexed = false;
}

void csp_context_free(struct csp_context_tree *tree)
{
    csp_vec_free(&tree->nodes);
    csp_vec_free(&tree->counts);
    csp_vec_free(&tree->pieces);
    csp_pairs_free(&tree->places);
    csp_numbers_free(&tree->index);
    csp_vec_free(&tree->probe_places);
    csp_vec_free(&tree->zero_firsts);
    free(tree->slots);
    *tree = (struct csp_context_tree){0};
}
