/* Block tables: what the walker needs to know of a piece of code, found out once.
 *
 * A block begins at an instruction and ends with the next waypoint, the instruction whose outcome
 * the trace tells (decode/code/aarch64.h). Blocks are made when execution first reaches them and
 * numbered in that order, so that code which runs together lies together: 40 bytes a block, and a
 * 4-byte slot for each instruction of the code that tells which block begins there. Both arrays are
 * reserved as address space and take memory where they are touched, in large pieces, because under
 * virtualisation a page fault costs as much as decoding a thousand ranges.
 *
 * A table depends on the code alone, never on where it is mapped or on what was traced, so one
 * table serves every process, every trace and every thread. Readers take no lock: a block is
 * complete before its number is published in its slot, and links between blocks change only from
 * "not looked up yet" to their value.
 */
#ifndef CSP_DECODE_BLOCK_TABLE_H
#define CSP_DECODE_BLOCK_TABLE_H

#include "decode/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Instruction sets by which code can be walked. */
enum csp_isa { CSP_ISA_A64, CSP_ISA_A32, CSP_ISA_T32, CSP_ISA_COUNT };

/* What can stand where a block number is expected. */
enum csp_block_link {
    CSP_BLOCK_UNKNOWN,  /* not looked up yet */
    CSP_BLOCK_INDIRECT, /* wherever a register or the stack points */
    CSP_BLOCK_RETURN,   /* the same, by a return from an exception */
    CSP_BLOCK_OUTSIDE,  /* outside of this piece of code, or in a block that runs out of it */
    CSP_BLOCK_FIRST,    /* the first real number */
};

/* One way out of a block. All but the link is what its range looks like, for the walker to widen
 * and add where the code is mapped (decode/trace/native/walker.h). */
struct csp_way {
    uint32_t tags;       /* the first four bytes of the range's element */
    uint32_t count;      /* of instructions */
    uint32_t start, end; /* in bytes from the start of the code */
    uint32_t next;       /* the block that follows, or an enum csp_block_link */
};

/* The last instruction [0] falls through, [1] branches: what a walker has to read of a block lies
 * together, and needs no choice. */
struct csp_block {
    struct csp_way ways[2];
};

/* The element's `kind`, `taken` and `last_size` in the tags; its type is 0. */
enum { CSP_TAG_KIND = 8, CSP_TAG_TAKEN = 1 << 16, CSP_TAG_SIZE = 4 << 24 };
/* The tags of blocks that run out, which never become an element. */
#define CSP_TAGS_RUN_OUT (UINT32_C(1) << 31)
enum { CSP_WAY_UNITS = sizeof(struct csp_way) / sizeof(uint32_t) };

/* Blocks of more instructions than that are told as running out of the code. */
enum { CSP_BLOCK_COUNT_MAX = (1 << 20) - 1 };

/* Whether the waypoint is a branch (else a barrier or a wait, traced like one). */
static inline bool csp_block_branches(const struct csp_block *block)
{
    return block->ways[1].tags & CSP_TAG_TAKEN;
}

/* Whether it ends because the code ends: `count` instructions without a waypoint. */
static inline bool csp_block_runs_out(const struct csp_block *block)
{
    return block->ways[1].tags & CSP_TAGS_RUN_OUT;
}

static inline enum csp_branch_kind csp_block_kind(const struct csp_block *block)
{
    return (enum csp_branch_kind)(block->ways[1].tags >> CSP_TAG_KIND & 0xff);
}

/* Where it begins and ends, in bytes from the start of the code, and its instructions. */
static inline uint32_t csp_block_start(const struct csp_block *block)
{
    return block->ways[0].start;
}

static inline uint32_t csp_block_end(const struct csp_block *block)
{
    return block->ways[0].end;
}

static inline uint32_t csp_block_count(const struct csp_block *block)
{
    return block->ways[0].count;
}

