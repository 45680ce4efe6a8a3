/* How an A64 instruction moves the program counter, as a trace unit sees it.
 *
 * The decoder has a classification of its own (decode/code). They are separate on purpose: the
 * emulator is the judge of the decoder, and a shared mistake would be invisible.
 *
 * Source: Arm ARM (DDI 0487) C4.1 "A64 instruction set encoding"; Arm ETM architecture
 * specification (IHI 0064) "Instruction P0 elements" for what is traced.
 */
#ifndef CSP_EMULATE_FLOW_H
#define CSP_EMULATE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

enum csp_flow_kind {
    CSP_FLOW_NONE,          /* goes on to the next instruction; not traced */
    CSP_FLOW_CONDITIONAL,   /* B.cond, BC.cond, CBZ, CBNZ, TBZ, TBNZ */
    CSP_FLOW_DIRECT,        /* B */
    CSP_FLOW_CALL,          /* BL */
    CSP_FLOW_INDIRECT,      /* BR and its PAuth forms */
    CSP_FLOW_INDIRECT_CALL, /* BLR and its PAuth forms */
    CSP_FLOW_RETURN,        /* RET and its PAuth forms */
    CSP_FLOW_BARRIER,       /* ISB: an atom, but the flow goes on */
    CSP_FLOW_SYSTEM_CALL,   /* SVC: no atom; the exception tells */
    CSP_FLOW_BREAKPOINT,    /* BRK: no atom; the exception tells */
    CSP_FLOW_UNDEFINED,     /* UDF: no atom; the exception tells */
};

struct csp_flow {
    uint8_t kind;   /* enum csp_flow_kind */
    uint8_t target; /* of the indirect kinds: the number of the register with the target */
    int64_t offset; /* of the direct kinds: target minus the instruction's own address */
};

struct csp_flow csp_flow_of(uint32_t instruction);

/* An atom stands for the instruction. */
static inline bool csp_flow_is_waypoint(enum csp_flow_kind kind)
{
    return kind >= CSP_FLOW_CONDITIONAL && kind <= CSP_FLOW_BARRIER;
}

/* The target comes from a register, so that the trace must tell it. */
static inline bool csp_flow_is_indirect(enum csp_flow_kind kind)
{
    return kind >= CSP_FLOW_INDIRECT && kind <= CSP_FLOW_RETURN;
}

static inline bool csp_flow_is_call(enum csp_flow_kind kind)
{
    return kind == CSP_FLOW_CALL || kind == CSP_FLOW_INDIRECT_CALL;
}

#endif
