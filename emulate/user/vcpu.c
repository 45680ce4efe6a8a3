#include "emulate/user/vcpu.h"

#include "emulate/user/frame_walk.h"
#include "emulate/user/guest.h"
#include "emulate/user/kernel.h"
#include "emulate/user/shared_state.h"

#include <unistd.h>

enum { SYSTEM_CALL_SIGRETURN = 139 }; /* include/uapi/asm-generic/unistd.h */

#define KERNEL_VECTORS UINT64_C(0xffff800080010800)

static __thread struct csp_vcpu *current;

static struct csp_vcpu *start(void)
{
    const struct csp_emulate_settings *settings = &csp_machine.settings;
    struct csp_vcpu *vcpu = csp_calloc(1, sizeof *vcpu);
    vcpu->tid = (uint32_t)gettid();
    vcpu->cpu = csp_machine_take_cpu();
    vcpu->traced = vcpu->cpu < CSP_EMULATE_CPUS;
    vcpu->truth.fd = settings->truth;
    vcpu->unit = (struct csp_trace_unit){
        .core = {.configr = settings->configr,
                 .context_id = vcpu->tid,
                 .cycle_threshold = CSP_EMULATE_CYCLE_THRESHOLD},
        .broadcasts = settings->configr & CSP_CONFIGR_BRANCH_BROADCAST,
        .timestamp_interval = settings->timestamp_interval,
        .synchronisation_bytes = 4096,
        .kernel_vectors = KERNEL_VECTORS,
    };
    vcpu->pmu = (struct csp_pmu){
        .strategy = settings->strategy,
        .window = settings->window,
        .period = settings->period,
        .skid = settings->skid,
        .random = settings->seed + vcpu->cpu,
    };
    csp_vcpu_catch_up(vcpu);
    csp_pmu_start(&vcpu->pmu);
    vcpu->deadline = vcpu->traced ? vcpu->pmu.deadline : UINT64_MAX;
    vcpu->attentive = settings->truth >= 0;
    pthread_mutex_lock(&csp_machine.lock);
    csp_vec_push(&csp_machine.vcpus, vcpu);
    pthread_mutex_unlock(&csp_machine.lock);
    struct csp_journal_record record = {
        .type = CSP_JOURNAL_THREAD, .tid = vcpu->tid, .cpu = vcpu->cpu, .time = csp_vcpu_now(vcpu)};
    csp_machine_record(&record, NULL, 0);
    csp_kernel_switch_in(vcpu);
    return vcpu;
}

struct csp_vcpu *csp_vcpu_current(void)
{
    if (!csp_machine.recording)
        return NULL;
    if (!current)
        current = start();
    return current;
}

uint64_t csp_vcpu_now(const struct csp_vcpu *vcpu)
{
    unsigned long long now = vcpu->cycles + vcpu->waited, farthest = csp_machine.farthest;
    while (now > farthest && !atomic_compare_exchange_weak(&csp_machine.farthest, &farthest, now))
        ;
    return CSP_CLOCK_START + now;
}

void csp_vcpu_catch_up(struct csp_vcpu *vcpu)
{
    uint64_t now = vcpu->cycles + vcpu->waited, farthest = csp_machine.farthest;
    if (farthest > now)
        vcpu->waited += farthest - now;
}

static uint64_t counter(struct csp_vcpu *vcpu)
{
    return csp_vcpu_now(vcpu) - CSP_CLOCK_START + CSP_COUNTER_START;
}

static void retire(struct csp_vcpu *vcpu, uint64_t instructions)
{
    vcpu->cycles += instructions;
    vcpu->truth.run_instructions += instructions;
}

/* The window is open and the instruction at `pc` is about to run: begins a run if none is. */
static void enter(struct csp_vcpu *vcpu, uint64_t pc)
{
    if (!vcpu->just_branched)
        return;
    vcpu->just_branched = false;
    if (!vcpu->run_open) {
        csp_truth_run(&vcpu->truth, pc);
        vcpu->run_open = true;
    }
    vcpu->unit.cycle = vcpu->cycles;
    csp_unit_enter(&vcpu->unit, pc, counter(vcpu));
}

/* The kernel is entered, with this preferred return address. */
static void exception(struct csp_vcpu *vcpu, enum csp_exception_type type, uint64_t return_address)
{
    if (!vcpu->window_open)
        return;
    if (!vcpu->run_open)
        csp_truth_run(&vcpu->truth, return_address);
    csp_truth_run_end(&vcpu->truth, return_address, type);
    csp_unit_exception(&vcpu->unit, type, return_address, counter(vcpu));
    vcpu->run_open = false;
    vcpu->just_branched = true;
}