/* What follows a block that is left this way; another thread may be finding it out. */
static inline uint32_t csp_way_next(const struct csp_way *way)
{
    return __atomic_load_n(&way->next, __ATOMIC_ACQUIRE);
}

struct csp_block_table {
    const uint8_t *code;
    uint32_t words;          /* of code */
    uint32_t *slots;         /* [words]: the block that begins there, or CSP_BLOCK_UNKNOWN */
    uint32_t *blocks;        /* numbered by where they begin in this array */
    bool *pieces;            /* of code: whether there is memory for all of the slots */
    uint32_t used, capacity; /* numbers */
    uint8_t isa;             /* enum csp_isa */
    bool waits;              /* WFI and WFE are waypoints */
};

/* Numbers count units of 4 bytes, which saves a multiplication for each range. */
enum { CSP_BLOCK_UNITS = sizeof(struct csp_block) / sizeof(uint32_t) };
/* The first one that is given out. Before it are zeroes: a way that is looked up from what is no
 * block leads to CSP_BLOCK_UNKNOWN, and so on. */
enum { CSP_BLOCK_NUMBER_FIRST = (CSP_BLOCK_FIRST / CSP_BLOCK_UNITS + 2) * CSP_BLOCK_UNITS };

static inline struct csp_block *csp_block_numbered(const struct csp_block_table *table,
                                                   uint32_t number)
{
    return (struct csp_block *)(table->blocks + number);
}

/* The way of a block's number, or of that and CSP_WAY_UNITS. */
static inline const struct csp_way *csp_way_numbered(const struct csp_block_table *table,
                                                     uint32_t number)
{
    return (const struct csp_way *)(table->blocks + number);
}

#define CSP_SLOT_RUNS_OUT (UINT32_C(1) << 31)

/* Fills in a slot and returns it. */
uint32_t csp_block_table_make(struct csp_block_table *table, uint32_t word);

static inline uint32_t csp_block_table_slot(struct csp_block_table *table, uint32_t word)
{
    uint32_t slot = __atomic_load_n(&table->slots[word], __ATOMIC_ACQUIRE);
    return slot != CSP_BLOCK_UNKNOWN ? slot : csp_block_table_make(table, word);
}

/* The number of the block that begins `word` words into the code. */
static inline uint32_t csp_block_table_at(struct csp_block_table *table, uint32_t word)
{
    return csp_block_table_slot(table, word) & ~CSP_SLOT_RUNS_OUT;
}

/* Looks up what follows a block, and remembers it in the block. */
uint32_t csp_block_table_link(struct csp_block_table *table, uint32_t number, unsigned taken);

/* Where the last instruction of a block branches to, in words from the start of the code; may lie
 * outside of it. Only for direct branches. */
int64_t csp_block_table_target(const struct csp_block_table *table, uint32_t number);

/* Where the next `count` blocks of a table that nobody uses yet would be: what is written there is
 * no block of it before csp_block_table_fill says so. They must fit. */
struct csp_block *csp_block_table_room(struct csp_block_table *table, size_t count);
/* Takes the first `count` blocks that were written there, and fills their slots. */
void csp_block_table_fill(struct csp_block_table *table, size_t count);

/* The tables of one piece of code, one for each way of walking it, made on demand. The code must
 * outlive it. Safe from any thread. */
struct csp_block_cache;

struct csp_block_cache *csp_block_cache_create(const void *code, size_t size);
void csp_block_cache_destroy(struct csp_block_cache *cache);
struct csp_store;
struct csp_build_id;
/* Has tables loaded from a store when they are made, and saved when the cache is destroyed
 * (decode/code/block_store.h). Before any table is made. */
void csp_block_cache_keep(struct csp_block_cache *cache, struct csp_store *store,
                          const struct csp_build_id *build_id);
/* Null for an instruction set that cannot be walked. */
struct csp_block_table *csp_block_cache_table(struct csp_block_cache *cache, enum csp_isa isa,
                                              bool waits);

#endif
