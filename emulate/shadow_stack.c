#include "emulate/shadow_stack.h"

void csp_shadow_call(struct csp_shadow_stack *stack, uint64_t return_address, uint64_t sp)
{
    csp_vec_push(&stack->frames, (struct csp_shadow_frame){return_address, sp, false});
    *csp_map_at(&stack->returns, return_address) = 1;
}

void csp_shadow_jump(struct csp_shadow_stack *stack, uint64_t to, uint64_t sp)
{
    const struct csp_shadow_frame *frames = stack->frames.data;
    size_t *depth = &stack->frames.len;
    /* Frames of which the stack is gone: what longjmp and exceptions leave behind. */
    while (*depth && frames[*depth - 1].sp < sp)
        --*depth;
    if (!*depth || frames[*depth - 1].sp != sp)
        return;
    /* A branch to the return address at the caller's stack pointer is a return, RET or not. */
    if (frames[*depth - 1].return_address == to) {
        *depth -= !frames[*depth - 1].signal;
        return;
    }
    /* To where another call of that caller returned: a second return of setjmp, be it out of the
     * handler of a signal that came when that call's function had nothing on the stack. */
    if (csp_map_find(&stack->returns, to))
        while (*depth && frames[*depth - 1].sp == sp)
            --*depth;
}

void csp_shadow_signal(struct csp_shadow_stack *stack, uint64_t interrupted_pc,
                       uint64_t interrupted_sp)
{
    csp_vec_push(&stack->frames, (struct csp_shadow_frame){interrupted_pc, interrupted_sp, true});
}

void csp_shadow_sigreturn(struct csp_shadow_stack *stack)
{
    size_t depth = stack->frames.len;
    while (depth && !stack->frames.data[depth - 1].signal)
        depth--;
    if (depth)
        stack->frames.len = depth - 1;
}

void csp_shadow_print(const struct csp_shadow_stack *stack, struct csp_buf *out)
{
    csp_buf_add_string(out, "calls");
    for (size_t i = stack->frames.len; i-- > 0;) {
        csp_buf_add_string(out, stack->frames.data[i].signal ? " !" : " ");
        csp_buf_add_hex(out, stack->frames.data[i].return_address);
    }
    csp_buf_add_char(out, '\n');
}
