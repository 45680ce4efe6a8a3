/* The two counters that open and close trace windows, and the delay of their interrupts.
 *
 * resume: counts cycles, period R. pause: counts cycles while the trace unit runs (pulse, what the
 * PMU event TRCEXTOUT1 counts), or all cycles (free-running). An interrupt is taken a few cycles
 * after the overflow, the skid; the counter goes on meanwhile, so that long-run rates are exact. It
 * serves every counter that has overflowed by then, pause before resume: the kernel's handler looks
 * at the event counters before the cycle counter, which the resume event, opened first, has.
 */
#ifndef CSP_EMULATE_PMU_H
#define CSP_EMULATE_PMU_H

#include <stdbool.h>
#include <stdint.h>

enum csp_pmu_strategy { CSP_PMU_PULSE, CSP_PMU_FREE_RUNNING };

enum csp_pmu_interrupt { CSP_PMU_NOTHING, CSP_PMU_RESUME, CSP_PMU_PAUSE };

struct csp_pmu {
    enum csp_pmu_strategy strategy;
    uint64_t window, period; /* periods of pause and resume, in cycles */
    uint64_t skid;           /* the delay is uniform in 0 … skid cycles */
    uint64_t random;

    bool tracing;
    uint64_t resume_overflow, resume_due; /* cycle counts */
    uint64_t pause_overflow, pause_due;   /* UINT64_MAX: the counter stands still */
    int64_t pause_left;                   /* while it stands still: events until it overflows */
    uint64_t deadline;                    /* nothing happens before this cycle */
};

/* Starts both counters at cycle 0. The members before the blank line are set, window and period at
 * least 1. */
void csp_pmu_start(struct csp_pmu *pmu);
/* Counters that have overflowed by `cycle` interrupt now: because another one does, or because the
 * program calls the kernel, where an interrupt on its way is taken. */
void csp_pmu_interrupt_now(struct csp_pmu *pmu, uint64_t cycle);
/* Whatever the pause counter says: it overflows and interrupts now, if the trace unit runs. */
void csp_pmu_pause_now(struct csp_pmu *pmu, uint64_t cycle);
/* The resume counter overflows then, whatever it says. */
void csp_pmu_resume_at(struct csp_pmu *pmu, uint64_t cycle);
/* The interrupt that is due at `cycle`, if any; call again until there is none. It has taken effect
 * on `tracing` when this returns. A RESUME while tracing and a PAUSE while not change nothing, but
 * they are interrupts all the same. */
enum csp_pmu_interrupt csp_pmu_take(struct csp_pmu *pmu, uint64_t cycle);

#endif
