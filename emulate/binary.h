/* The little that a recorder must know of an ELF file. */
#ifndef CSP_EMULATE_BINARY_H
#define CSP_EMULATE_BINARY_H

#include "base/build_id.h"

/* The e_machine of a 64-bit little-endian ELF file, or -1 when it is none or cannot be read. */
int csp_binary_machine(const char *path);
/* The NT_GNU_BUILD_ID note found through the program headers; size 0 when there is none. */
struct csp_build_id csp_binary_build_id(const char *path);

#endif
