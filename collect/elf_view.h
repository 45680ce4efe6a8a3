/* An ELF file as the checks of a program see it. */
#ifndef CSP_COLLECT_ELF_VIEW_H
#define CSP_COLLECT_ELF_VIEW_H

#include "base/build_id.h"
#include "base/diag.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_elf_view {
    int fd;
    Elf *elf;
    GElf_Ehdr header;
    const uint8_t *bytes; /* of the whole file */
    size_t size;
};

/* Errors: CSP_ERR_INPUT (missing, or no ELF file). */
int csp_elf_view_open(struct csp_elf_view *view, const char *path, struct csp_diag *diag);
void csp_elf_view_close(struct csp_elf_view *view);
/* A section by name; its contents uncompressed. Null when it is not there. */
Elf_Data *csp_elf_view_section(struct csp_elf_view *view, const char *name);
bool csp_elf_view_build_id(const struct csp_elf_view *view, struct csp_build_id *id);
/* The same of a file of which nothing else is wanted: nothing is mapped. */
bool csp_elf_file_build_id(const char *path, struct csp_build_id *id);
/* The bytes at a virtual address, as far as the file has them; null when it has none. */
const uint8_t *csp_elf_view_at(const struct csp_elf_view *view, uint64_t address, size_t *size);

#endif
