/* Which window belongs to which pause sample: each case is a small stream and the pairs expected.
 */
#include "stitch_cases.h"

#include "base/alloc.h"

#include <stdlib.h>

static void time_and_pc_together_are_exact(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x20, 0xb0, 200, 210), W(0x30, 0xa0, 300, 310)},
        .window_len = 3,
        .pauses = {P(112, 0xa0), P(212, 0xb0), P(312, 0xa0)},
        .pause_len = 3,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

static void a_lost_sample_leaves_its_window_alone(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x20, 0xa0, 200, 210), W(0x30, 0xa0, 300, 310)},
        .window_len = 3,
        .pauses = {P(112, 0xa0), P(312, 0xa0)},
        .pause_len = 2,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

static void a_lost_window_leaves_its_sample_alone(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x30, 0xa0, 300, 310)},
        .window_len = 2,
        .pauses = {P(112, 0xa0), P(212, 0xb0), P(312, 0xa0)},
        .pause_len = 3,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

static void a_window_that_ended_elsewhere_is_not_used(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110)},
        .window_len = 1,
        .pauses = {P(112, 0xb0)},
        .pause_len = 1,
        .expected = {{NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_PC}},
    };
    check(&c);
}

static void a_window_that_was_cut_short_explains_its_sample_and_gives_no_history(void **state)
{
    (void)state;
    /* What is left of the second window happens to end where the sample was taken. */
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110),
                    {.start_pc = 0x20, .first_time = 200, .last_time = 205, .cut = true},
                    W(0x30, 0xa0, 300, 310)},
        .window_len = 3,
        .pauses = {P(112, 0xa0), P(212, 0xa0), P(312, 0xa0)},
        .pause_len = 3,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_CUT},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

static void a_window_of_another_thread_is_not_used(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.end_pc = 0xa0, .context = 7, .first_time = 100, .last_time = 110}},
        .window_len = 1,
        .pauses = {{.time = 112, .pc = 0xa0, .context = 8}},
        .pause_len = 1,
        .expected = {{NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_CONTEXT}},
    };
    check(&c);
}

