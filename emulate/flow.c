#include "emulate/flow.h"

/* Bits [low, low + width) as a signed number of instructions, in bytes. */
static int64_t branch_offset(uint32_t instruction, unsigned low, unsigned width)
{
    uint32_t field = instruction << (32 - low - width);
    return (int64_t)((int32_t)field >> (32 - width)) * 4;
}

/* "Unconditional branch (register)": opc in [24:21], op2 all ones, op3 in [15:10], op4 in [4:0]. */
static struct csp_flow branch_register(uint32_t instruction)
{
    struct csp_flow flow = {.kind = CSP_FLOW_NONE, .target = instruction >> 5 & 31};
    unsigned operation = instruction >> 21 & 15, variant = instruction >> 10 & 63;
    bool plain = variant == 0, authenticated = variant == 2 || variant == 3;
    if ((instruction >> 16 & 31) != 31 || (!plain && !authenticated))
        return flow;
    switch (operation) {
    case 0: /* BR, BRAAZ, BRABZ */
    case 8: /* BRAA, BRAB */
        flow.kind = CSP_FLOW_INDIRECT;
        break;
    case 1: /* BLR, BLRAAZ, BLRABZ */
    case 9: /* BLRAA, BLRAB */
        flow.kind = CSP_FLOW_INDIRECT_CALL;
        break;
    case 2: /* RET, RETAA, RETAB */
        flow.kind = CSP_FLOW_RETURN;
        if (authenticated)
            flow.target = 30;
        break;
    default: /* ERET and DRPS do not happen at EL0 */
        break;
    }
    return flow;
}

struct csp_flow csp_flow_of(uint32_t instruction)
{
    if ((instruction & 0xfc000000) == 0x14000000)
        return (struct csp_flow){CSP_FLOW_DIRECT, 0, branch_offset(instruction, 0, 26)};
    if ((instruction & 0xfc000000) == 0x94000000)
        return (struct csp_flow){CSP_FLOW_CALL, 0, branch_offset(instruction, 0, 26)};
    if ((instruction & 0xff000000) == 0x54000000 || (instruction & 0x7e000000) == 0x34000000)
        return (struct csp_flow){CSP_FLOW_CONDITIONAL, 0, branch_offset(instruction, 5, 19)};
    if ((instruction & 0x7e000000) == 0x36000000)
        return (struct csp_flow){CSP_FLOW_CONDITIONAL, 0, branch_offset(instruction, 5, 14)};
    if ((instruction & 0xfe000000) == 0xd6000000)
        return branch_register(instruction);
    if ((instruction & 0xfffff0ff) == 0xd50330df)
        return (struct csp_flow){.kind = CSP_FLOW_BARRIER};
    if ((instruction & 0xffe0001f) == 0xd4000001)
        return (struct csp_flow){.kind = CSP_FLOW_SYSTEM_CALL};
    if ((instruction & 0xffe0001f) == 0xd4200000)
        return (struct csp_flow){.kind = CSP_FLOW_BREAKPOINT};
    if ((instruction & 0xffff0000) == 0)
        return (struct csp_flow){.kind = CSP_FLOW_UNDEFINED};
    return (struct csp_flow){.kind = CSP_FLOW_NONE};
}
