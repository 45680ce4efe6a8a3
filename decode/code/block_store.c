#include "decode/code/block_store.h"

#include "base/buf.h"

#include <string.h>
#include <xxhash.h>

static const char kind[] = "blocks";

/* Without padding: keys are compared as bytes. */
struct key {
    uint32_t version, words;
    uint8_t isa, waits, build_id_size, build_id[20], unused;
};
_Static_assert(sizeof(struct key) == 32, "no padding");

static struct key key_of(const struct csp_block_table *table, const struct csp_build_id *build_id)
{
    struct key key = {
        .version = CSP_BLOCK_STORE_VERSION,
        .words = table->words,
        .isa = table->isa,
        .waits = table->waits,
        .build_id_size = build_id->size,
    };
    memcpy(key.build_id, build_id->bytes, build_id->size);
    return key;
}

/* An entry: this, and blocks. */
struct head {
    uint64_t code_low, code_high;
};

/* Of the code that the blocks cover. Each block's hash is mixed into one that tells their order. */
static struct head hash_code(const struct csp_block_table *table, const struct csp_block *blocks,
                             size_t count)
{
    struct head head = {count, ~(uint64_t)count};
    for (size_t i = 0; i < count; i++) {
        uint32_t start = csp_block_start(&blocks[i]), size = 4 * csp_block_count(&blocks[i]);
        XXH128_hash_t hash = XXH3_128bits_withSeed(table->code + start, size, head.code_low);
        head.code_low = hash.low64;
        head.code_high = head.code_high * UINT64_C(0x9e3779b97f4a7c15) + hash.high64;
    }
    return head;
}

static bool is_sound(const struct csp_block *block, uint64_t code_size, uint32_t used)
{
    for (int i = 0; i < 2; i++) {
        const struct csp_way *way = &block->ways[i];
        bool is_block = way->next >= CSP_BLOCK_FIRST;
        if (is_block && (way->next < CSP_BLOCK_NUMBER_FIRST || way->next >= used ||
                         way->next % CSP_BLOCK_UNITS))
            return false;
        if (way->start >= way->end || way->end > code_size || way->start % 4 != 0 ||
            way->end - way->start != 4 * (uint64_t)way->count ||
            way->start != block->ways[0].start || way->end != block->ways[0].end)
            return false;
    }
    uint32_t difference = block->ways[0].tags ^ block->ways[1].tags;
    return csp_block_count(block) <= CSP_BLOCK_COUNT_MAX && !(difference & ~CSP_TAG_TAKEN) &&
           !(block->ways[0].tags & CSP_TAG_TAKEN) && csp_block_kind(block) <= CSP_BRANCH_EXCEPTION;
}

/* How many blocks the entry holds; 0 when they do not fit the table. */
static size_t check(const struct csp_block_table *table, const struct csp_store_entry *entry)
{
    const struct csp_block *blocks = (const void *)((const struct head *)entry->data + 1);
    size_t room = (table->capacity - table->used) / CSP_BLOCK_UNITS;
    if (entry->size < sizeof(struct head) || (entry->size - sizeof(struct head)) % sizeof *blocks)
        return 0;
    size_t count = (entry->size - sizeof(struct head)) / sizeof *blocks;
    if (count > room)
        return 0;
    uint32_t used = table->used + (uint32_t)count * CSP_BLOCK_UNITS;
    for (size_t i = 0; i < count; i++)
        if (!is_sound(&blocks[i], 4 * (uint64_t)table->words, used))
            return 0;
    struct head head = hash_code(table, blocks, count);
    return memcmp(&head, entry->data, sizeof head) == 0 ? count : 0;
}

void csp_block_table_load(struct csp_block_table *table, struct csp_store *store,
                          const struct csp_build_id *build_id)
{
    struct key key = key_of(table, build_id);
    struct csp_store_entry entry;
    if (!csp_store_get(store, kind, &key, sizeof key, &entry))
        return;
    size_t count = check(table, &entry);
    if (count)
        csp_block_table_fill(table, (const void *)((const struct head *)entry.data + 1), count);
    csp_store_release(&entry);
}

void csp_block_table_save(const struct csp_block_table *table, struct csp_store *store,
                          const struct csp_build_id *build_id, uint32_t loaded)
{
    uint32_t used = table->used < table->capacity ? table->used : table->capacity;
    size_t count = used / CSP_BLOCK_UNITS - CSP_BLOCK_NUMBER_FIRST / CSP_BLOCK_UNITS;
    if (!store || count < CSP_BLOCK_STORE_LEAST || used - loaded <= loaded / 16)
        return;
    const struct csp_block *blocks = csp_block_numbered(table, CSP_BLOCK_NUMBER_FIRST);
    struct key key = key_of(table, build_id);
    struct head head = hash_code(table, blocks, count);
    struct csp_buf entry = {0};
    csp_buf_add(&entry, &head, sizeof head);
    csp_buf_add(&entry, blocks, count * sizeof *blocks);
    csp_store_put(store, kind, &key, sizeof key, entry.data, entry.len);
    csp_buf_free(&entry);
}