static void without_a_pc_time_alone_is_said_to_be_so(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0, 100, 110), W(0x20, 0xb0, 200, 210)},
        .window_len = 2,
        .pauses = {P(112, 0xa0), P(212, 0)},
        .pause_len = 2,
        .expected = {{0, CSP_VERDICT_TIME, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_TIME, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

static void a_pause_while_tracing_is_off_has_no_window(void **state)
{
    (void)state;
    /* Free-running: pauses come more often than resumes; only the first after a window's end is its
     * own. */
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x20, 0xb0, 400, 410)},
        .window_len = 2,
        .pauses = {P(50, 0xa0), P(112, 0xa0), P(212, 0xc0), P(412, 0xb0), P(512, 0xd0)},
        .pause_len = 5,
        .expected = {{NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

static void of_two_pauses_behind_a_window_the_first_closed_it(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110)},
        .window_len = 1,
        .pauses = {P(112, 0xa0), P(212, 0xa0)},
        .pause_len = 2,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

static void a_drained_sink_gives_time_by_its_records(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {{.end_pc = 0xa0, .record_time = 111, .drained = true},
                    {.end_pc = 0xa0, .record_time = 211, .not_before = 111, .drained = true},
                    {.end_pc = 0xa0, .record_time = 411, .not_before = 211, .drained = true}},
        .window_len = 3,
        .pauses = {P(112, 0xa0), P(212, 0xa0), P(412, 0xa0)},
        .pause_len = 3,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {1, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

/* One AUX record for many windows, as a sink that is never drained writes them: the first and the
 * last of the band that the alignment looks at count as much as the others. */
static void a_long_group_is_paired_to_its_last_window(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct csp_stitch_window *windows = csp_calloc(N, sizeof *windows);
    struct csp_stitch_pause *pauses = csp_calloc(N, sizeof *pauses);
    struct csp_stitch_pair *pairs = csp_calloc(N, sizeof *pairs);
    for (uint32_t k = 0; k < N; k++) {
        windows[k] =
            (struct csp_stitch_window){.start_pc = 0x1000 + 4 * k, .end_pc = 0x8000 + 4 * k};
        pauses[k] = (struct csp_stitch_pause){.time = 100 * (k + 1), .pc = 0x8000 + 4 * k};
    }
    struct csp_stitch_stream stream = {
        .windows = windows, .window_len = N, .pauses = pauses, .pause_len = N};
    struct csp_stitch_clock clock;
    csp_stitch(&stream, NULL, pairs, &clock);
    for (uint32_t k = 0; k < N; k++)
        assert_int_equal(pairs[k].window, k);
    free(windows);
    free(pauses);
    free(pairs);
}

/* Without any time, a sequence of telling PCs is put back in order, whatever was lost. */
static void telling_pcs_restore_the_order_without_time(void **state)
{
    (void)state;
    enum { N = 10000 };
    struct csp_stitch_window *windows = csp_calloc(N, sizeof *windows);
    struct csp_stitch_pause *pauses = csp_calloc(N, sizeof *pauses);
    struct csp_stitch_pair *pairs = csp_calloc(N, sizeof *pairs);
    uint64_t *truth = csp_calloc(N, sizeof *truth);
    uint32_t window_len = 0, pause_len = 0;
    uint32_t random = 1;
    for (uint32_t k = 0; k < N; k++) {
        random = random * 1664525 + 1013904223;
        uint64_t pc = 0x1000 + 4 * (random >> 24);
        if (k % 17 != 3) {
            windows[window_len] = (struct csp_stitch_window){.end_pc = pc, .start_pc = k};
            window_len++;
        }
        if (k % 23 != 5) {
            pauses[pause_len] = (struct csp_stitch_pause){.time = k + 1, .pc = pc};
            truth[pause_len++] = k;
        }
    }
    struct csp_stitch_stream stream = {
        .windows = windows, .window_len = window_len, .pauses = pauses, .pause_len = pause_len};
    struct csp_stitch_clock clock;
    csp_stitch(&stream, NULL, pairs, &clock);
    uint32_t right = 0, wrong = 0, exact = 0;
    for (uint32_t j = 0; j < pause_len; j++) {
        if (pairs[j].window == CSP_STITCH_NONE)
            continue;
        bool same = windows[pairs[j].window].start_pc == truth[j];
        right += same;
        wrong += !same;
        exact += pairs[j].verdict == CSP_VERDICT_EXACT;
    }
    assert_true(right > 0.97 * N * 16 / 17 * 22 / 23);
    assert_true(wrong < N / 1000); /* a lost window beside a lost sample of the same PC */
    assert_int_equal(exact, 0);
    free(windows);
    free(pauses);
    free(pairs);
    free(truth);
}

/* Where every window ends at the same place, and nothing else tells, nothing is guessed. */
static void a_hot_loop_without_time_is_ambiguous(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0, 0xa0, 0, 0), W(0, 0xa0, 0, 0), W(0, 0xa0, 0, 0)},
        .window_len = 3,
        .pauses = {P(10, 0xa0), P(20, 0xa0), P(30, 0xa0)},
        .pause_len = 3,
        .expected = {{NONE, CSP_VERDICT_AMBIGUOUS, CSP_UNSTITCHED_AMBIGUOUS},
                     {NONE, CSP_VERDICT_AMBIGUOUS, CSP_UNSTITCHED_AMBIGUOUS},
                     {NONE, CSP_VERDICT_AMBIGUOUS, CSP_UNSTITCHED_AMBIGUOUS}},
    };
    check(&c);
}

/* Two windows are left of a stream whose clock is 200 ahead; by chance the pauses behind them were
 * taken where they ended. Too few to tell: another stream does. */
static void what_few_windows_cannot_tell_of_the_clock_other_streams_do(void **state)
{
    (void)state;
    static const struct csp_stitch_window windows[] = {W(0x10, 0xa0, 100, 110),
                                                       W(0x20, 0xa0, 200, 210)};
    static const struct csp_stitch_pause pauses[] = {P(112, 0xa0), P(212, 0xa0), P(312, 0xa0),
                                                     P(412, 0xa0)};
    const struct csp_stitch_stream stream = {
        .windows = windows, .window_len = 2, .pauses = pauses, .pause_len = 4, .tolerance = 1};
    struct csp_stitch_trust right = {.agree = 90, .contradict = 10},
                            wrong = {.agree = 10, .contradict = 90};
    struct csp_stitch_pair pairs[4];
    struct csp_stitch_clock clock;
    csp_stitch(&stream, &right, pairs, &clock);
    assert_int_equal(clock.time, CSP_STITCH_TIME_TRACE);
    assert_int_equal(pairs[0].verdict, CSP_VERDICT_EXACT);
    assert_int_equal(pairs[1].verdict, CSP_VERDICT_EXACT);
    csp_stitch(&stream, &wrong, pairs, &clock);
    assert_int_equal(clock.time, CSP_STITCH_TIME_NONE);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pairs[i].window, CSP_STITCH_NONE);
}

