/* The steps of unwinding that samples repeat. What one does depends on the call stack, the branch
 * and the next newer one alone. A program has some ten thousand of them and samples repeat them
 * without end, so each is done when it is first met, to learn what it leaves of the stack, and
 * counted when all samples have been seen, or so many that the steps leave the processor's cache.
 * Only profgen/unwind.c uses this. */
#ifndef CSP_PROFGEN_STEPS_H
#define CSP_PROFGEN_STEPS_H

#include "base/numbers.h"
#include "base/saturate.h"
#include "profgen/unwind_step.h"

enum {
    CSP_STEPS_AT_ONCE = 1 << 16,
    CSP_MET_BITS = 14,                  /* of the number of places for steps that were met lately */
    CSP_STEP_ODD = 1 << CSP_RULE_COUNT, /* beside the rules that a step's branch breaks */
};

/* What walks read of a step. Where its branch goes next waits for where the one before went, so a
 * step is named by how far behind the first one it lies, and what is seldom asked for is not here.
 */
struct csp_step {
    uint64_t count;
    uint32_t branch;   /* number in the set; CSP_NO_GUESS: the step breaks something */
    uint32_t followed; /* the step that came after it last */
};

/* The first one is none, and comes after steps that none came after yet. */
enum { CSP_NO_STEP = 0 };
#define CSP_NO_GUESS UINT32_MAX

/* What else is known of it. */
struct csp_step_effect {
    uint32_t before; /* the stack before its branch was taken */
    uint32_t branch; /* number in the set */
    uint8_t broken;  /* where samples are checked meanwhile: rules, and CSP_STEP_ODD */
};
_Static_assert(CSP_STEP_ODD <= UINT8_MAX, "rules");

/* A step after another one, which is not the one that came after it last; or the first step of a
 * sample. */
struct csp_met_step {
    uint32_t after; /* the step before, or CSP_STEP_FIRST and the stack; CSP_NO_STEP: free */
    uint32_t branch;
    uint32_t step;
};
#define CSP_STEP_FIRST (UINT32_C(1) << 31)

struct csp_steps {
    struct csp_unwinder *unwinder;
    const struct csp_sample_set *set;
    struct csp_sample_checker *checker; /* null: samples were checked before */
    struct csp_pairs runs;              /* newer branch (CSP_NO_BRANCH), branch */
    struct csp_numbers keys;            /* of steps: stack << 32 | run */
    CSP_VEC(struct csp_step) list;
    CSP_VEC(struct csp_step_effect) effects; /* of the same steps */
    struct csp_met_step *met;                /* each at its own place */
};

void csp_steps_begin(struct csp_steps *steps, struct csp_unwinder *unwinder,
                     const struct csp_sample_set *set);
void csp_steps_free(struct csp_steps *steps);
/* Counts all steps, and forgets them. Those of samples that do not count may have no count. */
void csp_steps_count(struct csp_steps *steps);

/* The step of a branch, on a stack, before a newer one. */
uint32_t csp_step_at(struct csp_steps *steps, uint32_t stack, uint32_t newer, uint32_t branch);
/* The step of the next older branch, where it is not the one that came last after `at`. */
uint32_t csp_step_after(struct csp_steps *steps, uint32_t at, uint32_t branch);

static inline struct csp_step *csp_step_named(const struct csp_steps *steps, uint32_t step)
{
    return (struct csp_step *)((char *)steps->list.data + step);
}

static inline const struct csp_step_effect *csp_step_effect_of(const struct csp_steps *steps,
                                                               uint32_t step)
{
    return &steps->effects.data[step / sizeof(struct csp_step)];
}

/* Where a step is when it was met lately. */
static inline struct csp_met_step *csp_step_place(const struct csp_steps *steps, uint32_t after,
                                                  uint32_t branch)
{
    uint32_t hash = after * 0x9e3779b1u + branch * 0x85ebca6bu;
    return &steps->met[hash >> (32 - CSP_MET_BITS)];
}

/* Of a sample, where the stack is its callers. */
static inline uint32_t csp_step_first(struct csp_steps *steps, uint32_t stack, uint32_t branch)
{
    struct csp_met_step *met = csp_step_place(steps, CSP_STEP_FIRST | stack, branch);
    if (met->after != (CSP_STEP_FIRST | stack) || met->branch != branch)
        *met = (struct csp_met_step){CSP_STEP_FIRST | stack, branch,
                                     csp_step_at(steps, stack, CSP_NO_BRANCH, branch)};
    return met->step;
}

static inline void csp_step_count(struct csp_step *step, uint64_t count)
{
    step->count = csp_add_saturating(step->count, count);
}

#endif
