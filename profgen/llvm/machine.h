/* Disassembly and classification of x86-64 and AArch64 instructions by libLLVM. */
#ifndef CSP_PROFGEN_LLVM_MACHINE_H
#define CSP_PROFGEN_LLVM_MACHINE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Properties of an instruction, as in its MCInstrDesc. */
enum {
    CSP_INSN_CALL = 1 << 0,
    CSP_INSN_RETURN = 1 << 1,
    CSP_INSN_BRANCH = 1 << 2,      /* a jump: neither a call nor a return */
    CSP_INSN_NEVER_FALLS = 1 << 3, /* a jump that is always taken */
    CSP_INSN_INDIRECT = 1 << 4,    /* a jump through a register or memory */
};

struct csp_insn {
    uint32_t size; /* in bytes, at least 1 even when the bytes are no instruction */
    uint8_t flags;
    bool has_target;
    uint64_t target; /* of a direct call or jump */
};

struct csp_machine;

/* `elf_machine` is EM_X86_64 or EM_AARCH64. Errors: CSP_ERR_UNSUPPORTED. */
int csp_machine_create(struct csp_machine **machine, uint16_t elf_machine, struct csp_diag *diag);
/* False when the bytes are no valid instruction. */
bool csp_machine_decode(const struct csp_machine *machine, const uint8_t *bytes, size_t size,
                        uint64_t address, struct csp_insn *insn);
void csp_machine_destroy(struct csp_machine *machine);

#ifdef __cplusplus
}
#endif

#endif
