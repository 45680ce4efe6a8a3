/* Prints our classification of many A64 encodings, `opcode class kind offset`, one a line: every
 * value of the upper half of a word with a few lower halves, and random words within the encoding
 * groups that hold branches and system instructions. aarch64_classes.sh asks llvm-objdump. */
#include "decode/code/aarch64.h"

#include <inttypes.h>
#include <stdio.h>

static void print(uint32_t opcode)
{
    static const char *const types[] = {
        [CSP_AARCH64_OTHER] = "other",
        [CSP_AARCH64_BRANCH] = "direct",
        [CSP_AARCH64_BRANCH_INDIRECT] = "indirect",
        [CSP_AARCH64_ISB] = "isb",
        [CSP_AARCH64_WAIT] = "wait",
        [CSP_AARCH64_TSTART] = "tstart",
        [CSP_AARCH64_SYSTEM_CALL] = "call",
        [CSP_AARCH64_TRAP] = "trap",
        [CSP_AARCH64_LANDING_PAD] = "pad",
    };
    struct csp_aarch64 instruction = csp_aarch64_classify(opcode);
    printf("%08" PRIx32 " %s %u %d\n", opcode, types[instruction.type], instruction.kind,
           instruction.offset);
}

/* A fixed sequence (a 64-bit linear congruential generator, high bits). */
static uint32_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

int main(void)
{
    static const uint32_t lower[] = {0x0000, 0x001f, 0x03c0, 0x0be0,
                                     0x0fff, 0x205f, 0x3fdf, 0x8041};
    static const uint32_t groups[] = {0x14000000, 0x34000000, 0x36000000, 0x54000000, 0x55000000,
                                      0x74000000, 0x75000000, 0xd4000000, 0xd5000000, 0xd6000000,
                                      0xd7000000, 0xf4000000, 0xf5000000};
    uint64_t state = 1;
    for (uint32_t upper = 0; upper < 0x10000; upper += 1)
        print(upper << 16 | lower[upper % 8]);
    for (int i = 0; i < 3000; i++)
        for (unsigned k = 0; k < sizeof groups / sizeof *groups; k++)
            print(groups[k] | (next(&state) & 0x00ffffff));
    /* Where most bits are fixed, random ones hit nothing. */
    for (uint32_t i = 0; i < 0x1000; i++) {
        print(0xd5032000 | i);
        print(0xd5033000 | i);
        print(0xd5031000 | i);
        print(0xd61f0000 | (i & 31) << 16 | i << 5 >> 1);
        print(0xd65f0000 | i);
        print(0xd69f0000 | i);
        print(0xd6ff0000 | i);
        print(0xd63f0000 | i << 2);
    }
    return 0;
}
