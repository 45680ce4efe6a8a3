/* One step of the virtual unwinder: what a branch of a history does to the call stack, and what it
 * counts. Only profgen/unwind.c uses this. */
#ifndef CSP_PROFGEN_UNWIND_STEP_H
#define CSP_PROFGEN_UNWIND_STEP_H

#include "profgen/unwind.h"

#define CSP_NO_CONTEXT UINT32_MAX

struct csp_unwinder {
    struct csp_program *program; /* changed only by looking up lines */
    const struct csp_unwind_options *options;
    struct csp_counters *counters;
    struct csp_unwind_stats *stats;
    CSP_VEC(uint64_t) stack; /* root first; never empty while a sample is unwound */
    CSP_VEC(uint64_t) scratch;
    struct csp_line_context line_context;
    struct csp_intern stacks;   /* stacks without their leaf (by lines: with it), as they are … */
    CSP_VEC(uint32_t) contexts; /* … and the context that each one means */
    uint32_t context;           /* of the stack as it is, CSP_NO_CONTEXT when not known */
    uint64_t count;             /* of what is being unwound; 0 changes the stack alone */
    bool lost;                  /* the history no longer fits the callchain */
    bool lines;                 /* contexts are by line */
    bool flat;                  /* no contexts: no stack either */
};

/* Undoes the branch `from` -> `to`, whose next newer branch in the history began at `newer_from`
 * (0: it is the newest): counts the range that ran between the two, and the branch. */
void csp_unwinder_step(struct csp_unwinder *unwinder, uint64_t newer_from, uint64_t from,
                       uint64_t to);
/* Counts the part of a trace window before its first or after its last branch: `last` is the
 * address of its last instruction, 0 when there is none. */
void csp_unwinder_partial(struct csp_unwinder *unwinder, uint64_t from, uint64_t last);
void csp_unwinder_push(struct csp_unwinder *unwinder, uint64_t address);
void csp_unwinder_free(struct csp_unwinder *unwinder);

#endif
