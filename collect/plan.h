/* From what is wanted (samples a second, overhead, window) to the periods of the events, and what
 * they will cost. Arithmetic alone: nothing is asked of the machine. */
#ifndef CSP_COLLECT_PLAN_H
#define CSP_COLLECT_PLAN_H

#include "base/buf.h"
#include "base/json.h"
#include "collect/assess.h"
#include "collect/tracepoint.h"

struct csp_plan_request {
    enum csp_strategy strategy;
    double samples_per_second;     /* with branch history, on each busy CPU */
    double overhead;               /* most of a busy CPU's time, 0.02 for 2 % */
    uint64_t window;               /* cycles; 0: chosen */
    const struct csp_pulse *pulse; /* for CSP_STRATEGY_PULSE */
    uint64_t period; /* resume or sample period in cycles (ns for the clock); 0: chosen */
    struct csp_tracepoint resume_at, pause_at;    /* for CSP_STRATEGY_TRACEPOINT */
    double cycles_per_second;                     /* of a busy CPU */
    bool drained;                                 /* an ETR: the sink is emptied at each pause */
    double max_sample_rate, cpu_time_max_percent; /* the kernel's limits; 0: none */
};

struct csp_plan {
    enum csp_strategy strategy;
    uint64_t resume_period; /* cycles; of the only event where there is one; ns for the clock */
    uint64_t pause_period;  /* of the event that closes windows; 0: none */
    uint64_t phase;         /* user-stagger: cycles from a resume to its pause; else 0 */
    struct csp_tracepoint resume_at, pause_at; /* instead of periods */
    uint64_t pulse_cycles;                     /* cycles for each of its counts */
    uint32_t aux_sample;                       /* bytes of trace in each sample; 0: none */
    uint32_t preset;                           /* of the CoreSight configuration; 0: none */
    double cycles_per_second;
    /* Predictions for each busy CPU. */
    double windows_per_second; /* that become samples with branch history */
    double samples_per_second; /* with a callchain, whether they have a window or not */
    double mean_window;        /* cycles */
    double duty;               /* share of the time in which the trace unit runs */
    double wasted;             /* share of the callchains without a window */
    double short_windows; /* share of the windows below 64 cycles, which hardly hold a branch */
    double trace_bytes_per_second, timestamp_bytes_per_second; /* the second is part of the first */
    double overhead;                                           /* share of the CPU's time */
    double allowed_rate; /* samples a second at which the kernel begins to throttle; 0: never */
    bool throttled;
    bool slowed; /* fewer samples than were asked for, to keep the overhead */
};

/* Costs that the predictions assume, in seconds. */
#define CSP_COST_RESUME 1.5e-6 /* an interrupt that starts the trace unit */
#define CSP_COST_PAUSE 4e-6    /* an interrupt with a frame-pointer callchain */
#define CSP_COST_COPY 0.5e-9   /* a byte of trace into a sample */
#define CSP_COST_DRAIN 20e-6   /* stopping, emptying and starting an ETR */

/* What `csprof collect` without options asks for on this machine. */
void csp_plan_request_default(struct csp_plan_request *request, const struct csp_target *target,
                              enum csp_strategy strategy);
void csp_plan_make(struct csp_plan *plan, const struct csp_plan_request *request);

void csp_plan_text(const struct csp_plan *plan, struct csp_buf *out);
/* Resume and pause events and the trace unit over time: two pictures, the first of a few resume
 * periods, the second of one window. */
void csp_plan_draw(const struct csp_plan *plan, struct csp_buf *out);
/* The `perf record` command that makes the same recording, compressed when the level is not 0;
 * nothing where perf cannot. */
void csp_plan_perf(const struct csp_plan *plan, const struct csp_target *target, int compression,
                   const char *const *command, struct csp_buf *out);
/* Members of an object that the caller opened. */
void csp_plan_json(const struct csp_plan *plan, struct csp_json *json);

#endif