/* The block ran to its end and went on at `to`, in the block `next` unless a signal came first; the
 * stack pointer was then at `sp`. */
static void complete(struct csp_vcpu *vcpu, const struct csp_block *block, uint64_t to,
                     const struct csp_block *next, uint64_t sp)
{
    bool taken = csp_flow_is_waypoint(block->kind) && block->kind != CSP_FLOW_BARRIER &&
                 (block->kind != CSP_FLOW_CONDITIONAL || to == block->target);
    retire(vcpu, block->instructions);
    if (vcpu->window_open && csp_flow_is_waypoint(block->kind)) {
        csp_unit_branch(&vcpu->unit, block->kind, taken, block->end);
        if (taken)
            csp_truth_branch(&vcpu->truth, csp_block_last(block), to, block->kind);
        vcpu->just_branched = true;
    }
    if (!taken || vcpu->truth.fd < 0)
        return;
    if (next)
        csp_truth_count(&vcpu->truth, block, next);
    csp_truth_follow(&vcpu->truth, block, to, sp);
}

/* Pointer authentication leaves its signature in bits 54 to 48. */
static bool same_address(uint64_t a, uint64_t b)
{
    return (a ^ b) << 16 == 0;
}

/* Can `block` have gone on at `to` by itself? */
static bool leads_to(const struct csp_vcpu *vcpu, const struct csp_block *block, uint64_t to)
{
    switch ((enum csp_flow_kind)block->kind) {
    case CSP_FLOW_NONE:
    case CSP_FLOW_BARRIER:
        return to == block->end;
    case CSP_FLOW_CONDITIONAL:
        return to == block->end || to == block->target;
    case CSP_FLOW_DIRECT:
    case CSP_FLOW_CALL:
        return to == block->target;
    case CSP_FLOW_INDIRECT:
    case CSP_FLOW_INDIRECT_CALL:
    case CSP_FLOW_RETURN:
        return vcpu->register_known ? same_address(to, vcpu->register_target)
                                    : !csp_machine_is_handler(to);
    default:
        return false;
    }
}

/* What the processor reports when the instruction at `pc` cannot complete. */
static enum csp_exception_type fault_type(uint64_t pc)
{
    uint32_t word;
    if (!csp_guest_read(pc, &word, sizeof word))
        return CSP_EXCEPTION_INSTRUCTION_FAULT;
    enum csp_flow_kind kind = csp_flow_of(word).kind;
    if (kind == CSP_FLOW_BREAKPOINT)
        return CSP_EXCEPTION_INSTRUCTION_DEBUG;
    if (kind == CSP_FLOW_UNDEFINED)
        return CSP_EXCEPTION_TRAP;
    return CSP_EXCEPTION_DATA_FAULT;
}

static bool within(const struct csp_block *block, uint64_t pc)
{
    return pc >= block->start && pc < block->end;
}

/* Signals that were delivered together: the program never ran between their frames. */
enum { SIGNALS_MOST = 8 };

/* Has the kernel entered user space at `next` to deliver signals? Their frames, the last
 * delivered (which runs) first. The oldest tells what was interrupted: the first that is not itself
 * the entry of a handler, or that `block` leads to. */
static unsigned delivered_signals(const struct csp_vcpu *vcpu, const struct csp_block *block,
                                  uint64_t next, struct csp_signal_frame *frames)
{
    unsigned count = 0;
    if (!csp_machine_is_handler(next) || !csp_unwind_signal_entry(&frames[0]))
        return 0;
    while (++count < SIGNALS_MOST) {
        const struct csp_signal_frame *frame = &frames[count - 1];
        if (!csp_machine_is_handler(frame->pc) || leads_to(vcpu, block, frame->pc) ||
            !csp_unwind_signal_frame(frame->sp, &frames[count]))
            break;
    }
    return count;
}

static void push_signals(struct csp_vcpu *vcpu, const struct csp_signal_frame *frames,
                         unsigned count)
{
    vcpu->totals.signals += count;
    while (count-- > 0 && vcpu->truth.fd >= 0)
        csp_shadow_signal(&vcpu->truth.stack, frames[count].pc, frames[count].sp);
}

/* The next block is not where `block` leads: signals came, or QEMU gave up in the middle and runs
 * the rest anew (self-modifying code, atomic operations that the host lacks). */
