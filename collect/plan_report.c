/* A plan in words, in a picture, and as a command of perf. */
#include "collect/plan.h"

#include <math.h>
#include <string.h>

static void add_rates(const struct csp_plan *plan, struct csp_buf *out)
{
    if (plan->windows_per_second > 0 && plan->duty > 0)
        csp_buf_printf(out, "windows       %.0f a second, %.0f cycles each on average\n",
                       plan->windows_per_second, plan->mean_window);
    if (plan->samples_per_second > 0)
        csp_buf_printf(out, "callchains    %.0f a second", plan->samples_per_second);
    if (plan->wasted > 0)
        csp_buf_printf(out, ", %.1f %% of them without a window", 100 * plan->wasted);
    if (plan->samples_per_second > 0)
        csp_buf_add_char(out, '\n');
    if (plan->short_windows > 0)
        csp_buf_printf(out, "too short     %.3f %% of the windows (below 64 cycles)\n",
                       100 * plan->short_windows);
    if (plan->duty > 0)
        csp_buf_printf(out,
                       "duty          %.3f %% of the time is traced\n"
                       "trace         %.0f kB a second, %.0f kB of them timestamps\n",
                       100 * plan->duty, plan->trace_bytes_per_second / 1e3,
                       plan->timestamp_bytes_per_second / 1e3);
}

void csp_plan_text(const struct csp_plan *plan, struct csp_buf *out)
{
    csp_buf_printf(out, "strategy      %s\n", csp_strategy_name(plan->strategy));
    if (plan->resume_at.name) {
        csp_buf_printf(out,
                       "resume        at each %s\n"
                       "pause         at each %s\n"
                       "how often that is, and what it costs, depends on the program\n",
                       plan->resume_at.name, plan->pause_at.name);
        return;
    }
    switch (plan->strategy) {
    case CSP_STRATEGY_PULSE:
        csp_buf_printf(out,
                       "resume        every %llu cycles\n"
                       "pause         after %llu cycles of the trace unit\n",
                       (unsigned long long)plan->resume_period,
                       (unsigned long long)(plan->pause_period * plan->pulse_cycles));
        break;
    case CSP_STRATEGY_FREE_RUNNING:
        csp_buf_printf(out,
                       "resume        every %llu cycles\n"
                       "pause         every %llu cycles\n",
                       (unsigned long long)plan->resume_period,
                       (unsigned long long)plan->pause_period);
        break;
    case CSP_STRATEGY_USER_STAGGER:
        csp_buf_printf(out,
                       "resume        every %llu cycles\n"
                       "pause         %llu cycles after each resume\n",
                       (unsigned long long)plan->resume_period, (unsigned long long)plan->phase);
        break;
    case CSP_STRATEGY_AUX_SAMPLE:
        csp_buf_printf(out,
                       "sample        every %llu cycles\n"
                       "trace         the newest %u bytes with each sample\n",
                       (unsigned long long)plan->resume_period, plan->aux_sample);
        break;
    case CSP_STRATEGY_STROBE:
        csp_buf_printf(out, "preset        %u of autofdo\n", plan->preset);
        break;
    default:
        csp_buf_printf(out, "sample        every %llu %s\n",
                       (unsigned long long)plan->resume_period,
                       plan->strategy == CSP_STRATEGY_CLOCK ? "ns of CPU time" : "cycles");
        break;
    }
    csp_buf_add_string(out, "expected of each busy CPU:\n");
    add_rates(plan, out);
    csp_buf_printf(out, "overhead      %.2f %% of its time in interrupts%s\n", 100 * plan->overhead,
                   plan->strategy == CSP_STRATEGY_STROBE ? ", besides storing the trace" : "");
    if (plan->slowed)
        csp_buf_add_string(out, "              fewer samples than asked for: more would exceed the "
                                "overhead (--overhead)\n");
    if (plan->throttled)
        csp_buf_printf(out,
                       "throttling    the kernel will lower the rate: more than %.0f samples a "
                       "second;\n              raise kernel.perf_cpu_time_max_percent and "
                       "perf_event_max_sample_rate\n",
                       plan->allowed_rate);
}

