/* Every instruction of a binary, and what it does to the flow, by address. */
#ifndef CSP_PROFGEN_CODE_H
#define CSP_PROFGEN_CODE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct csp_insn;
struct csp_machine;
struct csp_map;

/* What is known of the instruction that starts at an address; 0 when none does. */
enum {
    CSP_CODE_START = 1 << 0,
    CSP_CODE_CALL = 1 << 1,
    CSP_CODE_RETURN = 1 << 2,
    CSP_CODE_BRANCH = 1 << 3,   /* a jump, conditional or not */
    CSP_CODE_ALWAYS = 1 << 4,   /* a jump that is always taken */
    CSP_CODE_INDIRECT = 1 << 5, /* a jump to a computed address */
    CSP_CODE_EDGE = 1 << 6,     /* in a prologue or epilogue, by llvm-profgen's rule */
    CSP_CODE_INSIDE = 1 << 7,   /* not the first slot of an instruction */
};

/* An executable section with its instructions, one byte of flags per `1 << shift` bytes. */
struct csp_code_section {
    uint64_t start, end;
    const uint8_t *bytes;
    uint8_t *flags;
    unsigned shift;
};

struct csp_code {
    CSP_VEC(struct csp_code_section) sections; /* by address */
    uint64_t instructions, invalid;            /* invalid: runs of bytes that are no instructions */
};

/* Of all bytes and where they are: two binaries of one digest run the same. */
uint64_t csp_code_digest(const struct csp_code *code);
/* Adds [start, end), to be disassembled later; `shift` is 2 where instructions have 4 bytes. */
void csp_code_add_section(struct csp_code *code, uint64_t start, uint64_t end, const uint8_t *bytes,
                          unsigned shift);
/* Sorts the sections. Call once after the last was added, before anything below. */
void csp_code_seal(struct csp_code *code);
/* Disassembles [start, end), which must lie in one section. */
void csp_code_disassemble(struct csp_code *code, const struct csp_machine *machine, uint64_t start,
                          uint64_t end);
void csp_code_free(struct csp_code *code);

const struct csp_code_section *csp_code_section(const struct csp_code *code, uint64_t address);
uint8_t csp_code_flags(const struct csp_code *code, uint64_t address);
static inline bool csp_code_is_instruction(const struct csp_code *code, uint64_t address)
{
    return csp_code_flags(code, address) & CSP_CODE_START;
}
/* Decodes the instruction at an address; false when none is there. */
bool csp_code_decode(const struct csp_code *code, const struct csp_machine *machine,
                     uint64_t address, struct csp_insn *insn);
/* Marks in `targets` (by address) where the direct jumps in [start, end) lead: blocks begin there.
 */
void csp_code_find_targets(const struct csp_code *code, const struct csp_machine *machine,
                           uint64_t start, uint64_t end, struct csp_map *targets);
/* The size of the instruction at an address in bytes; 0 when none starts there. */
uint32_t csp_code_size(const struct csp_code *code, uint64_t address);
/* The sizes of all that start in [start, end) together. */
uint64_t csp_code_bytes(const struct csp_code *code, uint64_t start, uint64_t end);
void csp_code_mark(struct csp_code *code, uint64_t address, uint8_t flags);

/* The nearest instruction before, or at or after an address, across sections; 0 when none. */
uint64_t csp_code_before(const struct csp_code *code, uint64_t address);
uint64_t csp_code_from(const struct csp_code *code, uint64_t address);
/* The nearest at or after an address that is marked with one of these. */
uint64_t csp_code_find(const struct csp_code *code, uint64_t address, uint8_t marks);

/* Whether execution can run straight from `start` to the instruction at `end`: nothing between them
 * always leaves. llvm-profgen lets indirect jumps through: `indirect_falls`. */
bool csp_code_falls_through(const struct csp_code *code, uint64_t start, uint64_t end,
                            bool indirect_falls);

#endif
