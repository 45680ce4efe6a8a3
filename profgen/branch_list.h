/* The text that simpleperf's `inject` writes (and AutoFDO reads): what ran of each binary, by
 * offsets in its file.
 *
 *     2                      how many ranges follow
 *     910-91b:31             first and last instruction, in hexadecimal: how often
 *     1                      how many single addresses
 *     914:1
 *     2                      how many branches
 *     91b->910:32            (-> 0: out of the binary)
 *     // build_id: 0x0b12…
 *     // /system/lib64/libc.so
 *
 * and again for the next binary. Source: simpleperf's cmd_inject.cpp, and its test data.
 */
#ifndef CSP_PROFGEN_BRANCH_LIST_H
#define CSP_PROFGEN_BRANCH_LIST_H

#include "base/file.h"
#include "profgen/counters.h"
#include "profgen/program.h"

struct csp_branch_list_stats {
    uint64_t binaries, other_binaries; /* others: not the program */
    uint64_t ranges, branches;         /* distinct ones */
    uint64_t ranges_outside;    /* counts of those that do not begin and end at instructions … */
    uint64_t ranges_impossible; /* … or run over a branch that is always taken */
    uint64_t branches_outside;  /* counts of those out of the program, or not in its code */
    uint64_t single_addresses;  /* counts of those, which tell of no range */
};

/* Adds the counts of the program, which is told by its build-id, or by its file name where one of
 * the two has none, to counters without contexts. Errors: CSP_ERR_INPUT, for a malformed text
 * (file, line, what was expected) and when the program is not in it. */
int csp_branch_list_read(const struct csp_file *file, const struct csp_program *program,
                         struct csp_counters *counters, struct csp_branch_list_stats *stats,
                         struct csp_diag *diag);

#endif
