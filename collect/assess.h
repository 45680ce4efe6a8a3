/* Which ways of recording a machine can be used for, what each gives, and what is in the way of the
 * others. */
#ifndef CSP_COLLECT_ASSESS_H
#define CSP_COLLECT_ASSESS_H

#include "collect/target.h"

/* In order of preference. */
enum csp_strategy {
    CSP_STRATEGY_BRANCH_STACK, /* BRBE, LBR */
    CSP_STRATEGY_PULSE,
    CSP_STRATEGY_USER_STAGGER, /* of whole CPUs alone */
    CSP_STRATEGY_FREE_RUNNING,
    CSP_STRATEGY_AUX_SAMPLE, /* the unit always runs; samples carry its newest trace */
    CSP_STRATEGY_STROBE,
    CSP_STRATEGY_TRACEPOINT, /* where the user says */
    CSP_STRATEGY_CLOCK,      /* software timer: callchains alone */
    CSP_STRATEGIES,
};

const char *csp_strategy_name(enum csp_strategy strategy);
/* False when there is no strategy of this name. */
bool csp_strategy_parse(const char *name, enum csp_strategy *strategy);

struct csp_lack { /* something that is in the way */
    char *what, *fix;
};

struct csp_strategy_verdict {
    bool ready;
    const char *gives; /* what a recording of this kind is good for */
    CSP_VEC(struct csp_lack) lacks;
    CSP_VEC(char *) cautions; /* it works, but */
};

struct csp_assessment {
    CSP_VEC(struct csp_lack) common; /* in the way of all */
    struct csp_strategy_verdict of[CSP_STRATEGIES];
    /* For one program, and for whole CPUs; CSP_STRATEGIES when there is none at all. */
    enum csp_strategy best, best_of_cpus;
};

void csp_assess(struct csp_assessment *assessment, const struct csp_target *target);
void csp_assessment_free(struct csp_assessment *assessment);

/* The configuration that pulses external output 1; null when it is not loaded. */
const struct csp_coresight_config *csp_target_pulse(const struct csp_target *target);
const struct csp_coresight_config *csp_target_config(const struct csp_target *target,
                                                     const char *name);
/* Whether at least one of the machine's recordings knows the history of branches. */
static inline bool csp_assessment_has_branches(const struct csp_assessment *assessment)
{
    return assessment->best < CSP_STRATEGY_CLOCK;
}

#endif
