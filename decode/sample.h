/* The sample: what every stage after stitching sees, whatever recorded it.
 *
 * Addresses are those of the process that was sampled; whoever turns samples into profiles maps
 * them to binaries. All arrays belong to whoever made the sample and live until its next one,
 * unless a function says otherwise.
 */
#ifndef CSP_DECODE_SAMPLE_H
#define CSP_DECODE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* What an instruction that changes the flow does, classified from its encoding. */
enum csp_branch_kind {
    CSP_BRANCH_UNKNOWN,          /* the recorder did not say and the code was not looked at */
    CSP_BRANCH_CONDITIONAL,      /* B.cond, CBZ, TBZ …: direct */
    CSP_BRANCH_DIRECT,           /* B */
    CSP_BRANCH_CALL,             /* BL */
    CSP_BRANCH_INDIRECT,         /* BR and its PAuth forms */
    CSP_BRANCH_INDIRECT_CALL,    /* BLR and its PAuth forms */
    CSP_BRANCH_RETURN,           /* RET and its PAuth forms */
    CSP_BRANCH_EXCEPTION_RETURN, /* ERET, DRPS */
    CSP_BRANCH_EXCEPTION, /* not an instruction's doing: an interrupt, fault or system call */
};

/* A taken branch: the address of the branch instruction and where it went. */
struct csp_branch {
    uint64_t from;
    uint64_t to;
    enum csp_branch_kind kind;
};

/* How a branch history and a callchain were found to belong together (docs/design.md, Stitching).
 */
enum csp_verdict {
    CSP_VERDICT_NONE,      /* no branch history: see enum csp_unstitched */
    CSP_VERDICT_EXACT,     /* program counter together with time, order or uniqueness */
    CSP_VERDICT_TIME,      /* time alone */
    CSP_VERDICT_ORDER,     /* order alone */
    CSP_VERDICT_AMBIGUOUS, /* several candidates fit: rejected */
    CSP_VERDICT_NATIVE,    /* recorded together: a branch buffer (LBR, BRBE), perf-script text */
    CSP_VERDICT_COUNT
};

struct csp_sample {
    uint64_t time;
    uint32_t pid, tid, cpu;
    uint32_t event; /* number of the event in its recording */
    uint64_t count; /* how many times this sample was seen; 1 unless the input was aggregated */
    uint64_t ip; /* as recorded; may be a kernel address (see notes on pseudo-NMI in design.md) */
    const uint64_t
        *callchain; /* user frames, leaf first: the interrupted PC, then return addresses */
    uint32_t callchain_len;
    const struct csp_branch *branches; /* newest first; the exception that ended it is not there */
    uint32_t branch_len;
    uint64_t lr; /* x30 at the sample when lr_valid */
    uint8_t lr_valid;
    enum csp_verdict verdict;
    uint8_t unstitched; /* why it has no history: enum csp_unstitched (decode/stitch.h) */
    /* The exact partial ranges at both ends of a trace window, 0 when unknown: execution began at
     * `start` (so [start, oldest from] ran) and stopped before `end` ([newest to, end) ran). */
    uint64_t start;
    uint64_t end;
};

#endif
