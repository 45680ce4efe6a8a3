/* A64 instructions that can be told without a disassembler: all but one in twenty-five of SQLite's.
 *
 * libLLVM takes some 1,500 processor instructions for each, and all that is wanted of them is what
 * they do to the flow. It is asked about all others, so about whatever may not be allocated.
 *
 * Source of the encodings: Arm Architecture Reference Manual for A-profile, "A64 instruction set
 * encoding". `tests/unit/test_plain_insns.c` compares with libLLVM.
 */
#ifndef CSP_PROFGEN_PLAIN_INSNS_H
#define CSP_PROFGEN_PLAIN_INSNS_H

#include <stddef.h>
#include <stdint.h>

/* Words of which the bits of `mask` are `value`: instructions, all of them, of those `flags`
 * (CSP_CODE_…). */
struct csp_plain_insns {
    uint32_t mask, value;
    uint8_t flags;
};

extern const struct csp_plain_insns csp_plain_insns[];
extern const size_t csp_plain_insn_kinds;

/* The flags of a word that is such an instruction; 0: it is none. */
uint8_t csp_plain_insn(uint32_t word);

#endif