static void interrupted(struct csp_vcpu *vcpu, const struct csp_block *block, uint64_t next)
{
    struct csp_signal_frame frames[SIGNALS_MOST];
    unsigned signals = delivered_signals(vcpu, block, next, frames);
    uint64_t pc = signals ? frames[signals - 1].pc : 0;
    if (!signals && within(block, next)) {
        retire(vcpu, (next - block->start) / 4);
        return;
    }
    if (signals && leads_to(vcpu, block, pc)) {
        complete(vcpu, block, pc, NULL, frames[signals - 1].sp);
        exception(vcpu, CSP_EXCEPTION_IRQ, pc);
    } else if (signals && within(block, pc)) {
        retire(vcpu, (pc - block->start) / 4);
        exception(vcpu, fault_type(pc), pc);
    } else {
        vcpu->totals.unexplained++;
        retire(vcpu, block->instructions);
        exception(vcpu, CSP_EXCEPTION_TRAP, block->end);
    }
    push_signals(vcpu, frames, signals);
}

/* The system call that `block` ended in is over; the program goes on at `next`. */
static void return_from_kernel(struct csp_vcpu *vcpu, const struct csp_block *block, uint64_t next)
{
    struct csp_signal_frame frames[SIGNALS_MOST];
    if (vcpu->asleep)
        csp_kernel_switch_in(vcpu);
    if (vcpu->in_sigreturn)
        csp_shadow_sigreturn(&vcpu->truth.stack);
    vcpu->in_sigreturn = false;
    if (next != block->end)
        push_signals(vcpu, frames, delivered_signals(vcpu, block, next, frames));
}

/* Only the truth asks for it: reading a register costs more than the rest of a step. */
static uint64_t stack_pointer(const struct csp_vcpu *vcpu)
{
    return vcpu->truth.fd >= 0 ? csp_guest_register(CSP_GUEST_SP) : 0;
}

static void settle(struct csp_vcpu *vcpu, const struct csp_block *block,
                   const struct csp_block *next)
{
    if (vcpu->in_kernel)
        return_from_kernel(vcpu, block, next->start);
    else if (leads_to(vcpu, block, next->start))
        complete(vcpu, block, next->start, next, stack_pointer(vcpu));
    else
        interrupted(vcpu, block, next->start);
}

/* Takes the interrupts that are due before the instruction at `pc`, in the kernel or before it is
 * entered. */
static void take_interrupts(struct csp_vcpu *vcpu, uint64_t pc)
{
    enum csp_pmu_interrupt which;
    while ((which = csp_pmu_take(&vcpu->pmu, vcpu->cycles)) != CSP_PMU_NOTHING) {
        if (vcpu->window_open && !vcpu->in_kernel)
            exception(vcpu, CSP_EXCEPTION_IRQ, pc);
        if (which == CSP_PMU_RESUME)
            csp_kernel_resume(vcpu, pc, !vcpu->window_open);
        else
            csp_kernel_pause(vcpu, pc);
    }
    vcpu->deadline = vcpu->pmu.deadline;
    vcpu->attentive = vcpu->window_open || vcpu->truth.fd >= 0;
}

/* The common case, outside windows: the block before led here, nothing is due. */
static bool uneventful(struct csp_vcpu *vcpu, const struct csp_block *block)
{
    const struct csp_block *previous = vcpu->previous;
    if (vcpu->attentive || !previous || vcpu->in_kernel ||
        (block->start != previous->end && block->start != previous->target &&
         !csp_flow_is_indirect(previous->kind)) ||
        vcpu->cycles + previous->instructions >= vcpu->deadline)
        return false;
    vcpu->cycles += previous->instructions;
    vcpu->previous = block;
    vcpu->register_known = false;
    return true;
}

/* A window ends before this block because too few have ended there. */
static void cover(struct csp_vcpu *vcpu, struct csp_block *block)
{
    if (block->covered || !vcpu->window_open || vcpu->cycles < vcpu->may_close_at)
        return;
    block->covered = ++block->pauses >= csp_machine.settings.cover;
    csp_pmu_pause_now(&vcpu->pmu, vcpu->cycles);
    if (csp_machine.settings.cover_at >= 0)
        csp_pmu_resume_at(&vcpu->pmu, vcpu->cycles + 1);
    vcpu->deadline = vcpu->pmu.deadline;
}

void csp_vcpu_frame_pointer(struct csp_vcpu *vcpu, uint64_t address)
{
    if (!vcpu->frame_pointer_at)
        vcpu->frame_pointer_at = address;
}

/* What the program just stored is what a callchain taken now would begin with, unless a signal came
 * first. */
