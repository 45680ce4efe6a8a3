/* The walker follows execution through the code: it is told where execution is and how waypoints
 * came out, and delivers the ranges of instructions that ran. */
#ifndef CSP_DECODE_TRACE_WALKER_H
#define CSP_DECODE_TRACE_WALKER_H

#include "decode/trace/engine.h"
#include "decode/trace/native/element_batch.h"
#include "decode/trace/native/return_stack.h"

enum { CSP_WALKER_REGIONS = 64 };

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
    bool is_64bit;
    uint8_t isa;    /* enum csp_isa */
    uint32_t block; /* in `table`; below CSP_BLOCK_FIRST: not looked up, pc tells */
    uint64_t pc;
    struct csp_block_table *table; /* of the region that holds pc */
    uint64_t base;                 /* address of its first word */
    /* After a branch whose target the return stack tells, unless an address comes first. */
    bool pop_pending;
    /* Between a Trace Info and the next address the return stack is not filled. */
    bool stack_waits;
    struct csp_return_stack stack;
    /* Whose mappings: csp_code_memory's context. */
    uint64_t context_id;
    /* Mappings in use, by address bits [21:16]; empty where `end` is 0. */
    struct csp_code_region regions[CSP_WALKER_REGIONS];
    uint64_t unsupported; /* times that execution entered code of another instruction set */
};

/* Nothing is known of where execution is. */
void csp_walker_reset(struct csp_walker *walker);
/* Mappings may have changed. */
void csp_walker_forget_regions(struct csp_walker *walker);

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
/* Takes a pending return address from the return stack; false as csp_walker_atoms. */
bool csp_walker_pop(struct csp_walker *walker);

#endif
