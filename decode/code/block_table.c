#include "decode/code/block_table.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "decode/code/aarch64.h"
#include "decode/code/block_store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two threads may make the same block at once, and one of the numbers is then wasted. */
enum { SPARE_BLOCKS = 1024, VARIANTS = CSP_ISA_COUNT * 2 };
enum { BUSY = 256 /* blocks */, SLOTS_AT_ONCE = 8 << 20 /* bytes */, PIECE_WORDS = 1 << 16 };

struct csp_block_cache {
    const uint8_t *code;
    size_t size;
    pthread_mutex_t lock; /* taken to make a table, never to read one */
    struct csp_block_table *tables[VARIANTS];
    struct csp_store *store; /* null: tables are not kept */
    struct csp_build_id build_id;
    uint32_t loaded[VARIANTS]; /* `used` of each table when it was made */
};

static struct csp_aarch64 classify(const struct csp_block_table *table, uint32_t word)
{
    return csp_aarch64_classify(csp_load32(table->code + 4 * (size_t)word));
}

static struct csp_block block_of(uint32_t tags, uint32_t start, uint32_t end)
{
    struct csp_way way = {
        .tags = tags & ~CSP_TAG_TAKEN, .count = end - start, .start = 4 * start, .end = 4 * end};
    struct csp_block block = {{way, way}};
    block.ways[1].tags = tags;
    return block;
}

static struct csp_block scan(const struct csp_block_table *table, uint32_t start)
{
    uint32_t word = start;
    uint32_t limit =
        table->words - start < CSP_BLOCK_COUNT_MAX ? table->words : start + CSP_BLOCK_COUNT_MAX;
    while (word < limit) {
        struct csp_aarch64 last = classify(table, word++);
        if (!csp_aarch64_is_waypoint(last, table->waits))
            continue;
        bool branches = last.type == CSP_AARCH64_BRANCH || last.type == CSP_AARCH64_BRANCH_INDIRECT;
        uint32_t tags =
            CSP_TAG_SIZE | (branches ? CSP_TAG_TAKEN : 0) | (uint32_t)last.kind << CSP_TAG_KIND;
        struct csp_block block = block_of(tags, start, word);
        if (last.type == CSP_AARCH64_BRANCH_INDIRECT)
            block.ways[1].next =
                last.kind == CSP_BRANCH_EXCEPTION_RETURN ? CSP_BLOCK_RETURN : CSP_BLOCK_INDIRECT;
        return block;
    }
    struct csp_block block = block_of(CSP_TAGS_RUN_OUT, start, word);
    block.ways[0].next = block.ways[1].next = CSP_BLOCK_OUTSIDE;
    return block;
}

/* Has the memory of a piece of an array made at once; older kernels make it page by page. */
static void populate(void *start, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)start / page * page;
    madvise((void *)first, (uintptr_t)start + size - first, MADV_POPULATE_WRITE);
#else
    (void)start, (void)size;
#endif
}

/* Of the words [first, last]. */
static void populate_slots(struct csp_block_table *table, uint32_t first, uint32_t last)
{
    size_t size = ((size_t)last - first + 1) * sizeof *table->slots;
    if (size <= SLOTS_AT_ONCE)
        populate(&table->slots[first], size);
}

/* Has twice as many blocks as so far. */
static void populate_blocks(struct csp_block_table *table, uint32_t number)
{
    uint32_t made = number / CSP_BLOCK_UNITS;
    if ((made & (made - 1)) || number >= table->capacity)
        return;
    uint32_t count = number < table->capacity - number ? number : table->capacity - number;
    populate(&table->blocks[number], count * sizeof *table->blocks);
}

/* Has all slots of a piece of code. They are read before they are written, and a page that was
 * only read is replaced then, for which every processor that runs a thread is interrupted. */
static void populate_piece(struct csp_block_table *table, uint32_t word)
{
    uint32_t piece = word / PIECE_WORDS, first = piece * PIECE_WORDS;
    if (__atomic_exchange_n(&table->pieces[piece], true, __ATOMIC_RELAXED))
        return;
    uint32_t left = table->words - first;
    populate_slots(table, first, first + (left < PIECE_WORDS ? left : PIECE_WORDS) - 1);
}

/* Code that much is traced in is likely to be traced all over. */
static void populate_table(struct csp_block_table *table, uint32_t number, uint32_t word)
{
    if (number < BUSY * CSP_BLOCK_UNITS)
        return;
    populate_blocks(table, number);
    populate_piece(table, word);
}

uint32_t csp_block_table_make(struct csp_block_table *table, uint32_t word)
{
    struct csp_block block = scan(table, word);
    uint32_t number = __atomic_fetch_add(&table->used, CSP_BLOCK_UNITS, __ATOMIC_RELAXED);
    populate_table(table, number, word);
    while (number >= table->capacity) { /* all numbers are given out: ours is being published */
        __atomic_store_n(&table->used, table->capacity, __ATOMIC_RELAXED);
        uint32_t published = __atomic_load_n(&table->slots[word], __ATOMIC_ACQUIRE);
        if (published != CSP_BLOCK_UNKNOWN)
            return published;
    }
    *csp_block_numbered(table, number) = block;
    uint32_t expected = CSP_BLOCK_UNKNOWN;
    uint32_t slot = csp_block_runs_out(&block) ? number | CSP_SLOT_RUNS_OUT : number;
    if (__atomic_compare_exchange_n(&table->slots[word], &expected, slot, false, __ATOMIC_RELEASE,
                                    __ATOMIC_ACQUIRE))
        return slot;
    return expected;
}

