#include "emulate/user/frame_walk.h"

#include "emulate/user/guest.h"
#include "perfdata/sample_record.h"

#include <string.h>

/* Bits 54 to 48 of a user address hold the signature, with 48-bit addresses. */
#define PAC_MASK UINT64_C(0x007f000000000000)

static uint64_t strip(uint64_t address)
{
    return address >> 55 & 1 ? address | PAC_MASK : address & ~PAC_MASK;
}

unsigned csp_unwind_callchain(uint64_t pc, uint64_t fp, uint64_t *chain)
{
    unsigned count = 0;
    chain[count++] = CSP_CONTEXT_USER;
    chain[count++] = pc;
    while (count <= CSP_CALLCHAIN_MOST && fp && !(fp & 7)) {
        struct {
            uint64_t fp, lr;
        } record;
        if (!csp_guest_read(fp, &record, sizeof record))
            break;
        chain[count++] = strip(record.lr);
        if (record.fp <= fp)
            break;
        fp = record.fp;
    }
    return count;
}

/* struct rt_sigframe of arch/arm64/kernel/signal.c: siginfo_t (128 bytes), then ucontext_t, whose
 * uc_mcontext begins at 176: fault_address, regs[31], sp, pc, pstate. */
enum { MCONTEXT = 128 + 176, FRAME_SP = MCONTEXT + 8 + 31 * 8, FRAME_PC = FRAME_SP + 8 };

bool csp_unwind_signal_frame(uint64_t sp, struct csp_signal_frame *frame)
{
    return csp_guest_read(sp + FRAME_PC, &frame->pc, sizeof frame->pc) &&
           csp_guest_read(sp + FRAME_SP, &frame->sp, sizeof frame->sp);
}

bool csp_unwind_signal_entry(struct csp_signal_frame *frame)
{
    static const uint32_t trampoline[] = {0xd2801168, 0xd4000001}; /* mov x8, #139; svc #0 */
    uint32_t code[2];
    return csp_guest_read(csp_guest_register(CSP_GUEST_LR), code, sizeof code) &&
           !memcmp(code, trampoline, sizeof code) &&
           csp_unwind_signal_frame(csp_guest_register(CSP_GUEST_SP), frame);
}
