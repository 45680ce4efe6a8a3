/* What the program has mapped executable, as the kernel's MMAP2 records would tell. */
#ifndef CSP_EMULATE_USER_MAPS_H
#define CSP_EMULATE_USER_MAPS_H

#include <stdint.h>

/* The path of memory without a file. */
#define CSP_MAPS_ANONYMOUS "//anon"

typedef void csp_maps_fn(void *user, uint64_t start, uint64_t length, uint64_t page_offset,
                         const char *path);

/* The executable segments of the AArch64 files that QEMU itself mapped: the program and its
 * interpreter. */
void csp_maps_initial(csp_maps_fn *report, void *user);
/* The mapping at exactly `start`, just made by the program. */
void csp_maps_at(uint64_t start, uint64_t length, csp_maps_fn *report, void *user);

#endif
