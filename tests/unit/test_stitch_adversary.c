/* The stitcher against recordings in which everything goes wrong that can.
 *
 * A recording is simulated whose truth is known: windows open and close, samples are written a
 * little later, and then samples, windows and clocks are damaged, each kind alone and all together.
 * What matters: no pair called exact or timed is ever wrong, what can be paired is, and the rest is
 * counted. One line per kind of damage is printed. CSPROF_ADVERSARY_PAUSES=200000 simulates so many
 * pauses for each, ten times as many as usual.
 */
#include "unit.h"

#include "base/alloc.h"
#include "decode/stitch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned pauses = 20000;

struct adversary {
    const char *name;
    unsigned pcs;               /* how many places windows end at: 1 is one hot loop */
    double lose_samples;        /* share lost, in bursts */
    double lose_windows;        /* share lost, in bursts */
    unsigned pauses_per_resume; /* free-running: most pauses find the trace off */
    bool trace_time;            /* the trace has timestamps in the samples' clock */
    bool drained;               /* an AUX record at each pause */
    unsigned record_every;      /* undrained: windows per AUX record */
    int64_t clock_offset;       /* trace clock minus sample clock, ns */
    double clock_drift;         /* parts per million */
    bool no_resume_samples;
    double no_end_pc; /* share of windows whose end is not told */
    /* expected */
    double recall;      /* least share stitched of the samples whose window survived */
    double wrong_order; /* greatest share of wrong pairs among those by order alone */
};

static const struct adversary kinds[] = {
    {.name = "nothing wrong", .pcs = 300, .trace_time = true, .drained = true, .recall = 0.995},
    {.name = "one hot loop", .pcs = 1, .trace_time = true, .drained = true, .recall = 0.995},
    {.name = "lost samples",
     .pcs = 300,
     .lose_samples = 0.1,
     .trace_time = true,
     .drained = true,
     .recall = 0.995},
    {.name = "lost windows",
     .pcs = 300,
     .lose_windows = 0.1,
     .trace_time = true,
     .drained = true,
     .recall = 0.995},
    {.name = "both lost, hot loop",
     .pcs = 1,
     .lose_samples = 0.1,
     .lose_windows = 0.1,
     .trace_time = true,
     .drained = true,
     .recall = 0.995},
    {.name = "free-running",
     .pcs = 300,
     .pauses_per_resume = 20,
     .lose_samples = 0.05,
     .trace_time = true,
     .drained = true,
     .recall = 0.995},
    {.name = "free-running hot loop",
     .pcs = 1,
     .pauses_per_resume = 20,
     .lose_samples = 0.05,
     .trace_time = true,
     .drained = true,
     .recall = 0.995},
    {.name = "sink never drained",
     .pcs = 300,
     .lose_samples = 0.05,
     .lose_windows = 0.05,
     .trace_time = true,
     .record_every = 50,
     .recall = 0.995},
    {.name = "no trace time",
     .pcs = 300,
     .lose_samples = 0.05,
     .lose_windows = 0.05,
     .drained = true,
     .recall = 0.97},
    {.name = "no trace time, hot loop",
     .pcs = 1,
     .lose_samples = 0.05,
     .lose_windows = 0.05,
     .drained = true,
     .recall = 0.97},
    {.name = "no trace time, never drained",
     .pcs = 300,
     .lose_samples = 0.02,
     .lose_windows = 0.02,
     .record_every = 50,
     .recall = 0.97,
     .wrong_order = 0.005},
    {.name = "no time, hot loop, never drained",
     .pcs = 1,
     .lose_samples = 0.02,
     .lose_windows = 0.02,
     .record_every = 50,
     .recall = 0,
     .wrong_order = 1},
    {.name = "clock offset",
     .pcs = 300,
     .lose_samples = 0.05,
     .trace_time = true,
     .record_every = 50,
     .clock_offset = 1000000,
     .recall = 0.97},
    {.name = "clock drift",
     .pcs = 300,
     .lose_samples = 0.05,
     .trace_time = true,
     .record_every = 50,
     .clock_drift = 100,
     .recall = 0.97},
    {.name = "offset, hot loop, drained",
     .pcs = 1,
     .lose_samples = 0.05,
     .lose_windows = 0.05,
     .trace_time = true,
     .drained = true,
     .clock_offset = -123456,
     .recall = 0.97},
    {.name = "ends not told",
     .pcs = 300,
     .lose_samples = 0.05,
     .trace_time = true,
     .drained = true,
     .no_end_pc = 0.2,
     .recall = 0.995},
    {.name = "no resume samples",
     .pcs = 300,
     .lose_samples = 0.05,
     .lose_windows = 0.05,
     .trace_time = true,
     .drained = true,
     .no_resume_samples = true,
     .recall = 0.995},
};

