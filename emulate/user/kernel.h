/* The kernel's part: what an interrupt of the resume or of the pause event does, and the drain of
 * the trace sink. */
#ifndef CSP_EMULATE_USER_KERNEL_H
#define CSP_EMULATE_USER_KERNEL_H

#include "emulate/user/vcpu.h"

/* An interrupt is taken before the instruction at `pc`. */
void csp_kernel_resume(struct csp_vcpu *vcpu, uint64_t pc, bool opens);
void csp_kernel_pause(struct csp_vcpu *vcpu, uint64_t pc);
/* The thread ends with its window open. */
void csp_kernel_close_unsampled(struct csp_vcpu *vcpu);
/* Announces what is left in the sink. */
void csp_kernel_drain(struct csp_vcpu *vcpu);

#endif
