/* The kernel's part: what an interrupt of the resume or of the pause event does, and the drain of
 * the trace sink. */
#ifndef CSP_EMULATE_USER_KERNEL_H
#define CSP_EMULATE_USER_KERNEL_H

#include "emulate/user/vcpu.h"

/* An interrupt is taken before the instruction at `pc`; in the kernel if the thread is there. */
void csp_kernel_resume(struct csp_vcpu *vcpu, uint64_t pc, bool opens);
void csp_kernel_pause(struct csp_vcpu *vcpu, uint64_t pc);

/* The thread gives its processor away, or ends: a window that is open ends without a sample, and
 * one opens without a sample when it runs again. Paused belongs to the event, not to the
 * processor. */
void csp_kernel_switch_out(struct csp_vcpu *vcpu);
void csp_kernel_switch_in(struct csp_vcpu *vcpu);

#endif
