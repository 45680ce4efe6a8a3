/* Contexts of two or more trees that became one, beside the same in one from the beginning. */
#include "unit.h"

#include "base/saturate.h"
#include "profgen/context_join.h"

enum {
    NAMES = 5,
    CALLSITES = 3,
    DEEPEST = 7,
    CONTEXTS = 20000,
    MOST_TREES = 5,
    INLINE_NODES = 3,
    PROBES = 6
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % below);
}

/* Some are so large that two of them are more than can be counted. */
static uint64_t draw_count(uint64_t *state)
{
    return draw(state, 50) ? draw(state, 1000) : UINT64_MAX - draw(state, 1000);
}

/* Counts in a context of up to so many functions. */
static void add_context(struct csp_context_tree *tree, uint64_t seed)
{
    uint32_t node = CSP_PROFILE_TOP, callsite = 0, depth = 1 + draw(&seed, DEEPEST);
    for (uint32_t i = 0; i < depth; i++) {
        node = csp_context_child(tree, node, callsite, 0, draw(&seed, NAMES));
        callsite = 1 + draw(&seed, CALLSITES);
    }
    struct csp_context_node *counted = &tree->nodes.data[node];
    counted->counted = true;
    uint32_t hash = draw(&seed, 4);
    if (!counted->hash) /* the first one wins */
        counted->hash = hash;
    counted->total = csp_add_saturating(counted->total, draw_count(&seed));
    counted->head = csp_add_saturating(counted->head, draw_count(&seed));
    counted->attributes |= (uint8_t)(1U << draw(&seed, 2));
    for (uint32_t i = draw(&seed, 4); i; i--)
        csp_context_add(tree, node, draw(&seed, 10), 0, CSP_INTERN_NONE, draw_count(&seed));
    for (uint32_t i = draw(&seed, 3); i; i--)
        csp_context_add(tree, node, draw(&seed, 10), draw(&seed, 2), draw(&seed, NAMES),
                        draw_count(&seed));
    if (draw(&seed, 3) == 0)
        csp_context_add_zeros(tree, node, draw(&seed, INLINE_NODES));
}

static uint32_t find_child(const struct csp_context_tree *tree, uint32_t parent,
                           const struct csp_pair *edge)
{
    uint32_t place = csp_pairs_find(&tree->places, edge->first, edge->second);
    return place == CSP_NO_PAIR ? CSP_PROFILE_TOP : csp_context_find(tree, parent, place);
}

static void assert_same_counts(struct csp_context_tree *a, uint32_t a_node,
                               struct csp_context_tree *b, uint32_t b_node)
{
    struct csp_context_sums sums = {0}, expected = {0};
    csp_context_gather(a, a_node, &sums);
    csp_context_gather(b, b_node, &expected);
    assert_int_equal(sums.places.len, expected.places.len);
    for (size_t i = 0; i < sums.places.len; i++) {
        const struct csp_pair *place = &a->places.list.data[sums.places.data[i]];
        uint32_t same = csp_pairs_find(&b->places, place->first, place->second);
        assert_true(csp_context_sum(&sums, sums.places.data[i]) ==
                    csp_context_sum(&expected, same));
    }
    csp_context_sums_free(&sums);
    csp_context_sums_free(&expected);
}

static void assert_same_node(const struct csp_context_node *node,
                             const struct csp_context_node *expected)
{
    assert_int_equal(node->counted, expected->counted);
    assert_true(node->total == expected->total && node->head == expected->head);
    assert_true(node->hash == expected->hash);
    assert_int_equal(node->attributes, expected->attributes);
}