/* ---- the picture ---- */

enum { COLUMNS = 72 };

struct picture {
    const struct csp_plan *plan;
    double start, per_column; /* cycles */
    char resume[COLUMNS + 1], pause[COLUMNS + 1];
    bool on[COLUMNS];
};

static void mark(struct picture *picture, char *row, double when, char with)
{
    double column = (when - picture->start) / picture->per_column;
    if (column >= 0 && column < COLUMNS)
        row[(int)column] = with;
}

static void run(struct picture *picture, double from, double to)
{
    double first = floor((from - picture->start) / picture->per_column);
    double last = floor((to - picture->start) / picture->per_column);
    for (double column = first > 0 ? first : 0; column <= last && column < COLUMNS; column++)
        picture->on[(int)column] = true;
}

/* Counters start together at 0, as a group does. */
static void play(struct picture *picture)
{
    const struct csp_plan *plan = picture->plan;
    double resume = (double)plan->resume_period,
           pause = (double)(plan->pause_period * plan->pulse_cycles);
    double end = picture->start + picture->per_column * COLUMNS;
    /* Pauses that follow their resume, and pauses that come when they come. */
    double length = plan->strategy == CSP_STRATEGY_PULSE ? pause : (double)plan->phase;
    for (double when = floor(picture->start / resume) * resume; when < end; when += resume) {
        if (when <= 0)
            continue;
        double close = length > 0 ? when + length : (floor(when / pause) + 1) * pause;
        mark(picture, picture->resume, when, '|');
        run(picture, when, close);
        if (length > 0)
            mark(picture, picture->pause, close, '|');
    }
    if (!(length > 0))
        for (double when = (floor(picture->start / pause) + 1) * pause; when < end; when += pause)
            mark(picture, picture->pause, when, '|');
}

static void draw(const struct csp_plan *plan, double start, double span, struct csp_buf *out)
{
    struct picture picture = {.plan = plan, .start = start, .per_column = span / COLUMNS};
    memset(picture.resume, ' ', COLUMNS);
    memset(picture.pause, ' ', COLUMNS);
    play(&picture);
    csp_buf_printf(out, "resume %s\ntrace  ", picture.resume);
    for (int i = 0; i < COLUMNS; i++)
        csp_buf_add_string(out, picture.on[i] ? "\xe2\x96\x88" : "\xe2\x96\x81");
    csp_buf_printf(out, "\npause  %s\n       |<- %.3g us%*s->|\n", picture.pause,
                   span / plan->cycles_per_second * 1e6, COLUMNS - 18, "");
}

void csp_plan_draw(const struct csp_plan *plan, struct csp_buf *out)
{
    if (!plan->pause_period || plan->resume_at.name)
        return;
    double resume = (double)plan->resume_period,
           pause = (double)(plan->phase ? plan->phase : plan->pause_period * plan->pulse_cycles);
    draw(plan, 0, 3.5 * resume, out);
    if (pause * 8 < resume) {
        csp_buf_add_string(out, "the first window, closer:\n");
        draw(plan, resume - pause, 4 * pause, out);
    }
}

/* ---- perf ---- */

static void add_trace_event(const struct csp_target *target, const char *config,
                            struct csp_buf *out)
{
    csp_buf_printf(out, " -e cs_etm/%s", config);
    if (target->trace.fields[CSP_ETM_FIELD_TIMESTAMP].present)
        csp_buf_add_string(out, ",timestamp");
    csp_buf_add_string(out, "/u");
}

static void add_word(const char *word, struct csp_buf *out)
{
    bool plain = *word && !word[strcspn(word, " \t\n'\"\\$`*?[]{}()<>|&;!#~")];
    csp_buf_add_char(out, ' ');
    if (plain) {
        csp_buf_add_string(out, word);
        return;
    }
    csp_buf_add_char(out, '\'');
    for (; *word; word++)
        csp_buf_printf(out, *word == '\'' ? "'\\''" : "%c", *word);
    csp_buf_add_char(out, '\'');
}

