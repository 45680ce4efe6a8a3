/* One thread of the emulated program on a processor of its own: follows what it executes, block by
 * block, and plays the trace unit, the PMU and the kernel's interrupt handler.
 *
 * QEMU tells only that a block begins. So a block counts as executed when the next one begins, and
 * where that one begins tells how: after a branch, at the instruction that QEMU runs again, or in a
 * signal handler, of which the frame on the stack tells what was interrupted.
 *
 * Time: each instruction takes a cycle, a cycle takes a nanosecond, and each thread has a clock of
 * its own, as if all ran at the same time. A thread tells how far it is at each event and system
 * call, and catches up with the farthest when it comes back from the kernel and before a window
 * opens: so times agree with what threads wait for, and nothing but the handler's cost lies between
 * the end of a window and its sample. With a single thread all times are the same in every run.
 */
#ifndef CSP_EMULATE_USER_VCPU_H
#define CSP_EMULATE_USER_VCPU_H

#include "emulate/journal.h"
#include "emulate/pmu.h"
#include "emulate/trace_unit.h"
#include "emulate/user/block.h"
#include "emulate/user/truth.h"

struct csp_vcpu {
    const struct csp_block *previous; /* began, and has not been accounted for; null: none */
    uint64_t cycles;                  /* instructions executed */
    uint64_t deadline;                /* no interrupt before this many cycles */
    bool attentive; /* every block matters: a window is open, or truth is wanted */

    bool window_open, run_open;
    bool ended;
    bool traced; /* has a processor with a trace unit */
    uint32_t tid, cpu;
    uint64_t waited;          /* nanoseconds in the kernel; with `cycles` they make the clock */
    uint64_t register_target; /* of the indirect branch in `previous`, when `register_known` */
    bool register_known;
    bool in_kernel;     /* in the system call that `previous` ends in */
    bool in_sigreturn;  /* which is that one */
    bool asleep;        /* switched out: another thread has the processor */
    bool reopens;       /* was switched out within a window */
    bool just_branched; /* since the trace unit heard of an address */
    uint64_t opened_at;
    uint64_t may_close_at;     /* cycle: the window is long enough for settings.cover */
    uint64_t frame_pointer_at; /* where the last instruction stored x29; 0: nowhere */

    struct csp_trace_unit unit;
    struct csp_pmu pmu;
    struct csp_truth truth;
    struct csp_buf sink; /* bytes of the trace sink that no AUX record has announced */
    struct csp_journal_totals totals;
};

/* The thread's own, made at its first block. Null in a forked child. */
struct csp_vcpu *csp_vcpu_current(void);
/* A block is about to run. */
void csp_vcpu_step(struct csp_vcpu *vcpu, struct csp_block *block);
/* The thread is about to call the kernel. */
void csp_vcpu_system_call(struct csp_vcpu *vcpu, int64_t number);
/* … and is back from it. */
void csp_vcpu_system_call_return(struct csp_vcpu *vcpu);
/* The thread ends, or the whole process does. */
void csp_vcpu_end(struct csp_vcpu *vcpu);
/* The instruction that runs stores x29 at `address`. */
void csp_vcpu_frame_pointer(struct csp_vcpu *vcpu, uint64_t address);
void csp_vcpu_add_totals(const struct csp_vcpu *vcpu, struct csp_journal_totals *totals);
/* The virtual time, in nanoseconds; tells the other threads. */
uint64_t csp_vcpu_now(const struct csp_vcpu *vcpu);
/* The thread has waited, or may have: for the others, or in the kernel. */
void csp_vcpu_catch_up(struct csp_vcpu *vcpu);

#endif
