/* Profiles reduced to how often each function was entered: all that an instrumented profile tells
 * without the compiler's own picture of the program. */
#ifndef CSP_VALIDATE_ENTRY_TABLE_H
#define CSP_VALIDATE_ENTRY_TABLE_H

#include "validate/profile_table.h"

/* Of an instrumented profile (profgen/llvm/instr_profile.h). Errors: CSP_ERR_INPUT. */
int csp_entry_table_read(struct csp_profile_table *entries, const char *path,
                         struct csp_diag *diag);
/* Of a profile by probes: the first block of each function, wherever it was inlined. Errors:
 * CSP_ERR_INPUT: it is by lines. */
int csp_entry_table_of(struct csp_profile_table *entries, const struct csp_profile_table *profile,
                       const char *path, struct csp_diag *diag);

#endif
