/* Call stacks that are right.
 *
 * The kernel walks frame records: {x29, x30} pairs that a function links into a chain once its
 * prologue has set x29. At every moment when the innermost function has no record of its own (a
 * leaf function without one, a prologue, the end of an epilogue, code built without frame pointers)
 * the walk skips the caller. Two things know better: the calls in the window's own history, and the
 * link register.
 *
 * A function that has called has left an address of its own in x30: where the call returned to. So
 * an x30 that lies outside of the function still tells, or tells again, who called it; only of an
 * x30 within it, which is stale or a recursion's, must the unwind tables say which.
 *
 * A longjmp loads the x29 of the function that it goes to, and then is in progress for a while, for
 * which the chain is not its callers', but those of that function. Between them and the window's
 * calls there may be any number of others, or a signal: if nothing says that there are none, the
 * stack ends with the window's calls.
 */
#ifndef CSP_DECODE_CALLCHAIN_H
#define CSP_DECODE_CALLCHAIN_H

#include "base/vec.h"
#include "decode/history.h"

/* Where a function's return address is at some PC, by its unwind table (DWARF CFI). */
enum csp_leaf_state {
    CSP_LEAF_UNKNOWN, /* no table: the chain is taken as it is */
    CSP_LEAF_RECORD,  /* the frame record is in place: the chain is complete */
    CSP_LEAF_LR,      /* in x30, and no record: the chain lacks the caller */
    CSP_LEAF_STACK, /* on the stack, and no record: the chain lacks the caller, x30 may be stale */
    /* a longjmp or the like has loaded x29: the chain is that of whom it goes to */
    CSP_LEAF_LONGJMP,
};

/* What is known of the function that a PC is in. */
struct csp_leaf {
    enum csp_leaf_state state;
    uint64_t start, end; /* of the function; 0, 0: not known, or a part of one that is not entered
                          * by a call */
};

/* What the unwind tables say of a PC; without tables the state is unknown. */
struct csp_unwind_tables {
    struct csp_leaf (*leaf)(void *user, uint64_t pc); /* null: nothing is known */
    void *user;
};

/* What was done to a chain, for statistics: bits. */
enum csp_callchain_repair {
    CSP_REPAIR_NONE = 0,
    CSP_REPAIR_HISTORY = 1, /* frames were added from the window's calls */
    CSP_REPAIR_LR = 2,      /* the caller was added from the link register */
    CSP_REPAIR_MISSING = 4, /* a caller is missing, and nothing tells who it was */
};

typedef CSP_VEC(uint64_t) csp_frames;

/* Writes the repaired stack of user frames, leaf first, to `out` (its storage is reused). `turns`
 * are those of the window (decode/history.h), oldest first. `chain` is the recorded one: the PC,
 * then return addresses. `lr` is 0 when it was not recorded. */
unsigned csp_callchain_repair(const csp_branches *turns, const uint64_t *chain, uint32_t chain_len,
                              uint64_t lr, const struct csp_unwind_tables *tables, csp_frames *out);

/* The return addresses of the calls that had not returned at the end of the window, innermost
 * first. A branch from a register into the middle of another function is a longjmp. */
void csp_open_calls(const csp_branches *turns, const struct csp_unwind_tables *tables,
                    csp_frames *out);

#endif