static void a_survey_counts_what_pcs_say_of_the_times(void **state)
{
    (void)state;
    static const struct csp_stitch_window windows[] = {
        W(0x10, 0xa0, 100, 110), W(0x20, 0xb0, 200, 210), W(0x30, 0xc0, 300, 310)};
    static const struct csp_stitch_pause pauses[] = {P(112, 0xa0), P(212, 0xc0), P(312, 0xc0)};
    const struct csp_stitch_stream stream = {
        .windows = windows, .window_len = 3, .pauses = pauses, .pause_len = 3, .tolerance = 1};
    struct csp_stitch_trust trust = {.agree = 5, .contradict = 1};
    csp_stitch_survey(&stream, &trust);
    assert_int_equal(trust.agree, 5 + 2);
    assert_int_equal(trust.contradict, 1 + 1);
}

/* Too few pairs to learn the lag from. But a sample is written before the next window opens, and
 * all about as late: the second window's sample and the third window were lost. */
static void a_lag_longer_than_the_time_between_windows_is_none(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x20, 0xa0, 200, 210)},
        .window_len = 2,
        .pauses = {P(112, 0xa0), P(312, 0xa0)},
        .pause_len = 2,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

/* Without time, a skidded sample looks like one whose window was lost, beside a window whose sample
 * was. */
static void without_time_ended_elsewhere_and_lost_are_not_told_apart(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 0, 0)},
        .window_len = 1,
        .pauses = {P(112, 0xb0)},
        .pause_len = 1,
        .resumes = {{99, 0x10}},
        .resume_len = 1,
        .expected = {{NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD}},
    };
    check(&c);
}

static void a_window_that_was_opened_elsewhere_is_another_ones(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 0, 0)},
        .window_len = 1,
        .pauses = {P(112, 0xb0)},
        .pause_len = 1,
        .resumes = {{99, 0x20}},
        .resume_len = 1,
        .expected = {{NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW}},
    };
    check(&c);
}

/* The second thread's window ended because it was switched out, so late before the third pause that
 * this might have closed it, but for the PCs. What the pause did close was lost. */
static void a_window_that_a_switch_ended_is_not_said_to_have_ended_elsewhere(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x20, 0xb0, 200, 210), W(0x30, 0xc0, 300, 310)},
        .window_len = 3,
        .pauses = {P(112, 0xa0), P(212, 0xd0), P(312, 0xc0)},
        .pause_len = 3,
        .resumes = {{99, 0x10}, {190, 0x40}, {299, 0x30}},
        .resume_len = 3,
        .switches = {195, 211},
        .switch_len = 2,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD},
                     {2, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT}},
    };
    check(&c);
}

/* Times are precise to 200: the thread may have been switched after its window's end, and what the
 * pause closed be another window that was lost. */
static void a_switch_about_the_end_of_a_window_may_have_ended_it(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 1000, 1500), W(0x20, 0xb0, 5000, 5500)},
        .window_len = 2,
        .pauses = {P(1510, 0xa0), P(5510, 0xc0)},
        .pause_len = 2,
        .resumes = {{990, 0x10}, {4000, 0x30}},
        .resume_len = 2,
        .switches = {4500, 5400},
        .switch_len = 2,
        .tolerance = 200,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD}},
    };
    check(&c);
}

/* The trace's clock is another one: by records, the last window was there before its time. What is
 * fitted to the samples has their lag in it, of which nobody knows how long it is: since the last
 * resume the thread may have been switched at any time. `switched`: 0: never. */
static void check_fitted(uint64_t switched, enum csp_unstitched expected)
{
    enum { COUNT = 10, LAST = COUNT - 1 };
    struct stream_case c = {.window_len = COUNT, .pause_len = COUNT, .resume_len = COUNT};
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t time = 10000 * (i + 1);
        c.windows[i] = (struct csp_stitch_window){.start_pc = 0x1000 + i * 4,
                                                  .end_pc = 0x2000 + i * 4,
                                                  .last_time = 5000000 + time,
                                                  .record_time = 200000};
        c.resumes[i] = (struct csp_stitch_resume){time - 600, 0x1000 + i * 4};
        c.pauses[i] = (struct csp_stitch_pause)P(time, 0x2000 + i * 4);
        c.expected[i].window = (int)i;
        c.expected[i].verdict = CSP_VERDICT_EXACT;
    }
    c.pauses[LAST].pc = 0x3000;
    c.expected[LAST].window = NONE;
    c.expected[LAST].verdict = CSP_VERDICT_NONE;
    c.expected[LAST].reason = expected;
    c.switches[0] = switched;
    c.switch_len = switched ? 1 : 0;
    check(&c);
}

