#include "emulate/machine/processor.h"

#include "emulate/machine/qemu_system.h"

enum {
    PAGE_MASK = 0xfff,
    VECTOR_MASK = 0x7ff,
    VECTOR_SYNCHRONOUS = 0x400, /* from EL0, AArch64 */
    SYSCALL_RT_SIGRETURN = 139,
};

static uint64_t end_of(const struct csp_processor *processor)
{
    return processor->last_pc + 4u * processor->last->count;
}

static struct csp_shadow_stack *stack_of(struct csp_processor *processor)
{
    struct csp_machine_threads *threads = processor->threads;
    uint64_t *number = csp_map_at(&threads->numbers, processor->context_id);
    if (!*number) {
        csp_vec_push(&threads->stacks, (struct csp_shadow_stack){0});
        *number = threads->stacks.len;
    }
    return &threads->stacks.data[*number - 1];
}

/* The last block ran to its end and went on at `next`, with the stack pointer at `sp`. */
static void finish_block(struct csp_processor *processor, uint64_t next, uint64_t sp)
{
    const struct csp_machine_code *code = processor->last;
    uint64_t end = end_of(processor);
    enum csp_flow_kind kind = code->flow.kind;
    bool taken = csp_flow_is_waypoint(kind) && kind != CSP_FLOW_BARRIER &&
                 (kind != CSP_FLOW_CONDITIONAL || next != end);
    csp_unit_branch(&processor->etm->unit, kind, taken, end);
    processor->user_instructions += code->count;
    if (!processor->with_truth)
        return;
    processor->window.run_instructions += code->count;
    if (taken && processor->window.in_run)
        csp_machine_window_branch(&processor->window, end - 4, next, kind);
    if (csp_flow_is_call(kind))
        csp_shadow_call(stack_of(processor), end, sp);
    else if (csp_flow_is_indirect(kind))
        csp_shadow_jump(stack_of(processor), next, sp);
}

/* At EL0, as far as the truth needs it. */
static uint64_t stack_pointer(const struct csp_processor *processor)
{
    enum csp_flow_kind kind = processor->last->flow.kind;
    return processor->with_truth && (csp_flow_is_call(kind) || csp_flow_is_indirect(kind))
               ? csp_qemu_register(processor->index, CSP_QEMU_SP)
               : 0;
}

/* Where the block that now begins is; QEMU's register is asked only when the flow cannot tell. */
static uint64_t next_pc(struct csp_processor *processor, const struct csp_machine_code *code)
{
    const struct csp_machine_code *last = processor->last;
    if (!last)
        return csp_qemu_register(processor->index, CSP_QEMU_PC);
    uint64_t end = end_of(processor), target = end - 4 + (uint64_t)last->flow.offset;
    bool at_end = (end & PAGE_MASK) == code->page_offset;
    bool at_target = (target & PAGE_MASK) == code->page_offset;
    switch (last->flow.kind) {
    case CSP_FLOW_DIRECT:
    case CSP_FLOW_CALL:
        if (at_target)
            return target;
        break;
    case CSP_FLOW_CONDITIONAL:
        if (at_end != at_target)
            return at_end ? end : target;
        break;
    case CSP_FLOW_INDIRECT:
    case CSP_FLOW_INDIRECT_CALL:
    case CSP_FLOW_RETURN:
        return csp_qemu_register(processor->index, CSP_QEMU_PC);
    default:
        if (at_end)
            return end;
        break;
    }
    processor->surprises += last->flow.kind != CSP_FLOW_CONDITIONAL || !at_end;
    return csp_qemu_register(processor->index, CSP_QEMU_PC);
}

/* What execve leaves: no frame pointer, no return address. */
static bool registers_blank(const struct csp_processor *processor)
{
    return !csp_qemu_register(processor->index, 29) && !csp_qemu_register(processor->index, 30);
}

/* Signals, their return and execve change the program counter behind the program's back. */
static void follow_return(struct csp_processor *processor, uint64_t pc, bool blank)
{
    struct csp_shadow_stack *stack = stack_of(processor);
    bool sigreturn = processor->entered_by_sigreturn;
    processor->entered_by_sigreturn = false;
    if (sigreturn)
        csp_shadow_sigreturn(stack);
    if (sigreturn || pc == processor->entry_pc || pc == processor->entry_pc - 4)
        return;
    if (blank)
        stack->frames.len = 0;
}

static void tell_units(struct csp_processor *processor, uint64_t pc)
{
    struct csp_etm4_unit *etm = processor->etm;
    if (!etm->unit.enabled)
        return;
    csp_etm4_unit_enter(etm, pc, csp_qemu_clock(processor->index));
    if (!processor->with_truth || processor->window.in_run == etm->unit.tracing)
        return;
    if (etm->unit.tracing)
        csp_machine_window_run(&processor->window, pc, processor->context_id);
    else
        csp_machine_window_end(&processor->window, pc, CSP_MACHINE_TRUTH_FILTERED);
}

