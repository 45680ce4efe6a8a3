/* The calls in progress of one thread, from the branches that it takes: the truth about its call
 * stack, whatever frames it keeps. */
#ifndef CSP_EMULATE_SHADOW_STACK_H
#define CSP_EMULATE_SHADOW_STACK_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>

/* A call or a signal in progress. */
struct csp_shadow_frame {
    uint64_t return_address; /* a signal's: where it interrupted */
    uint64_t sp;             /* before the call */
    bool signal;
};

/* Zero-initialise. */
struct csp_shadow_stack {
    CSP_VEC(struct csp_shadow_frame) frames; /* outermost first */
    struct csp_map returns;                  /* every return address that was pushed → 1 */
};

void csp_shadow_call(struct csp_shadow_stack *stack, uint64_t return_address, uint64_t sp);
/* An indirect branch to `to`, which may be a return or a longjmp, with the stack pointer at `sp`.
 */
void csp_shadow_jump(struct csp_shadow_stack *stack, uint64_t to, uint64_t sp);
void csp_shadow_signal(struct csp_shadow_stack *stack, uint64_t interrupted_pc,
                       uint64_t interrupted_sp);
void csp_shadow_sigreturn(struct csp_shadow_stack *stack);
/* "calls RETURN…", innermost first, the interrupted pc of a signal as !PC. */
void csp_shadow_print(const struct csp_shadow_stack *stack, struct csp_buf *out);

#endif
