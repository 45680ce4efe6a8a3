/* Profiles of instrumented programs, as llvm-profdata writes them (indexed). */
#ifndef CSP_PROFGEN_LLVM_INSTR_PROFILE_H
#define CSP_PROFGEN_LLVM_INSTR_PROFILE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a file begins as one. */
bool csp_instr_profile_is(const char *path);
/* How often each function was entered; `name` is its linkage name, without the file that tells
 * local functions apart, and lives until the call returns. Errors: CSP_ERR_INPUT: it cannot be
 * read, or its counters do not tell (they are of edges of the control flow, any of which may be
 * left out). */
typedef void csp_instr_entry_fn(void *user, const char *name, size_t length, uint64_t entries);
int csp_instr_profile_entries(const char *path, csp_instr_entry_fn *each, void *user,
                              struct csp_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