int64_t csp_block_table_target(const struct csp_block_table *table, uint32_t number)
{
    uint32_t last = csp_block_end(csp_block_numbered(table, number)) / 4 - 1;
    return (int64_t)last + classify(table, last).offset / 4;
}

uint32_t csp_block_table_link(struct csp_block_table *table, uint32_t number, unsigned taken)
{
    struct csp_block *block = csp_block_numbered(table, number);
    int64_t word = csp_block_end(block) / 4;
    if (taken && csp_block_branches(block))
        word = csp_block_table_target(table, number);
    uint32_t next = CSP_BLOCK_OUTSIDE;
    if (word >= 0 && word < table->words) {
        next = csp_block_table_slot(table, (uint32_t)word);
        if (next & CSP_SLOT_RUNS_OUT)
            next = CSP_BLOCK_OUTSIDE;
    }
    __atomic_store_n(&block->ways[taken].next, next, __ATOMIC_RELEASE);
    return next;
}

struct csp_block *csp_block_table_room(struct csp_block_table *table, size_t count)
{
    struct csp_block *room = csp_block_numbered(table, table->used);
    populate(room, count * sizeof *room);
    return room;
}

/* Has the memory of the slots made that lie between those of the blocks: code is most often less
 * than half of a file. */
static void populate_slots_of(struct csp_block_table *table, const struct csp_block *blocks,
                              size_t count)
{
    uint32_t first = UINT32_MAX, last = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t word = csp_block_start(&blocks[i]) / 4;
        first = word < first ? word : first;
        last = word > last ? word : last;
    }
    if (count)
        populate_slots(table, first, last);
}

void csp_block_table_fill(struct csp_block_table *table, size_t count)
{
    const struct csp_block *blocks = csp_block_numbered(table, table->used);
    populate_slots_of(table, blocks, count);
    for (size_t i = 0; i < count; i++, table->used += CSP_BLOCK_UNITS)
        table->slots[csp_block_start(&blocks[i]) / 4] =
            csp_block_runs_out(&blocks[i]) ? table->used | CSP_SLOT_RUNS_OUT : table->used;
}

static void *reserve(size_t size)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) {
        fprintf(stderr, "csprof: no address space for a block table of %zu bytes\n", size);
        exit(CSP_EXIT_TEMPORARY);
    }
    return block;
}

static struct csp_block_table *create_table(const struct csp_block_cache *cache, enum csp_isa isa,
                                            bool waits)
{
    struct csp_block_table *table = csp_calloc(1, sizeof *table);
    table->code = cache->code;
    table->words = (uint32_t)(cache->size / 4);
    table->isa = (uint8_t)isa;
    table->waits = waits;
    table->used = CSP_BLOCK_NUMBER_FIRST;
    table->capacity = table->used + (table->words + SPARE_BLOCKS) * CSP_BLOCK_UNITS;
    table->pieces = csp_calloc(table->words / PIECE_WORDS + 1, sizeof *table->pieces);
    table->slots = reserve(((size_t)table->words + 1) * sizeof *table->slots);
    table->blocks = reserve((size_t)table->capacity * sizeof *table->blocks);
    return table;
}

struct csp_block_cache *csp_block_cache_create(const void *code, size_t size)
{
    /* Numbers of blocks have 31 bits, and offsets in bytes must fit, too. */
    size_t limit = (size_t)(CSP_SLOT_RUNS_OUT / CSP_BLOCK_UNITS - 2 * SPARE_BLOCKS) * 4;
    struct csp_block_cache *cache = csp_calloc(1, sizeof *cache);
    cache->code = code;
    cache->size = size < limit ? size : limit;
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

void csp_block_cache_keep(struct csp_block_cache *cache, struct csp_store *store,
                          const struct csp_build_id *build_id)
{
    cache->store = store;
    cache->build_id = *build_id;
}

void csp_block_cache_destroy(struct csp_block_cache *cache)
{
    if (!cache)
        return;
    for (int i = 0; i < VARIANTS; i++) {
        struct csp_block_table *table = cache->tables[i];
        if (!table)
            continue;
        csp_block_table_save(table, cache->store, &cache->build_id, cache->loaded[i]);
        munmap(table->slots, ((size_t)table->words + 1) * sizeof *table->slots);
        munmap(table->blocks, (size_t)table->capacity * sizeof *table->blocks);
        free(table->pieces);
        free(table);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

struct csp_block_table *csp_block_cache_table(struct csp_block_cache *cache, enum csp_isa isa,
                                              bool waits)
{
    if (isa != CSP_ISA_A64)
        return NULL;
    struct csp_block_table **place = &cache->tables[isa * 2 + waits];
    struct csp_block_table *table = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (table)
        return table;
    pthread_mutex_lock(&cache->lock);
    table = *place;
    if (!table) {
        table = create_table(cache, isa, waits);
        csp_block_table_load(table, cache->store, &cache->build_id);
        cache->loaded[isa * 2 + waits] = table->used;
        __atomic_store_n(place, table, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&cache->lock);
    return table;
}
