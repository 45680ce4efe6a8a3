/* The trace unit leaves out the address of an indirect branch that goes where its copy of the call
 * stack says (TRCCONFIGR.RS). This is the decoder's copy: the newest 16 return addresses, of which
 * a trace unit keeps at most 15 (Arm ETM specification, "Return stack"). */
#ifndef CSP_DECODE_TRACE_RETURN_STACK_H
#define CSP_DECODE_TRACE_RETURN_STACK_H

#include <stdbool.h>
#include <stdint.h>

enum { CSP_RETURN_STACK_SIZE = 16 };

struct csp_return_stack {
    unsigned top, depth;
    uint64_t addresses[CSP_RETURN_STACK_SIZE];
};

static inline void csp_return_stack_clear(struct csp_return_stack *stack)
{
    stack->depth = 0;
}

/* A full stack forgets its oldest address. */
static inline void csp_return_stack_push(struct csp_return_stack *stack, uint64_t address)
{
    stack->top = (stack->top + 1) % CSP_RETURN_STACK_SIZE;
    stack->addresses[stack->top] = address;
    stack->depth += stack->depth < CSP_RETURN_STACK_SIZE;
}

/* False when it is empty. */
static inline bool csp_return_stack_pop(struct csp_return_stack *stack, uint64_t *address)
{
    if (!stack->depth)
        return false;
    *address = stack->addresses[stack->top];
    stack->top = (stack->top + CSP_RETURN_STACK_SIZE - 1) % CSP_RETURN_STACK_SIZE;
    stack->depth--;
    return true;
}

#endif