static uint64_t seed;

static double uniform(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static uint64_t exponential(double mean)
{
    return (uint64_t)(-log(1 - uniform()) * mean);
}

/* Some places are much hotter than others. */
static uint64_t random_pc(unsigned count)
{
    double u = uniform();
    return 0x400000 + 4 * (uint64_t)(u * u * u * count);
}

struct simulation {
    struct csp_stitch_window *windows;
    struct csp_stitch_pause *pauses;
    struct csp_stitch_resume *resumes;
    int64_t *window_truth, *pause_truth; /* number of the true window, -1: none */
    uint32_t window_len, pause_len, resume_len;
    uint8_t *window_survived;
};

/* Bursts of about ten. */
static bool lost(double share, unsigned *burst)
{
    if (*burst) {
        --*burst;
        return true;
    }
    if (uniform() < share / 10)
        *burst = (unsigned)exponential(9);
    else
        return false;
    return true;
}

static uint64_t trace_clock(const struct adversary *kind, uint64_t time)
{
    if (!kind->trace_time)
        return 0;
    return time + (uint64_t)kind->clock_offset +
           (uint64_t)(int64_t)((double)time * kind->clock_drift / 1e6);
}

static void write_record(struct simulation *s, uint64_t time, uint32_t *unrecorded,
                         uint64_t *previous)
{
    for (uint32_t i = s->window_len - *unrecorded; i < s->window_len; i++)
        s->windows[i].record_time = time;
    if (*unrecorded)
        *previous = time;
    *unrecorded = 0;
}

static void simulate(const struct adversary *kind, struct simulation *s)
{
    unsigned per_resume = kind->pauses_per_resume ? kind->pauses_per_resume : 1;
    s->windows = csp_calloc(2 * (size_t)pauses, sizeof *s->windows);
    s->pauses = csp_calloc(2 * (size_t)pauses, sizeof *s->pauses);
    s->resumes = csp_calloc(2 * (size_t)pauses, sizeof *s->resumes);
    s->window_truth = csp_calloc(2 * (size_t)pauses, sizeof *s->window_truth);
    s->pause_truth = csp_calloc(2 * (size_t)pauses, sizeof *s->pause_truth);
    s->window_survived = csp_calloc(2 * (size_t)pauses, 1);
    uint64_t time = 1000000000, previous_record = 0;
    unsigned sample_burst = 0, window_burst = 0;
    uint32_t unrecorded = 0; /* windows since the last AUX record */
    for (int64_t k = 0; s->pause_len + per_resume < pauses && s->window_len + 1 < pauses &&
                        k < 2 * (int64_t)pauses;
         k++) {
        time += 80000 + exponential(20000);
        uint64_t start = random_pc(kind->pcs), end = random_pc(kind->pcs);
        if (!kind->no_resume_samples && !lost(0.01, &sample_burst))
            s->resumes[s->resume_len++] = (struct csp_stitch_resume){time, start};
        struct csp_stitch_window window = {.start_pc = start,
                                           .end_pc = uniform() < kind->no_end_pc ? 0 : end};
        window.first_time = trace_clock(kind, time + 50);
        time += 1000 + exponential(50);
        window.drained = kind->drained;
        window.last_time = trace_clock(kind, time - (uint64_t)(uniform() * 300));
        bool window_lost = lost(kind->lose_windows, &window_burst);
        if (!window_lost) {
            window.not_before = previous_record;
            s->window_truth[s->window_len] = k;
            s->windows[s->window_len++] = window;
            unrecorded++;
        }
        s->window_survived[k] = !window_lost;
        if (kind->drained)
            write_record(s, time + 100, &unrecorded, &previous_record);
        time += 200 + exponential(100);
        for (unsigned p = 0; p < per_resume; p++) {
            if (!lost(kind->lose_samples, &sample_burst)) {
                s->pause_truth[s->pause_len] = p ? -1 : k;
                s->pauses[s->pause_len++] =
                    (struct csp_stitch_pause){.time = time, .pc = p ? random_pc(kind->pcs) : end};
            }
            if (per_resume > 1)
                time += 9000;
        }
        if (!kind->drained && unrecorded >= kind->record_every)
            write_record(s, time + exponential(5000), &unrecorded, &previous_record);
    }
}

static void check(const struct adversary *kind)
{
    struct simulation s = {0};
    seed = UINT64_C(0x9e3779b97f4a7c15);
    simulate(kind, &s);
    struct csp_stitch_stream stream = {
        .windows = s.windows,
        .window_len = s.window_len,
        .pauses = s.pauses,
        .pause_len = s.pause_len,
        .resumes = s.resumes,
        .resume_len = s.resume_len,
        .tolerance = 100,
    };
    struct csp_stitch_pair *pairs = csp_calloc(s.pause_len, sizeof *pairs);
    struct csp_stitch_clock clock;
    csp_stitch(&stream, NULL, pairs, &clock);

    uint64_t verdicts[CSP_VERDICT_COUNT] = {0}, wrong[CSP_VERDICT_COUNT] = {0}, possible = 0,
             right = 0;
    for (uint32_t j = 0; j < s.pause_len; j++) {
        int64_t truth = s.pause_truth[j];
        possible += truth >= 0 && s.window_survived[truth];
        verdicts[pairs[j].verdict]++;
        if (pairs[j].window == CSP_STITCH_NONE)
            continue;
        bool good = s.window_truth[pairs[j].window] == truth;
        right += good;
        wrong[pairs[j].verdict] += !good;
    }
    double recall = (double)right / (double)possible;
    uint64_t by_order = verdicts[CSP_VERDICT_ORDER];
    double wrong_order = by_order ? (double)wrong[CSP_VERDICT_ORDER] / (double)by_order : 0;
    print_message("%-33s exact %6lu time %6lu order %6lu (wrong %.4f %%) ambiguous %6lu recall "
                  "%.3f %%, wrong exact %lu time %lu\n",
                  kind->name, verdicts[CSP_VERDICT_EXACT], verdicts[CSP_VERDICT_TIME], by_order,
                  100 * wrong_order, verdicts[CSP_VERDICT_AMBIGUOUS], 100 * recall,
                  wrong[CSP_VERDICT_EXACT], wrong[CSP_VERDICT_TIME]);
    free(s.windows), free(s.pauses), free(s.resumes), free(s.window_truth), free(s.pause_truth);
    free(s.window_survived), free(pairs);
    assert_int_equal(wrong[CSP_VERDICT_EXACT], 0);
    assert_int_equal(wrong[CSP_VERDICT_TIME], 0);
    assert_true(recall >= kind->recall);
    assert_true(wrong_order <= kind->wrong_order);
}

static void no_damage_makes_a_wrong_pair_look_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check(&kinds[i]);
}

int main(void)
{
    const char *asked_for = getenv("CSPROF_ADVERSARY_PAUSES");
    if (asked_for)
        pauses = (unsigned)strtoul(asked_for, NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_damage_makes_a_wrong_pair_look_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
