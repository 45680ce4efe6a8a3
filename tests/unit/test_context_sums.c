/* The counts of contexts, added up by several threads beside what was counted. */
#include "unit.h"

#include "base/parallel.h"
#include "profgen/context_merge.h"

enum { NODES = 4000, PROBES = 16, THREADS = 4, CALLEE = 5 };

struct gathering {
    struct csp_context_tree *tree;
    uint64_t wrong[THREADS];
};

/* What is counted at a probe of a node, and of its calls. */
static uint64_t count_of(uint32_t node, uint32_t probe)
{
    return node * UINT64_C(31) + probe;
}

static void make_tree(struct csp_context_tree *tree, bool indexed)
{
    tree->indexed = indexed;
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t node = csp_context_child(tree, CSP_PROFILE_TOP, 0, 0, i);
        for (uint32_t probe = 0; probe < PROBES; probe++)
            for (int twice = 0; twice < 2; twice++)
                csp_context_add(tree, node, probe, 0, probe % 2 ? CALLEE : CSP_INTERN_NONE,
                                count_of(node, probe));
    }
    csp_context_end_index(tree);
}

static void gather_part(void *user, unsigned worker)
{
    struct gathering *gathering = user;
    struct csp_context_tree *tree = gathering->tree;
    struct csp_context_sums sums = {0};
    for (uint32_t node = worker; node < NODES; node += THREADS) {
        csp_context_gather(tree, node, &sums);
        gathering->wrong[worker] += sums.places.len != PROBES + PROBES / 2;
        for (uint32_t probe = 0; probe < PROBES; probe++) {
            uint32_t place =
                csp_context_place(tree, probe, 0, probe % 2 ? CALLEE : CSP_INTERN_NONE);
            gathering->wrong[worker] += csp_context_sum(&sums, place) != 2 * count_of(node, probe);
        }
    }
    csp_context_sums_free(&sums);
}

static void several_threads_add_up(void **state)
{
    (void)state;
    for (int indexed = 0; indexed <= 1; indexed++) {
        struct csp_context_tree tree = {0};
        struct gathering gathering = {.tree = &tree};
        make_tree(&tree, indexed);
        csp_context_complete_places(&tree);
        csp_parallel(THREADS, gather_part, &gathering);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(gathering.wrong[i], 0);
        csp_context_free(&tree);
    }
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % below);
}

static void assert_has(struct csp_context_tree *tree, uint32_t node, const uint64_t *expected)
{
    struct csp_context_sums sums = {0};
    csp_context_gather(tree, node, &sums);
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t place = csp_context_place(tree, probe, 0, probe % 2 ? CALLEE : CSP_INTERN_NONE);
        assert_int_equal(csp_context_sum(&sums, place), expected[probe]);
    }
    csp_context_sums_free(&sums);
}

/* Lists of few and of many pieces, hung at each other, in which counts are added up meanwhile and
 * to which others are added. */
static void lists_are_hung_at_lists(void **state)
{
    (void)state;
    enum { LISTS = 300, STEPS = 4 * LISTS };
    static uint64_t expected[LISTS][PROBES];
    struct csp_context_tree tree = {0};
    uint64_t seed = 1;
    for (uint32_t i = 0; i < LISTS; i++)
        csp_context_child(&tree, CSP_PROFILE_TOP, 0, 0, i);
    for (int step = 0; step < STEPS; step++) {
        uint32_t to = draw(&seed, LISTS) * draw(&seed, LISTS) / LISTS, from = draw(&seed, LISTS);
        for (uint32_t probe = draw(&seed, PROBES); probe < PROBES; probe += 1 + draw(&seed, 4)) {
            csp_context_add(&tree, from, probe, 0, probe % 2 ? CALLEE : CSP_INTERN_NONE, step);
            expected[from][probe] += (uint64_t)step;
        }
        if (!draw(&seed, 3))
            assert_has(&tree, to, expected[to]);
        if (from == to)
            continue;
        csp_context_merge_counts(&tree, from, to);
        for (int kind = 0; kind < CSP_LISTS; kind++)
            tree.nodes.data[from].lists[kind] = (struct csp_context_list){0};
        for (int probe = 0; probe < PROBES; probe++) {
            expected[to][probe] += expected[from][probe];
            expected[from][probe] = 0;
        }
    }
    for (uint32_t i = 0; i < LISTS; i++)
        assert_has(&tree, i, expected[i]);
    csp_context_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_threads_add_up),
        cmocka_unit_test(lists_are_hung_at_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
