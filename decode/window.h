/* Runs and windows: the trace of one source, cut at its gaps (docs/design.md, The window model).
 *
 * run: what decoded without a gap, from a TRACE_ON to the next gap.
 * window: from one enabling of the trace unit (A-Sync, Trace Info, TRACE_ON) to the next. A
 * user-only trace leaves a gap at every entry to the kernel, so a window is a list of runs.
 * Neighbouring runs of one window join, without a branch between them, when the context is the same
 * and the second starts at the first's preferred return address (csp_run_joins; the list keeps them
 * apart). Runs never join across an enabling. Where the trace unit is never turned off, a window is
 * as long as the trace: those of more than a million branches are told in several, of which each
 * says that it goes on in the next.
 */
#ifndef CSP_DECODE_WINDOW_H
#define CSP_DECODE_WINDOW_H

#include "base/vec.h"
#include "decode/branch_codes.h"

#include <stdbool.h>

/* A window that has so many branches is told in several: the next one begins with a run of it, or
 * within a run that has about twice as many. Nobody looks that far back for what led to a sample. */
enum { CSP_WINDOW_BRANCHES_MAX = 1 << 20, CSP_RUN_BRANCHES_MAX = 1 << 21 };

enum csp_run_end {
    CSP_RUN_EXCEPTION, /* an exception with its preferred return address */
    CSP_RUN_TRACE_OFF, /* the trace unit stopped, or left its filter, without saying why */
    CSP_RUN_OVERFLOW,  /* the trace unit lost data */
    CSP_RUN_TRUNCATED, /* the buffer ended here, or lost data (AUX flags) */
    CSP_RUN_NO_CODE,   /* went on at `end`, where the code is not known, or by an unknown path */
    CSP_RUN_BAD,       /* a malformed packet */
};

struct csp_run {
    uint64_t start;      /* address of the first instruction */
    uint64_t end;        /* one past the last instruction that ran */
    uint64_t first_ts;   /* the last trace timestamp of the window before it began, 0: none */
    uint64_t last_ts;    /* the first after its end, else the last within; 0: none */
    uint64_t context_id; /* CONTEXTIDR or VMID as configured, else the thread of the AUX record: a
                          * kernel thread ID; 0: not known */
    uint64_t instructions;
    /* CSP_RUN_EXCEPTION: where the exception returns to. Also of other runs, when an exception
     * ended what could not be followed after them; 0 when no exception told. */
    uint64_t return_address;
    uint32_t exception; /* its number */
    uint32_t ranges;
    /* In the window list's branches, oldest first: where its codes begin, and how many branches
     * they are. There are no codes where branches are only counted. */
    uint32_t branch_first, branch_len;
    uint8_t how; /* enum csp_run_end */
    uint8_t el;
};

struct csp_window {
    uint32_t source; /* number of the trace source */
    uint32_t run_first, run_len;
    bool enabled; /* began with an enabling; else decoding began in the middle */
    /* Its end was lost, or something within: what was decoded is not known to be the last that ran
     * before its pause. */
    bool cut;
    bool carried; /* began in an earlier chunk than the one it is handed over with */
    bool unsure;  /* … and something between them may be missing: these may be two windows */
    /* One that is too long to be held is told in several (CSP_WINDOW_BRANCHES_MAX): it goes on in
     * the next of its source's; it went on from the one before, which has its beginning. */
    bool goes_on, continues;
    uint64_t
        trace_offset; /* of its TRACE_ON in the bytes of the source's stream; 0 if not enabled */
};

/* Windows of one source in trace order, with the runs and branches they refer to. */
struct csp_windows {
    CSP_VEC(struct csp_window) windows;
    CSP_VEC(struct csp_run) runs;
    CSP_VEC(csp_branch_code) branches;
};

static inline struct csp_branch_reader csp_run_branches(const struct csp_windows *list,
                                                        const struct csp_run *run)
{
    return (struct csp_branch_reader){list->branches.data + run->branch_first, run->start};
}

/* Adds a branch to the last run, where execution went on at `start` before it. */
static inline void csp_windows_add_branch(struct csp_windows *list, uint64_t start,
                                          const struct csp_branch *branch)
{
    csp_vec_reserve(&list->branches, CSP_BRANCH_CODES_MOST);
    list->branches.len +=
        csp_branch_encode(list->branches.data + list->branches.len, start, branch);
}

static inline void csp_windows_free(struct csp_windows *list)
{
    csp_vec_free(&list->windows);
    csp_vec_free(&list->runs);
    csp_vec_free(&list->branches);
}

#endif
