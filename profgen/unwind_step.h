/* One step of the virtual unwinder: what a branch of a history does to the call stack, and what it
 * counts. Call stacks are nodes of a tree, a call in its caller, so that a step is the same work
 * however deep the stack is. Only profgen/steps.c, unwind.c and unwind_join.c use this. */
#ifndef CSP_PROFGEN_UNWIND_STEP_H
#define CSP_PROFGEN_UNWIND_STEP_H

#include "profgen/unwind.h"

#include "base/pairs.h"
#include "profgen/counter_log.h"
#include "profgen/recursion.h"

enum {
    CSP_STACK_EMPTY, /* the leaf has no callers */
    CSP_STACK_LOST,  /* … because the history does not fit the callchain */
    CSP_STACK_FIRST, /* nodes of `calls` from here on */
};

/* A branch of a history, being undone. */
struct csp_unwind_step {
    uint32_t stack;      /* the callers when it had been taken */
    uint32_t run;        /* number of what follows */
    uint64_t newer_from; /* where the next newer branch began; 0: it is the newest */
    uint64_t from, to;
};

/* What is known of a branch and the next newer one, whatever the stack. */
struct csp_unwind_run {
    bool known, range_known, branch_known;
    uint8_t judged, kind; /* enum run, enum csp_branch_kind */
    bool returns_to_no_call;
    uint32_t range, branch; /* numbers in the counters' spans */
    uint64_t returned;      /* by a return: the call that it returns behind */
};

/* What the calls of a stack come to in the counters. */
struct csp_stack_context {
    uint32_t frame;   /* the innermost one + 1, 0: none; UINT32_MAX: not known yet */
    uint32_t context; /* + 1; 0: not known yet */
};

struct csp_unwinder {
    struct csp_program *program; /* changed only by looking up lines */
    const struct csp_unwind_options *options;
    struct csp_counters *counters;
    struct csp_unwind_stats *stats;
    struct csp_pairs calls; /* the caller's stack, call address */
    CSP_VEC(struct csp_unwind_run) runs;
    CSP_VEC(struct csp_stack_context) contexts; /* by stack */
    struct csp_counter_log ranges, branches;    /* what is to be added to the counters at the end */
    struct csp_pairs leaves;         /* by lines, contexts are of a stack and its leaf … */
    CSP_VEC(uint32_t) leaf_contexts; /* … these */
    CSP_VEC(uint64_t) scratch;
    CSP_VEC(uint32_t) pending; /* stacks whose frames are being looked for */
    struct csp_repeats repeats;
    struct csp_line_context line_context;
    bool lines; /* contexts are by line */
    bool flat;  /* no contexts: no stack either */
};

/* The stack of a call in a caller's stack. */
static inline uint32_t csp_unwinder_call(struct csp_unwinder *unwinder, uint32_t caller,
                                         uint64_t call)
{
    return CSP_STACK_FIRST + csp_pairs_at(&unwinder->calls, caller, call);
}

/* The stack before the branch was taken. */
uint32_t csp_unwinder_undo(struct csp_unwinder *unwinder, const struct csp_unwind_step *step);
/* Whether what ran behind the branch cannot have been, or its call is not the one that the stack
 * has: then a sample's callchain and history may not be each other's. `newest`: nothing ran behind
 * it. */
bool csp_unwinder_is_odd(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                         bool newest);
/* Counts the branch, and the range that ran from it to the next newer one, `count` times. `before`
 * is the stack before it. */
void csp_unwinder_count(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                        uint32_t before, uint64_t count);
/* Fetches what counting a step that left this stack will need. */
static inline void csp_unwinder_fetch(const struct csp_unwinder *unwinder, uint32_t stack,
                                      uint32_t before)
{
    if (stack < unwinder->contexts.len)
        __builtin_prefetch(&unwinder->contexts.data[stack]);
    if (before < unwinder->contexts.len)
        __builtin_prefetch(&unwinder->contexts.data[before]);
}
/* Counts the part of a trace window before its first or after its last branch: `last` is the
 * address of its last instruction, 0 when there is none. */
void csp_unwinder_partial(struct csp_unwinder *unwinder, uint32_t stack, uint64_t from,
                          uint64_t last, uint64_t count);
void csp_unwinder_free(struct csp_unwinder *unwinder);

#endif
