/* The virtual unwinder: replays the branch history of a sample backwards over its callchain, and so
 * gives each range and branch of the history the calling context it ran in. A call, undone, pops a
 * frame; a return pushes one; a jump moves within the leaf frame. */
#ifndef CSP_PROFGEN_UNWIND_H
#define CSP_PROFGEN_UNWIND_H

#include "profgen/counters.h"
#include "profgen/sample_checks.h"

struct csp_unwind_options {
    bool compat;            /* llvm-profgen 22's choices */
    bool flat;              /* no contexts: all counts are of the empty one */
    unsigned threads;       /* 0 is one; the result does not depend on it */
    int compress_recursion; /* longest repeated sequence to compress; -1: any, 0: none */
    int max_context_depth;  /* frames kept nearest to the leaf; -1: all */
};

struct csp_unwind_stats {
    uint64_t ranges;               /* straight runs between two branches of the histories … */
    uint64_t ranges_counted;       /* … that went into the profile */
    uint64_t ranges_external;      /* … outside the binary at both ends */
    uint64_t ranges_half_external; /* … that enter or leave the binary without a branch */
    uint64_t ranges_impossible;    /* … that run backwards or over a jump */
    uint64_t partial_ranges;       /* counted: at the ends of trace windows */
    uint64_t partial_ranges_impossible;
    uint64_t branches;
    uint64_t calls_off_chain;    /* calls that the callchain does not show: lost frames */
    uint64_t returns_to_no_call; /* the context is cut there */
    uint64_t restored_frames;    /* samples whose callchain had lost callers */
};

/* Unwinds every sample of a set into counters. By contexts without pseudo-probes, ranges are cut
 * where inlining changes, and contexts are by line. */
void csp_unwind(struct csp_program *program, const struct csp_sample_set *set,
                const struct csp_unwind_options *options, struct csp_counters *counters,
                struct csp_unwind_stats *stats);

/* The same of samples that come in batches: what was learnt of the earlier ones stays known. */
struct csp_unwinding;

/* `set` is the one that batches are in; between them its samples may be dropped, and its branches
 * and callers stay. Counts go into `counters`, or, when it is null, to those of the first that this
 * is ended with. */
struct csp_unwinding *csp_unwinding_begin(struct csp_program *program,
                                          const struct csp_sample_set *set,
                                          const struct csp_unwind_options *options,
                                          struct csp_counters *counters);
/* Checks the samples that the set has now, and unwinds those that may count. */
void csp_unwinding_samples(struct csp_unwinding *unwinding, struct csp_sample_checker *checker);
/* Counts what was put off so far. The end does so too, but several threads can do this at once. */
void csp_unwinding_pause(struct csp_unwinding *unwinding);
/* Completes the counters of the first, which take what the others, of any sets, have counted; adds
 * the statistics, and frees all. */
void csp_unwinding_end(struct csp_unwinding **unwindings, unsigned count,
                       struct csp_unwind_stats *stats);

#endif
