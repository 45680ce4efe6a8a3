/* Streams whose trace has another clock than the samples, or seems to have the same for a while:
 * what a CPU of the emulator's free-running threads traced, most of it in a burst at the beginning.
 */
#include "unit.h"

#include "decode/stitch.h"

/* In nanoseconds of the trace's clock, which began with the samples'. The sample was written 200
 * later. */
static const struct {
    uint64_t opened, start_pc, ended, end_pc;
} traced[] = {
    {2868, 0x2844f28, 3357, 0x2844f28},         {6006, 0x2844f00, 6894, 0x2844eb4},
    {9075, 0x2844f18, 9318, 0x2844f08},         {12223, 0x2844f08, 12851, 0x2844f00},
    {15380, 0x2844f00, 16392, 0x2844f08},       {18412, 0x2844f10, 18817, 0x2844f20},
    {21574, 0x2844ee4, 22363, 0x2844f24},       {24629, 0x284ad78, 24774, 0x2841c90},
    {27772, 0x28442a8, 28312, 0x2844280},       {30940, 0x284fd1c, 31852, 0x284fcc8},
    {33973, 0x28356fc, 34297, 0x2835768},       {37136, 0x28495f4, 37816, 0x284378c},
    {40295, 0x2840280, 41355, 0x2840268},       {43330, 0x2840270, 43793, 0x284026c},
    {46495, 0x2840268, 47324, 0x284026c},       {49539, 0x28403dc, 49757, 0x283bcf8},
    {52701, 0x28403f0, 53296, 0x2840334},       {55836, 0x283b358, 56829, 0x283bcfc},
    {58904, 0x283b2c8, 59260, 0x283b180},       {62052, 0x283bce0, 62793, 0x283b2b8},
    {65097, 0x284f33c, 65226, 0x283b4b8},       {68249, 0x284f318, 68767, 0x283b558},
    {71408, 0x28403f4, 72310, 0x283b580},       {74466, 0x284034c, 74732, 0x283b35c},
    {77608, 0x284035c, 78275, 0x284032c},       {80755, 0x2840398, 81812, 0x283b2e0},
    {83815, 0x283b4bc, 84239, 0x283b340},       {86967, 0x283fe80, 87778, 0x283b374},
    {90019, 0x2836464, 90203, 0x283641c},       {93160, 0x283b328, 93727, 0x284f34c},
    {96312, 0x284f408, 97270, 0x283b2cc},       {99366, 0x283b104, 99706, 0x283b51c},
    {102528, 0x284f300, 103247, 0x283b13c},     {105677, 0x284f414, 106779, 0x28454c4},
    {119364, 0x10eb4, 119832, 0x2920dbc},       {192578, 0x291e304, 490025, 0x283bd08},
    {3824109, 0x2913008, 3824354, 0x29c7744},   {3827271, 0x290f690, 3827880, 0x29151e8},
    {7699711, 0x2913898, 7700728, 0x2842d24},   {7702759, 0x29124d0, 7703153, 0x2842d7c},
    {11670263, 0x290ed2c, 11671038, 0x2842d7c}, {11673315, 0x2842d24, 11673464, 0x2842de0},
    {15637184, 0x2912418, 15637712, 0x2842db4}, {15728312, 0x2912638, 15729239, 0x284fc58},
    {19548711, 0x28b727c, 19549007, 0x2915160}, {19584489, 0x29121b8, 19585159, 0x29151d4},
    {23389918, 0x29c7748, 23458633, 0x2916c04}, {23460626, 0x28b7274, 23461063, 0x2916b28},
    {27308535, 0x2911bf4, 27309360, 0x2842e24}, {27394072, 0x29150bc, 27394267, 0x2842dd4},
    {31078585, 0x28e61fc, 31079175, 0x283b568}, {31081737, 0x2843844, 31082699, 0x2908ad4},
};
enum { ALL = sizeof traced / sizeof *traced, BEGINNING = 38 };

struct clock {
    int64_t offset; /* of the samples' clock to the trace's at the beginning */
    double drift;   /* by which it grows */
};

static uint64_t sample_time(const struct clock *clock, uint64_t time)
{
    const int64_t began = 1000000000;
    return (uint64_t)(began + (int64_t)time + clock->offset +
                      (int64_t)(clock->drift * (double)time));
}