void csp_plan_perf(const struct csp_plan *plan, const struct csp_target *target, int compression,
                   const char *const *command, struct csp_buf *out)
{
    unsigned long long resume = plan->resume_period, pause = plan->pause_period;
    if (plan->phase) /* perf opens events, and does not set them off against each other */
        return;
    csp_buf_add_string(out, "perf record -T");
    if (compression)
        csp_buf_printf(out, " --compression-level=%d", compression);
    switch (plan->strategy) {
    case CSP_STRATEGY_PULSE: {
        char *name = csp_pulse_text(target->trace.pulse);
        char *config = csp_asprintf("%s,aux-action=start-paused", name);
        const char *pmu = target->pmus.len ? target->pmus.data[0].name : "armv8_pmuv3_0";
        add_trace_event(target, config, out);
        csp_buf_printf(out, " -e cycles/aux-action=resume,period=%llu/u", resume);
        csp_buf_printf(out, " -e %s/trcextout1,aux-action=pause,period=%llu,call-graph=fp/u", pmu,
                       pause);
        free(config);
        free(name);
        break;
    }
    case CSP_STRATEGY_FREE_RUNNING:
        add_trace_event(target, "aux-action=start-paused", out);
        csp_buf_printf(out,
                       " -e cycles/aux-action=resume,period=%llu/u"
                       " -e cycles/aux-action=pause,period=%llu,call-graph=fp/u",
                       resume, pause);
        break;
    case CSP_STRATEGY_AUX_SAMPLE:
        csp_buf_printf(out, " --aux-sample=%u", plan->aux_sample);
        add_trace_event(target, "", out);
        csp_buf_printf(out, " -e cycles:u -c %llu --call-graph fp", resume);
        break;
    case CSP_STRATEGY_TRACEPOINT:
        add_trace_event(target, "aux-action=start-paused", out);
        csp_buf_printf(out, " -e %s/aux-action=resume/ -e %s/aux-action=pause,call-graph=fp/",
                       plan->resume_at.name, plan->pause_at.name);
        break;
    case CSP_STRATEGY_STROBE: {
        char *config = csp_asprintf("autofdo,preset=%u", plan->preset);
        add_trace_event(target, config, out);
        free(config);
        break;
    }
    case CSP_STRATEGY_BRANCH_STACK:
        csp_buf_printf(out, " -e cycles:u -c %llu -j any,u --call-graph fp", resume);
        break;
    default:
        csp_buf_printf(out, " -e cpu-clock:u -c %llu --call-graph fp", resume);
        break;
    }
    if (command && *command)
        csp_buf_add_string(out, " --");
    while (command && *command)
        add_word(*command++, out);
    csp_buf_add_char(out, '\n');
}

void csp_plan_json(const struct csp_plan *plan, struct csp_json *json)
{
    csp_json_string(json, "strategy", csp_strategy_name(plan->strategy));
    csp_json_number(json, "period", plan->resume_period);
    csp_json_number(json, "pause_period", plan->pause_period);
    csp_json_number(json, "phase", plan->phase);
    if (plan->resume_at.name) {
        csp_json_string(json, "resume_at", plan->resume_at.name);
        csp_json_string(json, "pause_at", plan->pause_at.name);
    }
    csp_json_number(json, "aux_sample_bytes", plan->aux_sample);
    csp_json_number(json, "preset", plan->preset);
    csp_json_real(json, "windows_per_second", plan->windows_per_second);
    csp_json_real(json, "samples_per_second", plan->samples_per_second);
    csp_json_real(json, "mean_window", plan->mean_window);
    csp_json_real(json, "duty", plan->duty);
    csp_json_real(json, "wasted_callchains", plan->wasted);
    csp_json_real(json, "trace_bytes_per_second", plan->trace_bytes_per_second);
    csp_json_real(json, "timestamp_bytes_per_second", plan->timestamp_bytes_per_second);
    csp_json_real(json, "overhead", plan->overhead);
    csp_json_bool(json, "throttled", plan->throttled);
    csp_json_bool(json, "slowed", plan->slowed);
}
