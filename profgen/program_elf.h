/* What a profiled binary's ELF file says itself, and the file with what was stripped off it:
 * segments, code, symbols, the build-id and where the pseudo-probes are.
 */
#ifndef CSP_PROFGEN_PROGRAM_ELF_H
#define CSP_PROFGEN_PROGRAM_ELF_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_program;
struct csp_program_options;

/* Found on the way: .pseudo_probe_desc and .pseudo_probe, or null. They live as long as the
 * program's files. */
struct csp_program_sections {
    const uint8_t *names, *probes;
    size_t names_size, probes_size;
    bool executable; /* there is code at all */
};

/* Maps the file at program->path. Errors: as csp_program_open. */
int csp_program_elf_open(struct csp_program *program, struct csp_diag *diag);
/* Errors: CSP_ERR_INPUT (no section headers, stripped, no code, a debug file of another program),
 * CSP_ERR_IO. */
int csp_program_elf_read(struct csp_program *program, const struct csp_program_options *options,
                         struct csp_program_sections *found, struct csp_diag *diag);
void csp_program_elf_close(struct csp_program *program);

#endif
