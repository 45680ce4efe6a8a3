#include "collect/plan.h"

#include <math.h>

/* What trace takes. Atoms and addresses: a public ETMv4 capture of a sort has a byte for 4
 * instructions; programs with fewer indirect branches need less. A window has A-Sync, Trace Info,
 * context, two exceptions and a barrier on top. */
static const double bytes_per_cycle = 0.25, bytes_per_window = 80, bytes_per_timestamp = 8;
/* etm4x asks for a timestamp at least this often unless told otherwise. */
static const double cycles_per_timestamp = 4096;
/* TRCSYNCPR as etm4_set_default sets it (coresight-etm4x-core.c). */
static const double bytes_between_syncs = 4096;
/* A record holds 65,535 bytes, of which the callchain needs some: perf's limit, too. */
static const double most_aux_sample = 60 * 1024;
static const double golden = 0.6180339887498949;
static const double short_window = 64;

/* autofdo's presets: one window of 5000 cycles in so many + 1 (coresight-cfg-afdo.c). */
static const uint32_t preset_pauses[] = {2, 4, 8, 16, 64, 128, 512, 1024, 4096};
enum { PRESET_WINDOW = 5000, PRESETS = sizeof preset_pauses / sizeof *preset_pauses };

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t whole(double value)
{
    return value < 1 ? 1 : value > 1e15 ? (uint64_t)1e15 : (uint64_t)llround(value);
}

/* A period near `wanted` whose rest modulo `pause` is the golden section of it, so that windows
 * begin evenly spread between two pauses; without a common divisor, so that they do not repeat. */
static uint64_t spread_period(double wanted, uint64_t pause)
{
    double turns = floor(wanted / (double)pause);
    uint64_t period = whole(((turns < 1 ? 1 : turns) + golden) * (double)pause);
    while (gcd(period, pause) != 1)
        period++;
    return period;
}

