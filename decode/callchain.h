/* Call stacks that are right.
 *
 * The kernel walks frame records: {x29, x30} pairs that a function links into a chain once its
 * prologue has set x29. At every moment when the innermost function has no record of its own (a
 * leaf function without one, a prologue, the end of an epilogue, code built without frame pointers)
 * the walk skips the caller. Two things know better: the calls in the window's own history, and the
 * link register where the unwind tables say that the return address is still in it.
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
};

/* What was done to a chain, for statistics: bits. */
enum csp_callchain_repair {
    CSP_REPAIR_NONE = 0,
    CSP_REPAIR_HISTORY = 1, /* frames were added from the window's calls */
    CSP_REPAIR_LR = 2,      /* the caller was added from the link register */
};

typedef CSP_VEC(uint64_t) csp_frames;

/* Writes the repaired stack of user frames, leaf first, to `out` (its storage is reused). `chain`
 * is the recorded one: the PC, then return addresses. `lr` is 0 when it was not recorded. */
unsigned csp_callchain_repair(const struct csp_history *history, const uint64_t *chain,
                              uint32_t chain_len, uint64_t lr, enum csp_leaf_state leaf,
                              csp_frames *out);

/* The return addresses of the calls in the history that had not returned at its end, innermost
 * first. */
void csp_history_open_calls(const struct csp_history *history, csp_frames *out);

#endif
