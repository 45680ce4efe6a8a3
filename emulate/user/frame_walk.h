/* The callchain that the kernel would have taken, and signal frames on the program's stack. */
#ifndef CSP_EMULATE_USER_FRAME_WALK_H
#define CSP_EMULATE_USER_FRAME_WALK_H

#include <stdbool.h>
#include <stdint.h>

/* sysctl kernel.perf_event_max_stack's default. */
enum { CSP_CALLCHAIN_MOST = 127 };

/* User frames from `pc` along the frame records at `fp`, by the rules of arm64's
 * perf_callchain_user (arch/arm64/kernel/perf_callchain.c, Linux 6.1 and later): records aligned to
 * 8 bytes, strictly upwards, return addresses stripped of pointer authentication, the last one
 * included even when its record leads nowhere. The marker PERF_CONTEXT_USER comes first. `chain`
 * has room for CSP_CALLCHAIN_MOST + 1 entries; returns how many there are. */
unsigned csp_unwind_callchain(uint64_t pc, uint64_t fp, uint64_t *chain);

/* What a signal interrupted, from the frame that the kernel put on the stack. */
struct csp_signal_frame {
    uint64_t pc, sp;
};

/* A signal handler is about to run at its first instruction: reads its frame. False when the stack
 * pointer is not at one or the return address is not that of a sigreturn trampoline. */
bool csp_unwind_signal_entry(struct csp_signal_frame *frame);
/* The frame at `sp`: of a handler that was itself interrupted before its first instruction. */
bool csp_unwind_signal_frame(uint64_t sp, struct csp_signal_frame *frame);

#endif
