#include "emulate/pmu.h"

/* xorshift64* (Marsaglia, Vigna): deterministic and good enough for delays. */
static uint64_t next_random(struct csp_pmu *pmu)
{
    uint64_t x = pmu->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    pmu->random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static uint64_t delayed(struct csp_pmu *pmu, uint64_t overflow)
{
    return overflow + (pmu->skid ? next_random(pmu) % (pmu->skid + 1) : 0);
}

static void update_deadline(struct csp_pmu *pmu)
{
    pmu->deadline = pmu->pause_due < pmu->resume_due ? pmu->pause_due : pmu->resume_due;
}

void csp_pmu_start(struct csp_pmu *pmu)
{
    pmu->random = pmu->random * UINT64_C(0x9e3779b97f4a7c15) | 1; /* never zero */
    pmu->tracing = false;
    pmu->resume_overflow = pmu->period;
    pmu->resume_due = delayed(pmu, pmu->resume_overflow);
    pmu->pause_left = (int64_t)pmu->window;
    pmu->pause_overflow = pmu->pause_due = UINT64_MAX;
    if (pmu->strategy == CSP_PMU_FREE_RUNNING) {
        pmu->pause_overflow = pmu->window;
        pmu->pause_due = delayed(pmu, pmu->pause_overflow);
    }
    update_deadline(pmu);
}

static void resume(struct csp_pmu *pmu, uint64_t cycle)
{
    do
        pmu->resume_overflow += pmu->period;
    while (pmu->resume_overflow <= cycle);
    pmu->resume_due = delayed(pmu, pmu->resume_overflow);
    if (pmu->tracing)
        return;
    pmu->tracing = true;
    if (pmu->strategy == CSP_PMU_PULSE) {
        pmu->pause_overflow = cycle + (uint64_t)pmu->pause_left;
        pmu->pause_due = delayed(pmu, pmu->pause_overflow);
    }
}

static void pause_trace(struct csp_pmu *pmu, uint64_t cycle)
{
    pmu->tracing = false;
    if (pmu->strategy == CSP_PMU_FREE_RUNNING) {
        do
            pmu->pause_overflow += pmu->window;
        while (pmu->pause_overflow <= cycle);
        pmu->pause_due = delayed(pmu, pmu->pause_overflow);
        return;
    }
    /* What was counted between the overflow and now belongs to the next period. */
    pmu->pause_left = (int64_t)pmu->window - (int64_t)(cycle - pmu->pause_overflow);
    while (pmu->pause_left <= 0)
        pmu->pause_left += (int64_t)pmu->window;
    pmu->pause_overflow = pmu->pause_due = UINT64_MAX;
}

void csp_pmu_interrupt_now(struct csp_pmu *pmu, uint64_t cycle)
{
    if (pmu->pause_overflow <= cycle && pmu->pause_due > cycle)
        pmu->pause_due = cycle;
    if (pmu->resume_overflow <= cycle && pmu->resume_due > cycle)
        pmu->resume_due = cycle;
    update_deadline(pmu);
}

void csp_pmu_pause_now(struct csp_pmu *pmu, uint64_t cycle)
{
    if (!pmu->tracing)
        return;
    pmu->pause_overflow = pmu->pause_due = cycle;
    update_deadline(pmu);
}

void csp_pmu_resume_at(struct csp_pmu *pmu, uint64_t cycle)
{
    pmu->resume_overflow = pmu->resume_due = cycle;
    update_deadline(pmu);
}

enum csp_pmu_interrupt csp_pmu_take(struct csp_pmu *pmu, uint64_t cycle)
{
    enum csp_pmu_interrupt which;
    if (cycle < pmu->deadline)
        return CSP_PMU_NOTHING;
    csp_pmu_interrupt_now(pmu, cycle);
    if (pmu->pause_due <= cycle) {
        which = CSP_PMU_PAUSE;
        pause_trace(pmu, cycle);
    } else {
        which = CSP_PMU_RESUME;
        resume(pmu, cycle);
    }
    update_deadline(pmu);
    return which;
}
