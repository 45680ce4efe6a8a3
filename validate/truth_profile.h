/* Exact counts as a profile: what the emulator wrote with --truth (its format is in
 * emulate/user/truth.h), by the pseudo-probes of the program that ran. */
#ifndef CSP_VALIDATE_TRUTH_PROFILE_H
#define CSP_VALIDATE_TRUTH_PROFILE_H

#include "validate/profile_table.h"

/* Whether a file begins as such a truth file does. False also when it cannot be read. */
bool csp_truth_is(const char *path);
/* Adds the counts of one binary. They have no contexts: functions stand alone, or where they were
 * inlined. Errors: CSP_ERR_INPUT (a truth file that is malformed or incomplete, a binary without
 * probes, one that did not run), CSP_ERR_IO. */
int csp_truth_profile(struct csp_profile_table *table, const char *path, const char *binary,
                      struct csp_diag *diag);

#endif