/* Walks the lists of children of one and looks each up in the other. Returns how many there are. */
static size_t compare(struct csp_context_tree *a, uint32_t a_node, struct csp_context_tree *b,
                      uint32_t b_node)
{
    size_t count = 0;
    uint32_t previous = 0;
    for (uint32_t child = csp_context_children(a, a_node); child;
         child = a->nodes.data[child - 1].next) {
        const struct csp_context_node *node = &a->nodes.data[child - 1];
        assert_int_equal(node->parent, a_node);
        assert_int_equal(node->previous, previous);
        previous = child;
        assert_int_equal(csp_context_find(a, a_node, node->edge), child - 1);
        uint32_t same = find_child(b, b_node, &a->places.list.data[node->edge]);
        assert_int_not_equal(same, CSP_PROFILE_TOP);
        assert_same_node(node, &b->nodes.data[same]);
        assert_same_counts(a, child - 1, b, same);
        count += 1 + compare(a, child - 1, b, same);
    }
    return count;
}

/* Each set of zeros is of some probes. */
static void add_probes(struct csp_probes *probes)
{
    for (uint32_t i = 0; i < INLINE_NODES; i++)
        csp_vec_push(&probes->nodes, (struct csp_probe_node){.first_probe = i});
    for (uint32_t i = 0; i < PROBES; i++)
        csp_vec_push(&probes->probes,
                     (struct csp_probe){
                         .index = 2 * i,
                         .node = i % INLINE_NODES,
                         .next = i + INLINE_NODES < PROBES ? i + INLINE_NODES : CSP_NO_PROBE,
                     });
}

static void free_probes(struct csp_probes *probes)
{
    csp_vec_free(&probes->nodes);
    csp_vec_free(&probes->probes);
}

static void assert_has_all_kinds(const struct csp_context_tree *tree)
{
    size_t saturated = 0, called = 0, zeros = 0;
    for (size_t i = 0; i < tree->nodes.len; i++) {
        const struct csp_context_node *node = &tree->nodes.data[i];
        saturated += node->total == UINT64_MAX && node->head == UINT64_MAX;
        called += node->lists[CSP_LIST_CALLS].first != 0;
        zeros += node->zeros != 0;
    }
    assert_true(saturated && called && zeros);
}

static void join_some(unsigned trees, unsigned threads)
{
    struct csp_probes probes = {0};
    struct csp_context_tree parts[MOST_TREES] = {0}, whole = {.probes = &probes};
    add_probes(&probes);
    for (unsigned i = 0; i < trees; i++)
        parts[i].probes = &probes;
    for (uint64_t i = 0; i < CONTEXTS; i++) {
        add_context(&whole, i * i);
        add_context(&parts[i * trees / CONTEXTS], i * i);
    }
    for (unsigned i = 1; i < trees; i++) {
        csp_context_join(&parts[0], &parts[i], threads);
        assert_int_equal(parts[i].nodes.len, 0);
    }
    assert_int_equal(parts[0].nodes.len, whole.nodes.len);
    assert_int_equal(compare(&parts[0], CSP_PROFILE_TOP, &whole, CSP_PROFILE_TOP), whole.nodes.len);
    assert_has_all_kinds(&whole);
    csp_context_free(&parts[0]);
    csp_context_free(&whole);
    free_probes(&probes);
}

static void two_trees_become_one(void **state)
{
    (void)state;
    join_some(2, 1);
    join_some(2, 3);
}

static void several_trees_become_one(void **state)
{
    (void)state;
    join_some(MOST_TREES, 2);
}

static void a_tree_without_nodes_takes_and_is_taken(void **state)
{
    (void)state;
    struct csp_context_tree tree = {0}, none = {0}, other = {0}, same = {0};
    struct csp_probes probes = {0};
    add_probes(&probes);
    tree.probes = none.probes = other.probes = same.probes = &probes;
    add_context(&other, 1);
    add_context(&same, 1);
    csp_context_join(&tree, &none, 2);
    assert_int_equal(tree.nodes.len, 0);
    csp_context_join(&tree, &other, 2);
    csp_context_join(&tree, &none, 2);
    assert_int_equal(compare(&tree, CSP_PROFILE_TOP, &same, CSP_PROFILE_TOP), same.nodes.len);
    csp_context_free(&tree);
    csp_context_free(&same);
    free_probes(&probes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_trees_become_one),
        cmocka_unit_test(several_trees_become_one),
        cmocka_unit_test(a_tree_without_nodes_takes_and_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