void csp_processor_user(struct csp_processor *processor, const struct csp_machine_code *code)
{
    /* The kernel starts, and starts other CPUs, at low addresses, too. */
    if (!processor->at_user && csp_qemu_exception_level(processor->index) != 0)
        return;
    if (!processor->etm->unit.enabled && !processor->with_truth) {
        processor->at_user = true;
        processor->last = NULL;
        return;
    }
    uint64_t pc = next_pc(processor, code);
    if (!processor->at_user && processor->with_truth)
        follow_return(processor, pc, registers_blank(processor));
    else if (processor->at_user && processor->last)
        finish_block(processor, pc, stack_pointer(processor));
    processor->at_user = true;
    processor->last = code;
    processor->last_pc = pc;
    tell_units(processor, pc);
}

void csp_processor_vector(struct csp_processor *processor, uint64_t pc)
{
    processor->never_ran = !processor->at_user;
    processor->at_user = false;
    processor->entering = true;
    processor->vector = pc & VECTOR_MASK;
    processor->etm->unit.kernel_vectors = pc & ~(uint64_t)VECTOR_MASK;
    if (processor->with_truth) {
        processor->entry_x8 = csp_qemu_register(processor->index, 8);
        processor->entry_blank = registers_blank(processor);
    }
}

/* "Loads and stores" of the A64 encoding index. */
static bool accesses_memory(uint32_t instruction)
{
    return (instruction & 0x0a000000) == 0x08000000;
}

static enum csp_exception_type synchronous_type(uint32_t instruction)
{
    if (accesses_memory(instruction))
        return CSP_EXCEPTION_DATA_FAULT;
    if (csp_flow_of(instruction).kind == CSP_FLOW_BREAKPOINT)
        return CSP_EXCEPTION_INSTRUCTION_DEBUG;
    return CSP_EXCEPTION_TRAP;
}

/* Accounts for the last block, of which an exception may have cut off the end, and says which
 * exception it was. */
static enum csp_exception_type interrupt_block(struct csp_processor *processor,
                                               uint64_t return_address, uint64_t sp)
{
    const struct csp_machine_code *code = processor->last;
    bool synchronous = processor->vector == VECTOR_SYNCHRONOUS;
    if (!code)
        return synchronous ? CSP_EXCEPTION_INSTRUCTION_FAULT : CSP_EXCEPTION_IRQ;
    uint64_t done = (return_address - processor->last_pc) / 4;
    if (synchronous && done < code->count) {
        processor->user_instructions += done;
        processor->window.run_instructions += done;
        return synchronous_type(code->instructions[done]);
    }
    finish_block(processor, return_address, sp);
    if (!synchronous)
        return CSP_EXCEPTION_IRQ;
    return code->flow.kind == CSP_FLOW_SYSTEM_CALL ? CSP_EXCEPTION_CALL
                                                   : CSP_EXCEPTION_INSTRUCTION_FAULT;
}

void csp_processor_entered(struct csp_processor *processor, uint64_t return_address, uint64_t sp)
{
    if (!processor->entering)
        return;
    processor->entering = false;
    if (processor->never_ran && processor->with_truth)
        follow_return(processor, return_address, processor->entry_blank);
    processor->entry_pc = return_address;
    enum csp_exception_type type = interrupt_block(processor, return_address, sp);
    processor->last = NULL;
    struct csp_etm4_unit *etm = processor->etm;
    processor->entered_by_sigreturn =
        type == CSP_EXCEPTION_CALL && processor->entry_x8 == SYSCALL_RT_SIGRETURN;
    if (!csp_etm4_unit_exception(etm, type, return_address, csp_qemu_clock(processor->index)) ||
        !processor->with_truth)
        return;
    if (!processor->window.in_run) /* not one instruction ran */
        csp_machine_window_run(&processor->window, return_address, processor->context_id);
    csp_machine_window_end(&processor->window, return_address, type);
}

void csp_processor_context(struct csp_processor *processor, uint32_t context_id)
{
    processor->context_id = context_id;
    csp_etm4_unit_context(processor->etm, context_id);
}

void csp_processor_enabled(struct csp_processor *processor, uint64_t now)
{
    processor->window.opened = now;
}

void csp_processor_disabled(struct csp_processor *processor, uint64_t now, struct csp_buf *out)
{
    if (processor->with_truth)
        csp_machine_window_close(&processor->window, processor->index, now,
                                 processor->etm->output_cycles, processor->etm->user_cycles,
                                 stack_of(processor), out);
}