static double window_cost(const struct csp_plan_request *request)
{
    return CSP_COST_RESUME + CSP_COST_PAUSE + (request->drained ? CSP_COST_DRAIN : 0);
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static double rate_within(const struct csp_plan_request *request, double cost,
                          struct csp_plan *plan)
{
    double rate = request->samples_per_second;
    if (rate * cost <= request->overhead || request->period)
        return rate;
    plan->slowed = true;
    return request->overhead / cost;
}

static void plan_pulse(const struct csp_plan_request *request, struct csp_plan *plan)
{
    double cycles = request->cycles_per_second;
    plan->pulse_cycles = request->pulse->cycles;
    plan->preset = request->pulse->preset;
    plan->mean_window = request->window ? (double)request->window : 1000;
    plan->pause_period = whole(most(plan->mean_window / (double)plan->pulse_cycles, 1));
    plan->mean_window = (double)(plan->pause_period * plan->pulse_cycles);
    double rate = rate_within(request, window_cost(request), plan);
    plan->resume_period = request->period ? request->period : whole(cycles / rate) | 1;
    /* A resume that comes while the unit runs opens nothing: the period is one of closed windows.
     */
    double turn = most((double)plan->resume_period, plan->mean_window);
    plan->windows_per_second = plan->samples_per_second = cycles / turn;
    plan->duty = plan->mean_window / turn;
    plan->overhead = plan->windows_per_second * window_cost(request);
}

/* Windows open at each resume and close at the next pause: with phases evenly spread they last half
 * a pause period on average, and P/R of the pauses close one (while R > P). */
static void plan_free_running(const struct csp_plan_request *request, struct csp_plan *plan)
{
    double cycles = request->cycles_per_second;
    double opening = CSP_COST_RESUME + (request->drained ? CSP_COST_DRAIN : 0);
    /* Half of the overhead for the windows, half for the pauses, unless the user says more. */
    double rate = request->samples_per_second;
    if (!request->period && rate * opening > request->overhead / 2) {
        rate = request->overhead / 2 / opening;
        plan->slowed = true;
    }
    double left = most(request->overhead - rate * opening, request->overhead / 4);
    plan->pause_period =
        request->window ? 2 * request->window : whole(cycles * CSP_COST_PAUSE / left) | 1;
    double wanted = request->period ? (double)request->period : cycles / rate;
    plan->resume_period = spread_period(wanted, plan->pause_period);
    double resume = (double)plan->resume_period, pause = (double)plan->pause_period;
    plan->windows_per_second = cycles / resume;
    plan->samples_per_second = cycles / pause;
    plan->mean_window = pause / 2;
    plan->duty = pause / (2 * resume);
    plan->wasted = 1 - pause / resume;
    plan->short_windows = short_window / pause;
    plan->overhead = plan->windows_per_second * opening + plan->samples_per_second * CSP_COST_PAUSE;
}

/* Both events have one period, and the pause is a window behind. */
static void plan_stagger(const struct csp_plan_request *request, struct csp_plan *plan)
{
    double cycles = request->cycles_per_second;
    plan->phase = request->window ? request->window : 1000;
    double rate = rate_within(request, window_cost(request), plan);
    plan->resume_period = request->period ? request->period : whole(cycles / rate) | 1;
    /* A window that is not closed before the next resume would never be. */
    if (plan->resume_period < 2 * plan->phase)
        plan->resume_period = 2 * plan->phase + 1;
    plan->pause_period = plan->resume_period;
    plan->mean_window = (double)plan->phase;
    plan->windows_per_second = plan->samples_per_second = cycles / (double)plan->resume_period;
    plan->duty = plan->mean_window / (double)plan->resume_period;
    plan->overhead = plan->windows_per_second * window_cost(request);
}

/* A decoder begins at an A-Sync, so as much of each sample's trace as lies between two says
 * nothing. */
static void plan_aux_sample(const struct csp_plan_request *request, struct csp_plan *plan)
{
    double cycles = request->cycles_per_second;
    double window = request->window ? (double)request->window : 1000;
    double bytes = ceil(window * bytes_per_cycle / 8) * 8 + 2 * bytes_between_syncs;
    plan->aux_sample = bytes < most_aux_sample ? (uint32_t)bytes : (uint32_t)most_aux_sample;
    plan->mean_window = (plan->aux_sample - bytes_between_syncs) / bytes_per_cycle;
    double cost = CSP_COST_PAUSE + CSP_COST_COPY * plan->aux_sample;
    double rate = rate_within(request, cost, plan);
    plan->resume_period = request->period ? request->period : whole(cycles / rate) | 1;
    plan->windows_per_second = plan->samples_per_second = cycles / (double)plan->resume_period;
    plan->duty = 1;
    plan->overhead = plan->samples_per_second * cost;
}

static void plan_strobe(const struct csp_plan_request *request, struct csp_plan *plan)
{
    double cycles = request->cycles_per_second;
    while (plan->preset + 1 < PRESETS &&
           cycles / PRESET_WINDOW / (preset_pauses[plan->preset] + 1) >
               request->samples_per_second * 1.5)
        plan->preset++;
    double turn = (double)PRESET_WINDOW * (preset_pauses[plan->preset] + 1);
    plan->preset++; /* 0 is none */
    plan->windows_per_second = cycles / turn;
    plan->mean_window = PRESET_WINDOW;
    plan->duty = PRESET_WINDOW / turn;
}

static void plan_samples(const struct csp_plan_request *request, struct csp_plan *plan)
{
    bool clock = plan->strategy == CSP_STRATEGY_CLOCK;
    double cycles = clock ? 1e9 : request->cycles_per_second;
    double rate = rate_within(request, CSP_COST_PAUSE, plan);
    plan->cycles_per_second = cycles;
    plan->resume_period = request->period ? request->period : whole(cycles / rate) | 1;
    plan->samples_per_second = cycles / (double)plan->resume_period;
    plan->windows_per_second = clock ? 0 : plan->samples_per_second;
    plan->overhead = plan->samples_per_second * CSP_COST_PAUSE;
}

/* perf_sample_event_took, kernel/events/core.c: when the average cost of a sample is more than its
 * share of the time between samples at the highest rate, that rate is lowered to what 125 % of the
 * cost allow; __perf_event_account_interrupt then throttles an event above it. */
static void predict_throttling(const struct csp_plan_request *request, struct csp_plan *plan)
{
    double limit = request->max_sample_rate, share = request->cpu_time_max_percent / 100;
    if (limit <= 0)
        return;
    if (share > 0 && share < 1 && CSP_COST_PAUSE > share / limit)
        limit = share / (CSP_COST_PAUSE * 1.25);
    plan->allowed_rate = limit;
    plan->throttled = plan->samples_per_second > limit;
}

static void predict_trace(struct csp_plan *plan)
{
    double traced = plan->duty * plan->cycles_per_second;
    if (!(plan->duty > 0))
        return;
    plan->timestamp_bytes_per_second =
        bytes_per_timestamp * (plan->windows_per_second + traced / cycles_per_timestamp);
    plan->trace_bytes_per_second = traced * bytes_per_cycle +
                                   plan->windows_per_second * bytes_per_window +
                                   plan->timestamp_bytes_per_second;
    if (!plan->aux_sample)
        return;
    /* The rest is overwritten. */
    double kept = plan->samples_per_second * plan->aux_sample / plan->trace_bytes_per_second;
    plan->timestamp_bytes_per_second *= kept;
    plan->trace_bytes_per_second *= kept;
}

void csp_plan_request_default(struct csp_plan_request *request, const struct csp_target *target,
                              enum csp_strategy strategy)
{
    const struct csp_trace_pmu *trace = &target->trace;
    *request = (struct csp_plan_request){
        .strategy = strategy,
        .pulse = trace->pulse,
        .samples_per_second = strategy == CSP_STRATEGY_FREE_RUNNING ? 300 : 1000,
        .overhead = 0.05,
        .cycles_per_second = 2.6e9,
        .drained = trace->sinks.len && trace->sinks.data[0].kind != CSP_SINK_TRBE,
        .max_sample_rate = (double)target->max_sample_rate,
        .cpu_time_max_percent = (double)target->cpu_time_max_percent,
    };
}

void csp_plan_make(struct csp_plan *plan, const struct csp_plan_request *request)
{
    *plan = (struct csp_plan){
        .strategy = request->strategy,
        .cycles_per_second = request->cycles_per_second,
        .pulse_cycles = 1,
    };
    switch (request->strategy) {
    case CSP_STRATEGY_PULSE:
        plan_pulse(request, plan);
        break;
    case CSP_STRATEGY_FREE_RUNNING:
        plan_free_running(request, plan);
        break;
    case CSP_STRATEGY_USER_STAGGER:
        plan_stagger(request, plan);
        break;
    case CSP_STRATEGY_AUX_SAMPLE:
        plan_aux_sample(request, plan);
        break;
    case CSP_STRATEGY_TRACEPOINT: /* how often they come, only the program knows */
        plan->resume_at = request->resume_at;
        plan->pause_at = request->pause_at;
        plan->resume_period = plan->pause_period = 1;
        break;
    case CSP_STRATEGY_STROBE:
        plan_strobe(request, plan);
        break;
    default:
        plan_samples(request, plan);
        break;
    }
    predict_trace(plan);
    predict_throttling(request, plan);
}
