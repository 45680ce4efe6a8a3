/* Block tables that are kept: the same blocks and links as found, for the same code alone. */
#include "unit.h"

#include "base/alloc.h"
#include "base/build_id.h"
#include "cache/store.h"
#include "decode/code/block_store.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 400, WORDS = 2 * BLOCKS };
static uint32_t code[WORDS];
static const struct csp_build_id build_id = {4, {1, 2, 3, 4}}, other_id = {4, {1, 2, 3, 5}};
static char *folder;
static struct csp_store *store;

/* nop, b.eq to two blocks further; the last runs out. */
static void make_code(void)
{
    for (unsigned i = 0; i < BLOCKS; i++) {
        code[2 * i] = 0xd503201f;
        code[2 * i + 1] = i + 1 < BLOCKS ? 0x54000060 + 0x20 * 2 : 0xd503201f;
    }
}

static struct csp_block_cache *open_cache(const struct csp_build_id *id,
                                          struct csp_block_table **table)
{
    struct csp_block_cache *cache = csp_block_cache_create(code, sizeof code);
    csp_block_cache_keep(cache, store, id);
    *table = csp_block_cache_table(cache, CSP_ISA_A64, false);
    return cache;
}

/* Finds the blocks, each and what follows it, and keeps them. */
static void find_blocks(unsigned count)
{
    struct csp_block_table *table;
    struct csp_block_cache *cache = open_cache(&build_id, &table);
    for (unsigned i = 0; i < count; i++) {
        uint32_t number = csp_block_table_at(table, 2 * i);
        csp_block_table_link(table, number, 0);
        csp_block_table_link(table, number, 1);
    }
    csp_block_cache_destroy(cache);
}

/* How many blocks a cache has from the start. */
static uint32_t kept(const struct csp_build_id *id)
{
    struct csp_block_table *table;
    struct csp_block_cache *cache = open_cache(id, &table);
    uint32_t count = (table->used - CSP_BLOCK_NUMBER_FIRST) / CSP_BLOCK_UNITS;
    csp_block_cache_destroy(cache);
    return count;
}

static void blocks_and_links_are_kept(void **state)
{
    (void)state;
    find_blocks(BLOCKS);
    struct csp_block_table *table, *fresh;
    struct csp_block_cache *cache = open_cache(&build_id, &table);
    struct csp_block_cache *other = csp_block_cache_create(code, sizeof code);
    fresh = csp_block_cache_table(other, CSP_ISA_A64, false);
    uint32_t used = table->used;
    for (unsigned i = 0; i < BLOCKS; i++) {
        const struct csp_block *got = csp_block_numbered(table, csp_block_table_at(table, 2 * i));
        uint32_t number = csp_block_table_at(fresh, 2 * i);
        const struct csp_block *wanted = csp_block_numbered(fresh, number);
        for (unsigned taken = 0; taken < 2; taken++) {
            assert_memory_equal(&got->ways[taken], &wanted->ways[taken],
                                offsetof(struct csp_way, next));
            uint32_t link = csp_block_table_link(fresh, number, taken);
            uint32_t kept_link = got->ways[taken].next;
            if (link < CSP_BLOCK_FIRST)
                assert_int_equal(kept_link, link);
            else
                assert_int_equal(csp_block_start(csp_block_numbered(table, kept_link)),
                                 csp_block_start(csp_block_numbered(fresh, link)));
        }
    }
    assert_int_equal(table->used, used);
    assert_true(csp_block_table_slot(table, WORDS - 2) & CSP_SLOT_RUNS_OUT);
    csp_block_cache_destroy(other);
    csp_block_cache_destroy(cache);
}

static void other_code_is_not_taken_for_it(void **state)
{
    (void)state;
    find_blocks(BLOCKS);
    assert_int_equal(kept(&build_id), BLOCKS);
    assert_int_equal(kept(&other_id), 0);
    code[0] = 0x91000421; /* under the same build-id */
    assert_int_equal(kept(&build_id), 0);
    make_code();
    assert_int_equal(kept(&build_id), BLOCKS);
}

static void few_blocks_are_not_worth_it(void **state)
{
    (void)state;
    find_blocks(100);
    assert_int_equal(kept(&build_id), 0);
}

static void a_table_that_grew_is_kept_again(void **state)
{
    (void)state;
    find_blocks(300);
    uint32_t before = kept(&build_id);
    assert_true(before >= 300 && before < BLOCKS);
    find_blocks(BLOCKS);
    assert_int_equal(kept(&build_id), BLOCKS);
}

/* Blocks whose checksum is right and which are none: as if another program had written them. */
static void blocks_that_lead_astray_are_not_believed(void **state)
{
    (void)state;
    find_blocks(BLOCKS);
    struct csp_block_table *table;
    struct csp_block_cache *cache = open_cache(&build_id, &table);
    static const uint32_t links[] = {1000 * CSP_BLOCK_UNITS, CSP_BLOCK_NUMBER_FIRST + 1};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct csp_block *block = csp_block_numbered(table, csp_block_table_at(table, 10));
        uint32_t link = block->ways[1].next;
        block->ways[1].next = links[i];
        csp_block_table_save(table, store, &build_id, 0);
        block->ways[1].next = link;
        assert_int_equal(kept(&build_id), 0);
    }
    csp_block_cache_destroy(cache);
}

/* Tags are what an element begins with: of another type, taken three times, of no known kind … */
static void tags_that_no_block_has_are_not_believed(void **state)
{
    (void)state;
    find_blocks(BLOCKS);
    struct csp_block_table *table;
    struct csp_block_cache *cache = open_cache(&build_id, &table);
    struct csp_block *block = csp_block_numbered(table, csp_block_table_at(table, 10));
    static const uint32_t forged[] = {1,       0xff << CSP_TAG_KIND, 2 << 16, 0x80 << 16,
                                      1 << 24, CSP_TAGS_RUN_OUT};
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        block->ways[1].tags ^= forged[i];
        csp_block_table_save(table, store, &build_id, 0);
        block->ways[1].tags ^= forged[i];
        assert_int_equal(kept(&build_id), 0);
    }
    csp_block_table_save(table, store, &build_id, 0);
    assert_int_equal(kept(&build_id), BLOCKS);
    csp_block_cache_destroy(cache);
}

static int setup(void **state)
{
    (void)state;
    char pattern[] = "/tmp/csprof-blocks-XXXXXX";
    folder = csp_strdup(mkdtemp(pattern));
    store = csp_store_open(folder, NULL);
    make_code();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char *command = csp_asprintf("rm -rf %s", folder);
    int failed = system(command);
    csp_store_close(store);
    free(command);
    free(folder);
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_and_links_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(other_code_is_not_taken_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(few_blocks_are_not_worth_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_grew_is_kept_again, setup, teardown),
        cmocka_unit_test_setup_teardown(blocks_that_lead_astray_are_not_believed, setup, teardown),
        cmocka_unit_test_setup_teardown(tags_that_no_block_has_are_not_believed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
