/* Runs whose branches a test writes down as addresses, as a list of windows keeps them. */
#ifndef CSP_TESTS_CODED_RUNS_H
#define CSP_TESTS_CODED_RUNS_H

#include "decode/window.h"

/* Adds runs whose branches are those from `branch_first` on of `branches`. */
static void add_coded_runs(struct csp_windows *list, const struct csp_run *runs, uint32_t run_len,
                           const struct csp_branch *branches)
{
    for (uint32_t i = 0; i < run_len; i++) {
        struct csp_run run = runs[i];
        uint64_t start = run.start;
        run.branch_first = (uint32_t)list->branches.len;
        csp_vec_push(&list->runs, run);
        for (uint32_t b = 0; b < run.branch_len; b++) {
            const struct csp_branch *branch = &branches[runs[i].branch_first + b];
            csp_windows_add_branch(list, start, branch);
            start = branch->to;
        }
    }
}

#endif
