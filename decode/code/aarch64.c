#include "decode/code/aarch64.h"

/* The signed field of `bits` bits whose lowest is bit `low`, in words, as a byte offset. */
static int32_t word_offset(uint32_t opcode, unsigned low, unsigned bits)
{
    return ((int32_t)(opcode << (32 - low - bits)) >> (32 - bits)) * 4;
}

static struct csp_aarch64 plain(enum csp_aarch64_type type)
{
    return (struct csp_aarch64){.type = (uint8_t)type};
}

static struct csp_aarch64 direct(enum csp_branch_kind kind, int32_t offset)
{
    return (struct csp_aarch64){CSP_AARCH64_BRANCH, (uint8_t)kind, offset};
}

static struct csp_aarch64 indirect(enum csp_branch_kind kind)
{
    return (struct csp_aarch64){CSP_AARCH64_BRANCH_INDIRECT, (uint8_t)kind, 0};
}

/* CB<cc>, CBB<cc>, CBH<cc> (FEAT_CMPBR). Conditions 4 and 5 are unallocated; so are byte and
 * half-word forms of 64 bits, and bits [15:14] = 1 among the register forms. */
static struct csp_aarch64 compare_and_branch(uint32_t opcode)
{
    unsigned condition = opcode >> 21 & 7;
    bool immediate = opcode & 1u << 24, wide = opcode & 1u << 31;
    unsigned size = opcode >> 14 & 3;
    bool allocated = immediate ? !(size & 1) : size == 0 || (size != 1 && !wide);
    if (condition == 4 || condition == 5 || !allocated)
        return plain(CSP_AARCH64_OTHER);
    return direct(CSP_BRANCH_CONDITIONAL, word_offset(opcode, 5, 9));
}

/* "Unconditional branch (register)": 1101011 opc[4] 11111 op3[6] Rn[5] op4[5]. */
static struct csp_aarch64 branch_register(uint32_t opcode)
{
    unsigned opc = opcode >> 21 & 15, op2 = opcode >> 16 & 31, op3 = opcode >> 10 & 63;
    unsigned rn = opcode >> 5 & 31, op4 = opcode & 31;
    bool authenticated = op3 == 2 || op3 == 3; /* key A, key B */
    bool base = op3 == 0 && op4 == 0;
    if (op2 != 31)
        return plain(CSP_AARCH64_OTHER);
    switch (opc) {
    case 0: /* BR, BRAAZ, BRABZ */
        if (base || (authenticated && op4 == 31))
            return indirect(CSP_BRANCH_INDIRECT);
        break;
    case 1: /* BLR, BLRAAZ, BLRABZ */
        if (base || (authenticated && op4 == 31))
            return indirect(CSP_BRANCH_INDIRECT_CALL);
        break;
    case 2: /* RET; RETAA, RETAB and, with a modifier register in op4, RETAASPPCR, RETABSPPCR */
        if (base || (authenticated && rn == 31))
            return indirect(CSP_BRANCH_RETURN);
        break;
    case 4: /* ERET, ERETAA, ERETAB */
        if (rn == 31 && (base || (authenticated && op4 == 31)))
            return indirect(CSP_BRANCH_EXCEPTION_RETURN);
        break;
    case 5: /* DRPS */
        if (rn == 31 && base)
            return indirect(CSP_BRANCH_EXCEPTION_RETURN);
        break;
    case 7: /* TEXIT (FEAT_TEV), bit 10 telling its two forms apart */
        if (rn == 31 && op4 == 0 && op3 <= 1)
            return indirect(CSP_BRANCH_EXCEPTION_RETURN);
        break;
    case 8: /* BRAA, BRAB */
        if (authenticated)
            return indirect(CSP_BRANCH_INDIRECT);
        break;
    case 9: /* BLRAA, BLRAB */
        if (authenticated)
            return indirect(CSP_BRANCH_INDIRECT_CALL);
        break;
    }
    return plain(CSP_AARCH64_OTHER);
}

/* "Exception generation": 11010100 opc[3] imm16 op2[3] LL[2]. */
static struct csp_aarch64 exception_generation(uint32_t opcode)
{
    unsigned opc = opcode >> 21 & 7, low = opcode & 31;
    if (opc == 0 && low >= 1 && low <= 3)
        return plain(CSP_AARCH64_SYSTEM_CALL);
    if (((opc == 1 || opc == 2) && low == 0) || (opc == 5 && low >= 1 && low <= 3))
        return plain(CSP_AARCH64_TRAP);
    return plain(CSP_AARCH64_OTHER);
}

/* Hints, barriers and the other system instructions: 11010101 00… */
static struct csp_aarch64 system_instruction(uint32_t opcode)
{
    if ((opcode & 0xfffff0ff) == 0xd50330df)
        return plain(CSP_AARCH64_ISB);
    if ((opcode & 0xffffffdf) == 0xd503205f || (opcode & 0xffffffc0) == 0xd5031000)
        return plain(CSP_AARCH64_WAIT);
    if ((opcode & 0xffffffe0) == 0xd5233060)
        return plain(CSP_AARCH64_TSTART);
    bool bti = (opcode & 0xffffff3f) == 0xd503241f;
    bool paciasp_or_pacibsp = (opcode & 0xffffffbf) == 0xd503233f;
    return plain(bti || paciasp_or_pacibsp ? CSP_AARCH64_LANDING_PAD : CSP_AARCH64_OTHER);
}

struct csp_aarch64 csp_aarch64_classify(uint32_t opcode)
{
    switch (opcode >> 24) {
    case 0x00:
        return plain(opcode >> 16 ? CSP_AARCH64_OTHER : CSP_AARCH64_TRAP); /* UDF */
    case 0x14 ... 0x17:
        return direct(CSP_BRANCH_DIRECT, word_offset(opcode, 0, 26));
    case 0x94 ... 0x97:
        return direct(CSP_BRANCH_CALL, word_offset(opcode, 0, 26));
    case 0x34:
    case 0x35:
    case 0xb4:
    case 0xb5: /* CBZ, CBNZ */
    case 0x54: /* B.cond, BC.cond */
        return direct(CSP_BRANCH_CONDITIONAL, word_offset(opcode, 5, 19));
    case 0x36:
    case 0x37:
    case 0xb6:
    case 0xb7: /* TBZ, TBNZ */
        return direct(CSP_BRANCH_CONDITIONAL, word_offset(opcode, 5, 14));
    case 0x74:
    case 0x75:
    case 0xf4:
    case 0xf5:
        return compare_and_branch(opcode);
    case 0x55: /* RETAASPPC, RETABSPPC (FEAT_PAuth_LR) */
        return (opcode & 0xffc0001f) == 0x5500001f ? indirect(CSP_BRANCH_RETURN)
                                                   : plain(CSP_AARCH64_OTHER);
    case 0xd4:
        return exception_generation(opcode);
    case 0xd5:
        return system_instruction(opcode);
    case 0xd6:
    case 0xd7:
        return branch_register(opcode);
    default:
        return plain(CSP_AARCH64_OTHER);
    }
}
