/* What an A64 instruction does to the flow of control and to the trace, from its encoding alone.
 *
 * Source of the encodings: Arm Architecture Reference Manual for A-profile, "Branches, Exception
 * Generating and System instructions" and "Data Processing -- Immediate" for RETAASPPC. Which of
 * them are P0 instructions, each of them an atom, an exception or a Q element in the trace: Arm ETM
 * and ETE architecture specifications, "Instruction trace, P0 elements".
 */
#ifndef CSP_DECODE_CODE_AARCH64_H
#define CSP_DECODE_CODE_AARCH64_H

#include "decode/sample.h"

#include <stdbool.h>

enum csp_aarch64_type {
    CSP_AARCH64_OTHER,
    CSP_AARCH64_BRANCH,          /* the target is in the encoding: `offset`; `kind` tells which */
    CSP_AARCH64_BRANCH_INDIRECT, /* the target is in a register or on a stack */
    CSP_AARCH64_ISB,             /* traced as a direct branch to the next instruction */
    CSP_AARCH64_WAIT,   /* WFE, WFI, WFET, WFIT: traced like ISB where TRCIDR2.WFXMODE is set */
    CSP_AARCH64_TSTART, /* traced by ETE as a branch that is not taken, or fails to here */
    CSP_AARCH64_SYSTEM_CALL, /* SVC, HVC, SMC: no waypoint; an exception element follows */
    CSP_AARCH64_TRAP,        /* BRK, HLT, DCPSn, UDF: never goes on to the next instruction */
    CSP_AARCH64_LANDING_PAD, /* BTI and the PACIxSP that double as one */
};

struct csp_aarch64 {
    uint8_t type;   /* enum csp_aarch64_type */
    uint8_t kind;   /* enum csp_branch_kind; UNKNOWN unless it branches */
    int32_t offset; /* CSP_AARCH64_BRANCH: target minus the address of the instruction, in bytes */
};

struct csp_aarch64 csp_aarch64_classify(uint32_t opcode);

/* Whether the instruction ends a range in ETMv4 and ETE traces; `waits` when WFE and WFI do. */
static inline bool csp_aarch64_is_waypoint(struct csp_aarch64 instruction, bool waits)
{
    return (instruction.type >= CSP_AARCH64_BRANCH && instruction.type <= CSP_AARCH64_ISB) ||
           instruction.type == CSP_AARCH64_TSTART ||
           (waits && instruction.type == CSP_AARCH64_WAIT);
}

#endif
