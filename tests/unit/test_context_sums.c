/* The counts of contexts, added up by several threads beside what was counted. */
#include "unit.h"

#include "base/parallel.h"
#include "profgen/contexts.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_threads_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