static void by_fitted_times_any_switch_since_the_resume_may_have_ended_a_window(void **state)
{
    (void)state;
    check_fitted(0, CSP_UNSTITCHED_PC);
    check_fitted(100000 - 500, CSP_UNSTITCHED_UNTOLD);
    check_fitted(100000 - 700, CSP_UNSTITCHED_PC);
}

/* Most samples were written some 40 after their windows' ends, which the fit of the clocks takes
 * for no time at all. So one that came after 20 is too early by it, and the next one, which finds
 * the trace off and was taken at the same place, would have a lag like the others. */
static void by_fitted_times_a_sample_at_the_same_place_may_be_the_one(void **state)
{
    enum { COUNT = 10, QUICK = 5 };
    static const uint64_t lags[COUNT] = {36, 40, 44, 38, 42, 20, 36, 44, 40, 42};
    struct stream_case c = {.window_len = COUNT, .pause_len = COUNT + 1};
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t time = 10000 * (i + 1);
        uint32_t pause = i > QUICK ? i + 1 : i;
        c.windows[i] = (struct csp_stitch_window){.start_pc = 0x1000 + i * 4,
                                                  .end_pc = 0x2000 + i * 4,
                                                  .last_time = 5000000 + time,
                                                  .record_time = 200000};
        c.pauses[pause] = (struct csp_stitch_pause)P(time + lags[i], 0x2000 + i * 4);
        c.expected[pause].window = (int)i;
        c.expected[pause].verdict = CSP_VERDICT_EXACT;
    }
    c.pauses[QUICK + 1] = c.pauses[QUICK];
    c.pauses[QUICK + 1].time += 24;
    for (uint32_t j = QUICK; j <= QUICK + 1; j++) {
        c.expected[j].window = NONE;
        c.expected[j].verdict = CSP_VERDICT_AMBIGUOUS;
        c.expected[j].reason = CSP_UNSTITCHED_AMBIGUOUS;
    }
    check(&c);
}

/* Windows without a time of their own, in an AUX record of many: how good the fit of the others is
 * has nothing to do with them, and the order of their PCs tells. */
static void fitted_times_say_nothing_of_windows_without_a_time(void **state)
{
    enum { TIMED = 10, COUNT = 14 };
    struct stream_case c = {.window_len = COUNT, .pause_len = COUNT, .resume_len = COUNT};
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t time = 10000 * (i + 1), place = i < TIMED ? i * 4 : 0x100 + i % 2 * 4;
        c.windows[i] = (struct csp_stitch_window){.start_pc = 0x1000 + place,
                                                  .end_pc = 0x2000 + place,
                                                  .last_time = i < TIMED ? 5000000 + time : 0,
                                                  .record_time = 200000};
        c.resumes[i] = (struct csp_stitch_resume){time - 600, 0x1000 + place};
        c.pauses[i] = (struct csp_stitch_pause)P(time + i % 3, 0x2000 + place);
        c.expected[i].window = (int)i;
        c.expected[i].verdict = i < TIMED ? CSP_VERDICT_EXACT : CSP_VERDICT_ORDER;
    }
    check(&c);
}

/* Too long before the pause for the lag that the times tell of; but nothing else is known to have
 * run since the switch. */
static void a_window_behind_a_switch_may_have_run_last(void **state)
{
    (void)state;
    static const struct stream_case c = {
        .windows = {W(0x10, 0xa0, 100, 110), W(0x20, 0xb0, 200, 210), W(0x30, 0xc0, 220, 230)},
        .window_len = 3,
        .pauses = {P(112, 0xa0), P(600, 0xc0)},
        .pause_len = 2,
        .resumes = {{99, 0x10}, {199, 0x20}},
        .resume_len = 2,
        .switches = {215},
        .switch_len = 1,
        .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                     {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_UNTOLD}},
    };
    check(&c);
}

/* The second window was cut before its first timestamp: it may be that of the second pause, or of
 * the third, before which the trace was turned on. */
