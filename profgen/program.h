/* The profiled binary: where it is loaded, its code, its functions and its pseudo-probes.
 *
 * Addresses are the binary's own (ELF virtual addresses). Everything outside its code is one
 * address, CSP_EXTERNAL.
 */
#ifndef CSP_PROFGEN_PROGRAM_H
#define CSP_PROFGEN_PROGRAM_H

#include "base/build_id.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/map.h"
#include "profgen/code.h"
#include "profgen/functions.h"
#include "profgen/lines.h"
#include "profgen/probes.h"

struct csp_debug_info;
struct csp_machine;

#define CSP_EXTERNAL UINT64_C(1)

/* A loadable part of the file (an ELF PT_LOAD program header). */
struct csp_program_segment {
    uint64_t address, offset, file_size;
    bool executable;
};

struct csp_symbol {
    uint64_t address, size;
    const char *name; /* belongs to the binary */
    uint32_t order;   /* in the symbol table */
    bool function;    /* STT_FUNC */
    bool local, weak; /* STB_LOCAL, STB_WEAK */
};

struct csp_program {
    char *path;
    const char *name; /* last component of the path */
    struct csp_build_id build_id;
    uint16_t machine_type; /* EM_X86_64 or EM_AARCH64 */
    bool position_independent;
    bool has_lines;         /* a DWARF line table */
    bool uses_probes;       /* it is profiled by pseudo-probes, not by lines */
    bool fs_discriminators; /* of lines: Clang's flow-sensitive ones, used whole */
    struct csp_file file;
    struct Elf *elf;
    struct csp_file debug_file; /* what is not in the file itself: symbols, pseudo-probes */
    struct Elf *debug_elf;
    CSP_VEC(struct csp_program_segment) segments; /* in the order of the program headers */
    CSP_VEC(struct csp_symbol)
    symbols; /* in executable sections; by address, then as in the file */
    CSP_VEC(struct csp_symbol) virtual_tables;
    struct csp_intern names; /* functions' names, of all sources */
    struct csp_machine *machine;
    struct csp_debug_info *debug;
    struct csp_code code;
    struct csp_functions functions;
    struct csp_probes probes;
    struct csp_lines lines;
    uint64_t call_probes_rebuilt;
    uint64_t calls_without_probe; /* calls in profiled functions for which none could be rebuilt */
};

struct csp_program_options {
    const char *path;
    const char *debug_path; /* where its debug information is (and its symbols and pseudo-probes,
                               if it has none); null: in the file itself */
    const char *dwp_path;   /* see csp_debug_info_open */
    bool by_lines;          /* even if there are pseudo-probes */
    bool without_symbols;   /* the symbol table adds no functions to those of the debug information
                             */
    bool code_only;         /* neither pseudo-probes, lines nor symbols are needed */
    bool compat;            /* llvm-profgen 22's choices */
};

/* Reads a binary. One without pseudo-probes is profiled by its lines. Errors: CSP_ERR_INPUT (no ELF
 * file, stripped, neither pseudo-probes nor lines: the message names the compiler's options),
 * CSP_ERR_UNSUPPORTED (another machine), CSP_ERR_IO. */
int csp_program_open(struct csp_program *program, const struct csp_program_options *options,
                     struct csp_diag *diag);
void csp_program_close(struct csp_program *program);

/* The segment that has what the file has at an offset, or null when that is no code; and the
 * address of that, or CSP_EXTERNAL. */
const struct csp_program_segment *csp_program_segment_at(const struct csp_program *program,
                                                         uint64_t offset);
uint64_t csp_program_at_offset(const struct csp_program *program, uint64_t offset);

/* The call address before a return address, or 0 when no call precedes it. CSP_EXTERNAL stays. */
uint64_t csp_program_call_before(const struct csp_program *program, uint64_t return_address);

/* Whether the function that holds an address was compiled with probes. */
bool csp_program_has_probes(const struct csp_program *program, uint64_t address);

/* The name of the function that begins at an address, canonical, or CSP_INTERN_NONE when no
 * function does. */
uint32_t csp_program_callee_name(struct csp_program *program, uint64_t address);

#endif
