/* The walker follows execution through the code: it is told where execution is and how waypoints
 * came out, and delivers the ranges of instructions that ran. */
#ifndef CSP_DECODE_TRACE_WALKER_H
#define CSP_DECODE_TRACE_WALKER_H

#include "decode/trace/engine.h"
#include "decode/trace/native/element_batch.h"
#include "decode/trace/native/regions.h"
#include "decode/trace/native/return_stack.h"

#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

struct csp_walker {
    /* Fixed. */
    struct csp_element_batch *out;
    const struct csp_code_memory *code;
    uint8_t source;
    bool waits;             /* WFI and WFE are waypoints: TRCIDR2.WFXMODE */
    bool has_return_stack;  /* TRCCONFIGR.RS */
    bool returns_by_branch; /* ETE: an exception return is told by its branch alone */
    /* Where execution is. */
    bool needs_address, needs_context; /* it is not known until one comes */
    bool pc_is_stale;                  /* pc is behind a branch to who knows where */
    bool pc_is_unmapped;               /* there is no code at pc: it was looked for */
    bool is_64bit;
    uint8_t isa;    /* enum csp_isa */
    uint32_t block; /* in `table`; below CSP_BLOCK_FIRST: not looked up, pc tells */
    uint64_t pc;
    struct csp_block_table *table; /* of the region that holds pc */
    uint64_t base;                 /* address of its first word */
    struct csp_region region;      /* that one */
    /* After a branch whose target the return stack tells, unless an address comes first. */
    bool pop_pending;
    /* Between a Trace Info and the next address the return stack is not filled. */
    bool stack_waits;
    struct csp_return_stack stack;
    /* Whose mappings: csp_code_memory's context. */
    uint64_t context_id;
    struct csp_regions regions;
    uint64_t unsupported; /* times that execution entered code of another instruction set */
};

/* What a way lacks to be a range element: its source, and where the code is mapped. */
typedef uint64_t csp_range_words __attribute__((vector_size(32), aligned(8)));
typedef uint32_t csp_block_words __attribute__((vector_size(16), aligned(8)));
_Static_assert(sizeof(struct csp_element) == sizeof(csp_range_words), "four words");

#define CSP_RANGE_BIAS(source, base) {(uint64_t)(source) << 56, 0, base, base}

/* Four words from the four numbers that a way begins with. */
static inline __attribute__((always_inline)) void csp_way_widen(csp_range_words *words,
                                                                const struct csp_way *way)
{
#ifdef __AVX2__ /* in one instruction, which gcc does not find by itself */
    *words = (csp_range_words)_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)way));
#else
    csp_block_words narrow;
    memcpy(&narrow, way, sizeof narrow);
    *words = __builtin_convertvector(narrow, csp_range_words);
#endif
}

/* Writes the range of a block that was left by this way: all four words at once, where the
 * processor can. */
static inline __attribute__((always_inline)) void
csp_range_put(struct csp_element *out, const struct csp_way *way, const csp_range_words *bias)
{
    csp_range_words range;
    csp_way_widen(&range, way);
    range += *bias;
    memcpy(out, &range, sizeof range);
}

void csp_walker_free(struct csp_walker *walker);
/* Nothing is known of where execution is. */
void csp_walker_reset(struct csp_walker *walker);
/* Mappings may have changed. */
void csp_walker_forget_regions(struct csp_walker *walker);
/* What follows is in the mappings of another context. */
void csp_walker_set_context(struct csp_walker *walker, uint64_t context_id);

/* An address was traced, with instruction set IS0 or IS1. */
void csp_walker_jump(struct csp_walker *walker, uint64_t address, uint8_t isa);
/* A context was traced; `isa` is that of the last address. */
void csp_walker_set_width(struct csp_walker *walker, bool is_64bit, uint8_t isa);
/* `count` waypoints came out as `bits` tell, oldest first: 1 for E. At most 64. Returns false when
 * the return stack is empty that should tell where execution is: the trace does not fit the code.
 */
bool csp_walker_atoms(struct csp_walker *walker, uint64_t bits, unsigned count);
/* Execution stopped before `address`, which is behind where it is, without a branch. */
void csp_walker_run_to(struct csp_walker *walker, uint64_t address);
/* The branch at `address` was taken (ETE source address). */
void csp_walker_branch_at(struct csp_walker *walker, uint64_t address);
/* `count` instructions ran and led to `address` (Q with count); 0: how many is not known. */
void csp_walker_run_count(struct csp_walker *walker, uint32_t count, uint64_t address, uint8_t isa);
/* At which word of which table execution is; false when there is none. */
bool csp_walker_find_word(struct csp_walker *walker, uint32_t *word);
/* Looks up the block at pc; false when there is none, or one that runs out of the code. */
bool csp_walker_look_up(struct csp_walker *walker);
/* Makes a mapping the one in force. */
void csp_walker_change_region(struct csp_walker *walker, const struct csp_region *region);
/* Goes on from block `number` as its last instruction came out, without a link to follow. */
void csp_walker_leave_block(struct csp_walker *walker, uint32_t number, uint32_t link,
                            unsigned taken);
/* A branch to who knows where ended before `pc`. */
void csp_walker_await_address(struct csp_walker *walker, uint64_t pc);
/* Takes a pending return address from the return stack; false as csp_walker_atoms. */
bool csp_walker_pop(struct csp_walker *walker);

#endif