static const struct stream_case cut_early = {
    .windows = {W(0x10, 0xa0, 42, 48), {.start_pc = 0x20, .cut = true}},
    .window_len = 2,
    .pauses = {P(50, 0xa0), P(100, 0xa0), P(200, 0xb0)},
    .pause_len = 3,
    .resumes = {{40, 0x10}, {190, 0x20}},
    .resume_len = 2,
    .expected = {{0, CSP_VERDICT_EXACT, CSP_UNSTITCHED_NOT},
                 {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_NO_WINDOW},
                 {NONE, CSP_VERDICT_NONE, CSP_UNSTITCHED_CUT}},
};

static void without_a_resume_the_trace_was_off(void **state)
{
    (void)state;
    check(&cut_early);
}

static void where_samples_were_lost_the_last_resume_is_not_known(void **state)
{
    (void)state;
    struct stream_case c = cut_early;
    c.losses[0] = 199;
    c.loss_len = 1;
    c.expected[2].reason = CSP_UNSTITCHED_UNTOLD;
    check(&c);
}

static void where_threads_were_switched_a_window_may_begin_anywhere(void **state)
{
    (void)state;
    struct stream_case c = cut_early;
    c.switches[0] = 195;
    c.switch_len = 1;
    c.expected[2].reason = CSP_UNSTITCHED_UNTOLD;
    check(&c);
}

static void a_resume_from_an_unknown_place_may_have_opened_any_window(void **state)
{
    (void)state;
    struct stream_case c = cut_early;
    c.resumes[1].pc = 0;
    c.expected[2].reason = CSP_UNSTITCHED_UNTOLD;
    check(&c);
}

/* It opened the window that the pause after it closed. */
static void a_resume_at_the_time_of_a_pause_came_after_it(void **state)
{
    (void)state;
    struct stream_case c = cut_early;
    c.resumes[1].time = 100;
    check(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_and_pc_together_are_exact),
        cmocka_unit_test(a_lost_sample_leaves_its_window_alone),
        cmocka_unit_test(a_lost_window_leaves_its_sample_alone),
        cmocka_unit_test(a_window_that_ended_elsewhere_is_not_used),
        cmocka_unit_test(a_window_that_was_cut_short_explains_its_sample_and_gives_no_history),
        cmocka_unit_test(a_window_of_another_thread_is_not_used),
        cmocka_unit_test(without_a_pc_time_alone_is_said_to_be_so),
        cmocka_unit_test(a_pause_while_tracing_is_off_has_no_window),
        cmocka_unit_test(of_two_pauses_behind_a_window_the_first_closed_it),
        cmocka_unit_test(a_drained_sink_gives_time_by_its_records),
        cmocka_unit_test(a_long_group_is_paired_to_its_last_window),
        cmocka_unit_test(telling_pcs_restore_the_order_without_time),
        cmocka_unit_test(a_hot_loop_without_time_is_ambiguous),
        cmocka_unit_test(what_few_windows_cannot_tell_of_the_clock_other_streams_do),
        cmocka_unit_test(a_survey_counts_what_pcs_say_of_the_times),
        cmocka_unit_test(a_lag_longer_than_the_time_between_windows_is_none),
        cmocka_unit_test(without_time_ended_elsewhere_and_lost_are_not_told_apart),
        cmocka_unit_test(a_window_that_was_opened_elsewhere_is_another_ones),
        cmocka_unit_test(a_window_that_a_switch_ended_is_not_said_to_have_ended_elsewhere),
        cmocka_unit_test(a_switch_about_the_end_of_a_window_may_have_ended_it),
        cmocka_unit_test(by_fitted_times_any_switch_since_the_resume_may_have_ended_a_window),
        cmocka_unit_test(by_fitted_times_a_sample_at_the_same_place_may_be_the_one),
        cmocka_unit_test(fitted_times_say_nothing_of_windows_without_a_time),
        cmocka_unit_test(a_window_behind_a_switch_may_have_run_last),
        cmocka_unit_test(without_a_resume_the_trace_was_off),
        cmocka_unit_test(where_samples_were_lost_the_last_resume_is_not_known),
        cmocka_unit_test(where_threads_were_switched_a_window_may_begin_anywhere),
        cmocka_unit_test(a_resume_from_an_unknown_place_may_have_opened_any_window),
        cmocka_unit_test(a_resume_at_the_time_of_a_pause_came_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