static void check_frame_pointer(struct csp_vcpu *vcpu, const struct csp_block *next)
{
    uint64_t stored, at = vcpu->frame_pointer_at;
    vcpu->frame_pointer_at = 0;
    if (!vcpu->previous || vcpu->previous->end != next->start)
        return;
    vcpu->totals.frame_pointers++;
    vcpu->totals.frame_pointers_wrong +=
        !csp_guest_read(at, &stored, sizeof stored) || stored != csp_guest_register(CSP_GUEST_FP);
}

void csp_vcpu_step(struct csp_vcpu *vcpu, struct csp_block *block)
{
    if (vcpu->frame_pointer_at)
        check_frame_pointer(vcpu, block);
    if (uneventful(vcpu, block))
        return;
    if (vcpu->previous)
        settle(vcpu, vcpu->previous, block);
    vcpu->in_kernel = false;
    if (csp_machine.settings.cover)
        cover(vcpu, block);
    if (vcpu->cycles >= vcpu->deadline)
        take_interrupts(vcpu, block->start);
    if (vcpu->window_open)
        enter(vcpu, block->start);
    vcpu->previous = block;
    vcpu->register_known = block->instructions == 1 && csp_flow_is_indirect(block->kind) &&
                           csp_machine.handles_signals;
    if (vcpu->register_known)
        vcpu->register_target = csp_guest_register(block->target_register);
}

/* Calls that give the processor away, most often (include/uapi/asm-generic/unistd.h). */
static bool may_sleep(int64_t number)
{
    enum {
        EPOLL_PWAIT = 22,
        PSELECT6 = 72,
        PPOLL = 73,
        WAITID = 95,
        FUTEX = 98,
        NANOSLEEP = 101,
        CLOCK_NANOSLEEP = 115,
        SCHED_YIELD = 124,
        SIGSUSPEND = 133,
        WAIT4 = 260,
    };
    switch (number) {
    case EPOLL_PWAIT:
    case PSELECT6:
    case PPOLL:
    case WAITID:
    case FUTEX:
    case NANOSLEEP:
    case CLOCK_NANOSLEEP:
    case SCHED_YIELD:
    case SIGSUSPEND:
    case WAIT4:
        return true;
    default:
        return false;
    }
}

void csp_vcpu_system_call(struct csp_vcpu *vcpu, int64_t number)
{
    const struct csp_block *block = vcpu->previous;
    vcpu->in_sigreturn = number == SYSTEM_CALL_SIGRETURN;
    csp_vcpu_now(vcpu); /* whoever waits for this thread will know */
    if (!block)
        return;
    retire(vcpu, block->instructions);
    vcpu->totals.system_calls_in_windows += vcpu->window_open;
    exception(vcpu, CSP_EXCEPTION_CALL, block->end);
    vcpu->in_kernel = true;
    if (vcpu->traced) {
        csp_pmu_interrupt_now(&vcpu->pmu, vcpu->cycles);
        take_interrupts(vcpu, block->end);
    }
    if (may_sleep(number))
        csp_kernel_switch_out(vcpu);
}

void csp_vcpu_system_call_return(struct csp_vcpu *vcpu)
{
    csp_vcpu_catch_up(vcpu);
}

void csp_vcpu_end(struct csp_vcpu *vcpu)
{
    if (vcpu->ended)
        return;
    if (!vcpu->in_kernel && vcpu->window_open && vcpu->run_open)
        csp_truth_run_end(&vcpu->truth, 0, 0);
    vcpu->previous = NULL;
    if (!vcpu->asleep)
        csp_kernel_switch_out(vcpu);
    vcpu->ended = true;
    vcpu->deadline = UINT64_MAX;
    struct csp_journal_record record = {
        .type = CSP_JOURNAL_EXIT, .tid = vcpu->tid, .cpu = vcpu->cpu, .time = csp_vcpu_now(vcpu)};
    csp_machine_record(&record, NULL, 0);
    csp_machine_release_cpu(vcpu->cpu);
}

void csp_vcpu_add_totals(const struct csp_vcpu *vcpu, struct csp_journal_totals *totals)
{
    totals->instructions += vcpu->cycles;
    totals->windows += vcpu->totals.windows;
    totals->trace_bytes += vcpu->totals.trace_bytes;
    totals->unexplained += vcpu->totals.unexplained;
    totals->unsampled_windows += vcpu->totals.unsampled_windows;
    totals->signals += vcpu->totals.signals;
    totals->frame_pointers += vcpu->totals.frame_pointers;
    totals->frame_pointers_wrong += vcpu->totals.frame_pointers_wrong;
    totals->system_calls_in_windows += vcpu->totals.system_calls_in_windows;
}
