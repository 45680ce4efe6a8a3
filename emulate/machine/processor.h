/* Follows what one processor of the machine executes at EL0, block by block, and tells its trace
 * unit and the truth.
 *
 * A block's outcome is known when the next one begins or when the kernel has saved ELR_EL1: it
 * stores the program counter of the interrupted program at its entry (struct pt_regs). */
#ifndef CSP_EMULATE_MACHINE_PROCESSOR_H
#define CSP_EMULATE_MACHINE_PROCESSOR_H

#include "emulate/machine/etm4_unit.h"
#include "emulate/machine/machine_code.h"
#include "emulate/machine/machine_truth.h"

/* What all processors share. */
struct csp_machine_threads {
    struct csp_map numbers; /* context ID → index, plus 1, of its stack */
    CSP_VEC(struct csp_shadow_stack) stacks;
};

struct csp_processor {
    unsigned index;
    struct csp_etm4_unit *etm;
    struct csp_machine_threads *threads;
    bool with_truth;

    uint32_t context_id;                 /* CONTEXTIDR_EL1 */
    bool at_user;                        /* at EL0 */
    bool entering;                       /* into the kernel; ELR_EL1 is not known yet */
    unsigned vector;                     /* offset from VBAR_EL1, when entering */
    const struct csp_machine_code *last; /* the block that runs at EL0, or null */
    uint64_t last_pc;
    uint64_t entry_pc; /* ELR_EL1 at the last entry to the kernel */
    uint64_t entry_x8; /* the number, if it was a system call */
    bool entry_blank;  /* no frame pointer and no return address then */
    bool never_ran;    /* an exception came before the first instruction after a return */
    bool entered_by_sigreturn;

    struct csp_machine_window window;
    uint64_t user_instructions;
    uint64_t surprises; /* a block began where the flow did not lead */
};

/* A block is about to run at EL0. */
void csp_processor_user(struct csp_processor *processor, const struct csp_machine_code *code);
/* The processor is at the vector at `pc`, for an exception from EL0; nothing of it has run. */
void csp_processor_vector(struct csp_processor *processor, uint64_t pc);
/* The kernel stored the program counter and the stack pointer of EL0. */
void csp_processor_entered(struct csp_processor *processor, uint64_t return_address, uint64_t sp);
void csp_processor_context(struct csp_processor *processor, uint32_t context_id);
/* The trace unit was enabled or disabled by a store; appends a closed window to `out`. */
void csp_processor_enabled(struct csp_processor *processor, uint64_t now);
void csp_processor_disabled(struct csp_processor *processor, uint64_t now, struct csp_buf *out);

#endif