/* Each pause gets its window. */
static void check(const struct clock *clock, uint32_t count, bool drained,
                  const struct csp_stitch_trust *trust, enum csp_stitch_time expected)
{
    static const struct clock of_trace = {0};
    struct csp_stitch_window windows[ALL];
    struct csp_stitch_pause pauses[ALL];
    struct csp_stitch_resume resumes[ALL];
    uint64_t recorded = 0;
    for (uint32_t i = 0; i < count; i++) {
        windows[i] =
            (struct csp_stitch_window){.start_pc = traced[i].start_pc,
                                       .end_pc = traced[i].end_pc,
                                       .last_time = sample_time(&of_trace, traced[i].ended)};
        pauses[i] = (struct csp_stitch_pause){.time = sample_time(clock, traced[i].ended + 200),
                                              .pc = traced[i].end_pc};
        resumes[i] = (struct csp_stitch_resume){.time = sample_time(clock, traced[i].opened),
                                                .pc = traced[i].start_pc};
        if (!drained)
            continue;
        windows[i].drained = true;
        windows[i].not_before = recorded;
        windows[i].record_time = recorded = sample_time(clock, traced[i].ended + 100);
    }
    struct csp_stitch_stream stream = {.windows = windows,
                                       .window_len = count,
                                       .pauses = pauses,
                                       .pause_len = count,
                                       .resumes = resumes,
                                       .resume_len = count,
                                       .tolerance = 200};
    struct csp_stitch_pair pairs[ALL];
    struct csp_stitch_clock found;
    csp_stitch(&stream, trust, pairs, &found);
    assert_int_equal(found.time, expected);
    for (uint32_t j = 0; j < count; j++) {
        assert_int_equal(pairs[j].verdict, CSP_VERDICT_EXACT);
        assert_int_equal(pairs[j].window, j);
    }
}

static void one_clock_is_believed(void **state)
{
    (void)state;
    static const struct clock same = {0};
    check(&same, ALL, false, NULL, CSP_STITCH_TIME_TRACE);
    check(&same, ALL, true, NULL, CSP_STITCH_TIME_TRACE);
}

/* As when the processor's frequency changes: samples are written 4 microseconds later from one
 * window on, which is no drift of a clock. */
static void a_lag_that_changes_once_is_no_drift(void **state)
{
    (void)state;
    enum { EVEN = 4000, EACH = 10000 };
    static struct csp_stitch_window windows[EVEN];
    static struct csp_stitch_pause pauses[EVEN];
    static struct csp_stitch_pair pairs[EVEN];
    for (uint32_t i = 0; i < EVEN; i++) {
        uint64_t pc = 0x1000 + 8 * i, ended = 1000000000 + (uint64_t)i * EACH;
        uint64_t lag = 1000 + i * 7919 % 801 + (i < EVEN / 2 ? 0 : 4000);
        windows[i] = (struct csp_stitch_window){.start_pc = pc, .end_pc = pc, .last_time = ended};
        pauses[i] = (struct csp_stitch_pause){.time = ended + lag, .pc = pc};
    }
    struct csp_stitch_stream stream = {.windows = windows,
                                       .window_len = EVEN,
                                       .pauses = pauses,
                                       .pause_len = EVEN,
                                       .tolerance = 200};
    struct csp_stitch_clock found;
    csp_stitch(&stream, NULL, pairs, &found);
    assert_int_equal(found.time, CSP_STITCH_TIME_TRACE);
    for (uint32_t j = 0; j < EVEN; j++)
        assert_int_equal(pairs[j].window, j);
}

/* Two thirds of what tells the offset is of the first eighth of a millisecond. */
static void the_few_events_that_are_far_apart_tell_the_drift(void **state)
{
    (void)state;
    static const struct clock drifting = {.offset = 54321, .drift = 50e-6};
    check(&drifting, ALL, false, NULL, CSP_STITCH_TIME_FITTED);
    check(&drifting, ALL, true, NULL, CSP_STITCH_TIME_FITTED);
}

/* It takes milliseconds until the times contradict. */
static void clocks_that_drift_apart_are_two(void **state)
{
    (void)state;
    static const struct clock late = {.drift = 100e-6}, early = {.drift = -100e-6};
    check(&late, ALL, true, NULL, CSP_STITCH_TIME_FITTED);
    check(&early, ALL, true, NULL, CSP_STITCH_TIME_FITTED);
}

/* 36 windows of the burst, and two that have come to lie behind their samples: those of other
 * streams tell that it is the clock. */
static void other_streams_tell_what_a_short_one_cannot(void **state)
{
    (void)state;
    static const struct clock early = {.drift = -500e-6};
    const struct csp_stitch_trust others = {.agree = 120, .contradict = 400};
    check(&early, BEGINNING, false, &others, CSP_STITCH_TIME_FITTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_clock_is_believed),
        cmocka_unit_test(a_lag_that_changes_once_is_no_drift),
        cmocka_unit_test(the_few_events_that_are_far_apart_tell_the_drift),
        cmocka_unit_test(clocks_that_drift_apart_are_two),
        cmocka_unit_test(other_streams_tell_what_a_short_one_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
