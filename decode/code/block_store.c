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

/* An entry: this, and struct stored for each block. */
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

/* A block as it is stored: what its ways have in common, once. */
struct stored {
    uint32_t tags;       /* of its second way */
    uint32_t start, end; /* of both */
    uint32_t next[2];
};

static struct stored pack(const struct csp_block *block)
{
    return (struct stored){.tags = block->ways[1].tags,
                           .start = csp_block_start(block),
                           .end = csp_block_end(block),
                           .next = {block->ways[0].next, block->ways[1].next}};
}

static void unpack(const struct stored *stored, struct csp_block *block)
{
    struct csp_way way = {.tags = stored->tags & ~CSP_TAG_TAKEN,
                          .count = (stored->end - stored->start) / 4,
                          .start = stored->start,
                          .end = stored->end,
                          .next = stored->next[0]};
    block->ways[0] = block->ways[1] = way;
    block->ways[1].tags = stored->tags;
    block->ways[1].next = stored->next[1];
}

/* Whatever is in them becomes an element as it is. */
static bool are_tags(uint32_t tags)
{
    bool is_kind = (tags >> CSP_TAG_KIND & 0xff) <= CSP_BRANCH_EXCEPTION;
    uint32_t rest = tags & ~(UINT32_C(0xff) << CSP_TAG_KIND | CSP_TAG_TAKEN);
    return tags == CSP_TAGS_RUN_OUT || (is_kind && rest == CSP_TAG_SIZE);
}

static bool is_sound(const struct stored *stored, uint64_t code_size, uint32_t used)
{
    for (int i = 0; i < 2; i++) {
        uint32_t next = stored->next[i];
        if (next >= CSP_BLOCK_FIRST &&
            (next < CSP_BLOCK_NUMBER_FIRST || next >= used || next % CSP_BLOCK_UNITS))
            return false;
    }
    uint32_t size = stored->end - stored->start;
    return stored->start < stored->end && stored->end <= code_size && stored->start % 4 == 0 &&
           size % 4 == 0 && size / 4 <= CSP_BLOCK_COUNT_MAX && are_tags(stored->tags);
}

/* Puts the blocks that the entry holds behind those that the table has, and returns how many there
 * are; 0 when they do not fit. */
static size_t unpack_all(struct csp_block_table *table, const struct csp_store_entry *entry)
{
    const struct stored *stored = (const void *)((const struct head *)entry->data + 1);
    size_t room = (table->capacity - table->used) / CSP_BLOCK_UNITS;
    if (entry->size < sizeof(struct head) || (entry->size - sizeof(struct head)) % sizeof *stored)
        return 0;
    size_t count = (entry->size - sizeof(struct head)) / sizeof *stored;
    if (count > room)
        return 0;
    uint32_t used = table->used + (uint32_t)count * CSP_BLOCK_UNITS;
    struct csp_block *blocks = csp_block_table_room(table, count);
    for (size_t i = 0; i < count; i++) {
        if (!is_sound(&stored[i], 4 * (uint64_t)table->words, used))
            return 0;
        unpack(&stored[i], &blocks[i]);
    }
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
    csp_block_table_fill(table, unpack_all(table, &entry));
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
    for (size_t i = 0; i < count; i++) {
        struct stored stored = pack(&blocks[i]);
        csp_buf_add(&entry, &stored, sizeof stored);
    }
    csp_store_put(store, kind, &key, sizeof key, entry.data, entry.len);
    csp_buf_free(&entry);
}
