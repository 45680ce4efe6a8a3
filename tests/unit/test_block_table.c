/* Block tables: from an instruction to the next waypoint and on, found out once. */
#include "unit.h"

#include "base/alloc.h"
#include "decode/code/block_table.h"

#include <stdlib.h>

static const uint32_t code[] = {
    /* 0 */ 0xd503201f, /* nop */
    /* 1 */ 0x54000060, /* b.eq 4 */
    /* 2 */ 0x94000003, /* bl 5 */
    /* 3 */ 0xd65f03c0, /* ret */
    /* 4 */ 0xd503205f, /* wfe */
    /* 5 */ 0x17fffffb, /* b 0 */
    /* 6 */ 0xd5033fdf, /* isb */
    /* 7 */ 0x17ffffc0, /* b, to before the code */
    /* 8 */ 0xd503201f, /* nop: the code ends */
};

static struct csp_block block_at(struct csp_block_table *table, uint32_t word)
{
    return *csp_block_numbered(table, csp_block_table_at(table, word));
}

static void a_block_goes_up_to_the_next_waypoint(void **state)
{
    (void)state;
    struct csp_block_cache *cache = csp_block_cache_create(code, sizeof code);
    struct csp_block_table *table = csp_block_cache_table(cache, CSP_ISA_A64, false);
    static const struct {
        uint32_t word, count;
        enum csp_branch_kind kind;
        bool branches, runs_out;
    } rows[] = {
        {0, 2, CSP_BRANCH_CONDITIONAL, true, false}, {1, 1, CSP_BRANCH_CONDITIONAL, true, false},
        {2, 1, CSP_BRANCH_CALL, true, false},        {3, 1, CSP_BRANCH_RETURN, true, false},
        {4, 2, CSP_BRANCH_DIRECT, true, false},      {6, 1, CSP_BRANCH_UNKNOWN, false, false},
        {7, 1, CSP_BRANCH_DIRECT, true, false},      {8, 1, CSP_BRANCH_UNKNOWN, false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct csp_block block = block_at(table, rows[i].word);
        assert_int_equal(csp_block_start(&block), 4 * rows[i].word);
        assert_int_equal(csp_block_count(&block), rows[i].count);
        assert_int_equal(csp_block_kind(&block), rows[i].kind);
        assert_int_equal(csp_block_branches(&block), rows[i].branches);
        assert_int_equal(csp_block_runs_out(&block), rows[i].runs_out);
    }
    csp_block_cache_destroy(cache);
}

static void waits_are_waypoints_where_the_trace_unit_says_so(void **state)
{
    (void)state;
    struct csp_block_cache *cache = csp_block_cache_create(code, sizeof code);
    struct csp_block_table *table = csp_block_cache_table(cache, CSP_ISA_A64, true);
    struct csp_block block = block_at(table, 4);
    assert_int_equal(csp_block_count(&block), 1);
    assert_false(csp_block_branches(&block));
    csp_block_cache_destroy(cache);
}

static uint32_t follow(struct csp_block_table *table, uint32_t word, unsigned taken)
{
    uint32_t number = csp_block_table_at(table, word);
    uint32_t link = csp_block_numbered(table, number)->ways[taken].next;
    if (link != CSP_BLOCK_INDIRECT)
        link = csp_block_table_link(table, number, taken);
    assert_int_equal(csp_block_numbered(table, number)->ways[taken].next, link);
    return link;
}

static void links_lead_to_what_follows(void **state)
{
    (void)state;
    struct csp_block_cache *cache = csp_block_cache_create(code, sizeof code);
    struct csp_block_table *table = csp_block_cache_table(cache, CSP_ISA_A64, false);
    assert_int_equal(csp_block_start(csp_block_numbered(table, follow(table, 0, 0))), 4 * 2);
    assert_int_equal(csp_block_start(csp_block_numbered(table, follow(table, 0, 1))), 4 * 4);
    assert_int_equal(csp_block_start(csp_block_numbered(table, follow(table, 2, 1))), 4 * 5);
    assert_int_equal(csp_block_start(csp_block_numbered(table, follow(table, 3, 0))), 4 * 4);
    assert_int_equal(follow(table, 3, 1), CSP_BLOCK_INDIRECT);
    assert_int_equal(csp_block_start(csp_block_numbered(table, follow(table, 6, 1))),
                     4 * 7); /* a barrier goes on */
    assert_int_equal(follow(table, 7, 1), CSP_BLOCK_OUTSIDE);
    assert_int_equal(follow(table, 7, 0), CSP_BLOCK_OUTSIDE); /* a block that runs out */
    csp_block_cache_destroy(cache);
}

static void code_that_ends_in_the_middle_of_an_instruction_ends_before_it(void **state)
{
    (void)state;
    struct csp_block_cache *cache = csp_block_cache_create(code, 4 * 2 - 1);
    struct csp_block_table *table = csp_block_cache_table(cache, CSP_ISA_A64, false);
    assert_int_equal(table->words, 1);
    struct csp_block block = block_at(table, 0);
    assert_true(csp_block_runs_out(&block));
    csp_block_cache_destroy(cache);
}

/* Of code that much is traced in, slots are made a piece at a time. */
static void large_code_has_blocks_all_over(void **state)
{
    enum { WORDS = 3 * (1 << 16) + 100, APART = 97 };
    (void)state;
    uint32_t *returns = csp_malloc(WORDS * sizeof *returns);
    for (uint32_t i = 0; i < WORDS; i++)
        returns[i] = code[3];
    struct csp_block_cache *cache = csp_block_cache_create(returns, WORDS * sizeof *returns);
    struct csp_block_table *table = csp_block_cache_table(cache, CSP_ISA_A64, false);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t word = WORDS - 1; word >= APART; word -= APART) {
            struct csp_block block = block_at(table, word);
            assert_int_equal(csp_block_start(&block), 4 * word);
            assert_int_equal(csp_block_count(&block), 1);
        }
    }
    csp_block_cache_destroy(cache);
    free(returns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_goes_up_to_the_next_waypoint),
        cmocka_unit_test(waits_are_waypoints_where_the_trace_unit_says_so),
        cmocka_unit_test(links_lead_to_what_follows),
        cmocka_unit_test(code_that_ends_in_the_middle_of_an_instruction_ends_before_it),
        cmocka_unit_test(large_code_has_blocks_all_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
