/* Counts that are added up while others are still being merged. */
#include "unit.h"

#include "profgen/context_merge.h"
#include "profgen/context_settle.h"

#include <time.h>

enum { FUNCTIONS = 400, CONTEXTS = 60, PROBES = 7, CALLEE = FUNCTIONS + 1 };

static uint32_t callee_of(uint32_t probe)
{
    return probe % 2 ? CALLEE : CSP_INTERN_NONE;
}

static void make_tree(struct csp_context_tree *tree)
{
    for (uint32_t context = 0; context < CONTEXTS; context++)
        for (uint32_t name = 0; name < FUNCTIONS; name++) {
            uint32_t node = csp_context_child(tree, CSP_PROFILE_TOP, context, 0, name);
            for (uint32_t probe = 0; probe < PROBES; probe++)
                csp_context_add(tree, node, probe, 0, callee_of(probe), context + name + probe);
        }
}

/* A function's contexts become its first one. */
static uint32_t merge(struct csp_context_tree *tree, uint32_t name)
{
    uint32_t base = csp_context_child(tree, CSP_PROFILE_TOP, 0, 0, name);
    for (uint32_t context = 1; context < CONTEXTS; context++)
        csp_context_merge_counts(tree, csp_context_child(tree, CSP_PROFILE_TOP, context, 0, name),
                                 base);
    return base;
}

static void assert_has_sums(struct csp_context_tree *tree, uint32_t name)
{
    struct csp_context_sums sums = {0};
    csp_context_gather(tree, csp_context_child(tree, CSP_PROFILE_TOP, 0, 0, name), &sums);
    for (uint32_t probe = 0; probe < PROBES; probe++)
        assert_int_equal(
            csp_context_sum(&sums, csp_context_place(tree, probe, 0, callee_of(probe))),
            CONTEXTS * (name + probe) + CONTEXTS * (CONTEXTS - 1) / 2);
    csp_context_sums_free(&sums);
}

/* Some that the thread does not come to are added up later. */
static void counts_are_settled_while_others_are_merged(void **state)
{
    (void)state;
    struct csp_context_tree tree = {0};
    make_tree(&tree);
    struct csp_context_settler *settler = csp_context_settler_begin(&tree);
    assert_non_null(settler);
    for (uint32_t name = 0; name < FUNCTIONS; name++)
        csp_context_settle(settler, merge(&tree, name));
    csp_context_settler_end(settler);
    for (uint32_t name = 0; name < FUNCTIONS; name++)
        assert_has_sums(&tree, name);
    csp_context_free(&tree);
}

static size_t counts_of(const struct csp_context_tree *tree, uint32_t node)
{
    size_t count = 0;
    for (int kind = 0; kind < CSP_LISTS; kind++) {
        struct csp_context_walk walk =
            csp_context_walk_begin(tree, &tree->nodes.data[node].lists[kind]);
        for (; walk.at; csp_context_walk_step(tree, &walk))
            count++;
    }
    return count;
}

/* What the thread did shows when it has ended: it gets more time until it came to something. */
static void the_thread_makes_lists_shorter(void **state)
{
    (void)state;
    enum { TRIES = 10 };
    struct csp_context_tree tree = {0};
    make_tree(&tree);
    uint32_t node = merge(&tree, 0);
    assert_int_equal(counts_of(&tree, node), CONTEXTS * PROBES);
    struct timespec time = {.tv_nsec = 1000000};
    for (int i = 0; i < TRIES && counts_of(&tree, node) > PROBES; i++, time.tv_nsec *= 2) {
        struct csp_context_settler *settler = csp_context_settler_begin(&tree);
        csp_context_settle(settler, node);
        nanosleep(&time, NULL);
        csp_context_settler_end(settler);
    }
    assert_int_equal(counts_of(&tree, node), PROBES);
    assert_has_sums(&tree, 0);
    csp_context_free(&tree);
}

static void nothing_is_to_be_settled(void **state)
{
    (void)state;
    struct csp_context_tree tree = {0};
    csp_context_settler_end(csp_context_settler_begin(&tree));
    csp_context_settle(NULL, 0);
    csp_context_settler_end(NULL);
    csp_context_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_settled_while_others_are_merged),
        cmocka_unit_test(the_thread_makes_lists_shorter),
        cmocka_unit_test(nothing_is_to_be_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
