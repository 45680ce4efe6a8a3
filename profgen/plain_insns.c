#include "profgen/plain_insns.h"

#include "profgen/code.h"

enum {
    PLAIN = CSP_CODE_START,
    CALL = CSP_CODE_START | CSP_CODE_CALL,
    RETURN = CSP_CODE_START | CSP_CODE_RETURN,
    CONDITIONAL = CSP_CODE_START | CSP_CODE_BRANCH,
    JUMP = CONDITIONAL | CSP_CODE_ALWAYS,
    INDIRECT_JUMP = JUMP | CSP_CODE_INDIRECT,
};

/* What is most frequent comes first. `sf`: the operands are of 64 bits. */
const struct csp_plain_insns csp_plain_insns[] = {
    {0x3b800000, 0x39000000, PLAIN},         /* STR, LDR (unsigned offset), of any size */
    {0x7e000000, 0x28000000, PLAIN},         /* STP, LDP, STNP, LDNP of general registers */
    {0x1f800000, 0x11000000, PLAIN},         /* ADD, SUB (immediate) */
    {0x7e000000, 0x34000000, CONDITIONAL},   /* CBZ, CBNZ */
    {0xff000010, 0x54000000, CONDITIONAL},   /* B.cond */
    {0xfc000000, 0x14000000, JUMP},          /* B */
    {0xffc00000, 0x52800000, PLAIN},         /* MOVZ, !sf */
    {0xfc000000, 0x94000000, CALL},          /* BL */
    {0x1f000000, 0x10000000, PLAIN},         /* ADR, ADRP */
    {0x3fa00000, 0x38000000, PLAIN},         /* STUR, LDUR and their like (9-bit offset) */
    {0x9fa00000, 0x8b000000, PLAIN},         /* ADD, SUB (LSL, LSR), sf */
    {0x9fa08000, 0x0b000000, PLAIN},         /* the same, !sf */
    {0xfffffc1f, 0xd65f0000, RETURN},        /* RET */
    {0xfffffc1f, 0xd63f0000, CALL},          /* BLR */
    {0xfffffc1f, 0xd61f0000, INDIRECT_JUMP}, /* BR */
    {0x7e000000, 0x36000000, CONDITIONAL},   /* TBZ, TBNZ */
    {0x3fe00800, 0x1a800000, PLAIN},         /* CSEL, CSINC, CSINV, CSNEG */
    {0x9fc0c000, 0x12000000, PLAIN},         /* AND, ORR, EOR, ANDS (immediate), !sf, some */
    {0x3fa04c00, 0x38204800, PLAIN},         /* STR, LDR (register), of any size */
    {0xffc00000, 0x93400000, PLAIN},         /* SBFM, sf */
    {0x7e000000, 0x2c000000, PLAIN},         /* STP, LDP, STNP, LDNP of S and Q registers */
    {0xff600000, 0x9b200000, PLAIN},         /* SMADDL, SMSUBL, UMADDL, UMSUBL */
    {0x1fe01000, 0x0b200000, PLAIN},         /* ADD, SUB (extended register) */
    {0x9f008000, 0x0a000000, PLAIN},         /* AND, ORR, EOR, ANDS and their like, !sf */
    {0x3fc00000, 0x39800000, PLAIN},         /* LDRSB, LDRSH, LDRSW, PRFM (unsigned offset) */
    {0xffc00000, 0xd3400000, PLAIN},         /* UBFM, sf */
    {0x9fc08000, 0x92400000, PLAIN},         /* AND, ORR, EOR, ANDS (immediate), sf, some */
    {0xffc00000, 0x12800000, PLAIN},         /* MOVN, !sf */
    {0xffc00000, 0x72800000, PLAIN},         /* MOVK, !sf */
    {0x7fe00000, 0x1b000000, PLAIN},         /* MADD, MSUB */
    {0x9f000000, 0x8a000000, PLAIN},         /* AND, ORR, EOR, ANDS and their like, sf */
    {0xff800000, 0xd2800000, PLAIN},         /* MOVZ, sf */
    {0xffe08000, 0x53000000, PLAIN},         /* UBFM, !sf */
    {0xbfc00000, 0x39c00000, PLAIN},         /* LDRSB, LDRSH to W (unsigned offset) */
    {0xffffffff, 0xd503201f, PLAIN},         /* NOP */
    {0xff800000, 0xf2800000, PLAIN},         /* MOVK, sf */
    {0xff800000, 0x92800000, PLAIN},         /* MOVN, sf */
    {0xffe08000, 0x13000000, PLAIN},         /* SBFM, !sf */
    {0xffe08000, 0x33000000, PLAIN},         /* BFM, !sf */
    {0x3fe00410, 0x3a400000, PLAIN},         /* CCMN, CCMP (register) */
    {0xffc00000, 0xb3400000, PLAIN},         /* BFM, sf */
};

const size_t csp_plain_insn_kinds = sizeof csp_plain_insns / sizeof *csp_plain_insns;

uint8_t csp_plain_insn(uint32_t word)
{
    for (size_t i = 0; i < csp_plain_insn_kinds; i++)
        if ((word & csp_plain_insns[i].mask) == csp_plain_insns[i].value)
            return csp_plain_insns[i].flags;
    return 0;
}
