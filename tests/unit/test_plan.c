/* Plans against a simulation of the counters they are for. */
#include "unit.h"

#include "collect/host_tree.h"
#include "collect/plan.h"

#include <math.h>
#include <string.h>

struct outcome {
    double duty, windows_per_pause, mean_window, shortest;
};

/* Two counters that start together, or are set off against each other, cycle by cycle as far as
 * events go. */
static struct outcome simulate(const struct csp_plan *plan, uint64_t windows)
{
    uint64_t now = 0, resume = plan->resume_period, pause = plan->pause_period;
    uint64_t next_resume = resume, next_pause = pause + plan->phase, on_since = 0, on_time = 0,
             pauses = 0;
    uint64_t closed = 0, shortest = UINT64_MAX;
    bool on = false, pulse = plan->strategy == CSP_STRATEGY_PULSE;
    if (pulse)
        next_pause = UINT64_MAX;
    while (closed < windows) {
        if (next_pause <= next_resume) { /* at the same time the kernel pauses first */
            now = next_pause;
            next_pause = pulse ? UINT64_MAX : now + pause;
            pauses++;
            if (on) {
                on_time += now - on_since;
                shortest = now - on_since < shortest ? now - on_since : shortest;
                closed++;
            }
            on = false;
            continue;
        }
        now = next_resume;
        next_resume += resume;
        if (!on)
            on_since = now;
        if (!on && pulse)
            next_pause = now + pause;
        on = true;
    }
    return (struct outcome){(double)on_time / (double)now, (double)closed / (double)pauses,
                            (double)on_time / (double)closed, (double)shortest};
}

static struct csp_plan_request request_of(enum csp_strategy strategy)
{
    return (struct csp_plan_request){.strategy = strategy,
                                     .samples_per_second = 500,
                                     .overhead = 0.05,
                                     .cycles_per_second = 2e9,
                                     .pulse = &csp_pulses[0]};
}

static void assert_near(double is, double wanted, double tolerance)
{
    if (fabs(is - wanted) > tolerance * fabs(wanted))
        fail_msg("%g is not near %g", is, wanted);
}

static void free_running_windows_take_the_predicted_share(void **state)
{
    (void)state;
    for (uint64_t window = 500; window < 2000000; window *= 7) {
        struct csp_plan_request request = request_of(CSP_STRATEGY_FREE_RUNNING);
        struct csp_plan plan;
        request.window = window;
        csp_plan_make(&plan, &request);
        double resume = (double)plan.resume_period, pause = (double)plan.pause_period;
        struct outcome is = simulate(&plan, 20000);
        assert_near(plan.duty, pause / (2 * resume), 1e-9);
        assert_near(is.duty, plan.duty, 0.01);
        assert_near(is.windows_per_pause, pause / resume, 0.01);
        assert_near(is.windows_per_pause, 1 - plan.wasted, 0.01);
        assert_near(is.mean_window, plan.mean_window, 0.01);
        assert_true(is.shortest >= 1);
    }
}

static void free_running_phases_are_spread_from_the_start(void **state)
{
    (void)state;
    struct csp_plan_request request = request_of(CSP_STRATEGY_FREE_RUNNING);
    struct csp_plan plan;
    csp_plan_make(&plan, &request);
    for (uint64_t windows = 10; windows <= 1000; windows *= 10)
        assert_near(simulate(&plan, windows).mean_window, plan.mean_window,
                    1.2 / sqrt((double)windows));
    /* The published pair of periods has the same property. */
    struct csp_plan published = {CSP_STRATEGY_FREE_RUNNING, .resume_period = 8338447,
                                 .pause_period = 100003, .pulse_cycles = 1};
    assert_near(simulate(&published, 10000).duty, 100003.0 / (2 * 8338447.0), 0.01);
}

static void pulse_windows_are_all_of_one_length(void **state)
{
    (void)state;
    struct csp_plan_request request = request_of(CSP_STRATEGY_PULSE);
    struct csp_plan plan;
    csp_plan_make(&plan, &request);
    struct outcome is = simulate(&plan, 10000);
    assert_near(is.duty, plan.duty, 1e-3);
    assert_near(is.mean_window, (double)plan.pause_period, 1e-9);
    assert_near(is.windows_per_pause, 1, 1e-9);
    assert_near(plan.windows_per_second, 500, 0.01);
    request.pulse = csp_pulse_named("pmu_pulse_counter,preset=3"); /* a pulse in 100 cycles */
    csp_plan_make(&plan, &request);
    assert_int_equal(plan.pause_period, 10);
    assert_near(plan.mean_window, 1000, 1e-9);
}

static void staggered_windows_are_all_of_one_length(void **state)
{
    (void)state;
    for (uint64_t window = 500; window < 2000000; window *= 7) {
        struct csp_plan_request request = request_of(CSP_STRATEGY_USER_STAGGER);
        struct csp_plan plan;
        request.window = window;
        csp_plan_make(&plan, &request);
        struct outcome is = simulate(&plan, 10000);
        assert_near(is.duty, plan.duty, 1e-3);
        assert_near(is.mean_window, (double)window, 1e-9);
        assert_near(is.shortest, (double)window, 1e-9);
        assert_near(is.windows_per_pause, 1, 1e-9); /* no callchain without a window */
        assert_true(plan.wasted == 0);
    }
    struct csp_plan_request request = request_of(CSP_STRATEGY_USER_STAGGER);
    struct csp_plan plan;
    request.window = 5000;
    request.period = 4000; /* would open the next window before this one is closed */
    csp_plan_make(&plan, &request);
    assert_true(plan.resume_period > request.window);
}

static void samples_with_trace_hold_a_window_behind_an_a_sync(void **state)
{
    (void)state;
    struct csp_plan_request request = request_of(CSP_STRATEGY_AUX_SAMPLE);
    struct csp_plan plan;
    request.window = 4000; /* cycles: a byte each four */
    csp_plan_make(&plan, &request);
    assert_int_equal(plan.aux_sample, 2 * 4096 + 1000);
    assert_true(plan.mean_window > 4000);
    assert_near(plan.trace_bytes_per_second, plan.samples_per_second * plan.aux_sample, 1e-9);
    request.window = 10000000;
    csp_plan_make(&plan, &request);
    assert_true(plan.aux_sample < 65536 - 1024 && plan.aux_sample % 8 == 0);
}

static void samples_are_given_up_for_the_overhead(void **state)
{
    (void)state;
    static const enum csp_strategy strategies[] = {CSP_STRATEGY_BRANCH_STACK, CSP_STRATEGY_PULSE,
                                                   CSP_STRATEGY_USER_STAGGER,
                                                   CSP_STRATEGY_FREE_RUNNING, CSP_STRATEGY_CLOCK};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct csp_plan_request request = request_of(strategies[i]);
        struct csp_plan plan;
        request.samples_per_second = 1e6;
        request.drained = true;
        request.overhead = 0.02;
        csp_plan_make(&plan, &request);
        assert_true(plan.slowed);
        assert_true(plan.overhead <= 0.0201);
        assert_true(plan.overhead > 0.015);
    }
}

static void throttling_is_predicted_by_the_kernels_rule(void **state)
{
    (void)state;
    struct csp_plan_request request = request_of(CSP_STRATEGY_CLOCK);
    struct csp_plan plan;
    request.max_sample_rate = 100000; /* the kernel's defaults */
    request.cpu_time_max_percent = 25;
    csp_plan_make(&plan, &request);
    assert_false(plan.throttled);
    assert_near(plan.allowed_rate, 0.25 / (1.25 * CSP_COST_PAUSE), 1e-6);
    request.period = 10000; /* ns: 100,000 a second */
    csp_plan_make(&plan, &request);
    assert_true(plan.throttled);
}

static void count_marks(const struct csp_plan *plan, unsigned *resumes, unsigned *pauses)
{
    struct csp_buf out = {0};
    csp_plan_draw(plan, &out);
    const char *resume = strstr(out.data, "resume "), *pause = strstr(out.data, "pause  ");
    assert_non_null(resume);
    assert_non_null(pause);
    for (const char *at = resume; *at != '\n'; at++)
        *resumes += *at == '|';
    for (const char *at = pause; *at != '\n'; at++)
        *pauses += *at == '|';
    csp_buf_free(&out);
}

static void the_picture_shows_events_and_trace(void **state)
{
    (void)state;
    unsigned resumes = 0, pauses = 0;
    struct csp_plan plan = {.strategy = CSP_STRATEGY_FREE_RUNNING,
                            .resume_period = 8000,
                            .pause_period = 2618,
                            .pulse_cycles = 1,
                            .cycles_per_second = 1e9};
    count_marks(&plan, &resumes, &pauses);
    assert_int_equal(resumes, 3); /* 3.5 periods */
    assert_int_equal(pauses, 10); /* 28000 / 2618 */
    plan.strategy = CSP_STRATEGY_USER_STAGGER;
    plan.pause_period = plan.resume_period;
    plan.phase = 2618;
    resumes = pauses = 0;
    count_marks(&plan, &resumes, &pauses);
    assert_int_equal(resumes, 3);
    assert_int_equal(pauses, 3);
}

static void cpu_lists_have_one_form(void **state)
{
    (void)state;
    static const char *const good[] = {"0", "0-3", "0-3,8", "2,3,9-11"};
    static const char *const bad[] = {"", "a", "3-1", "0-", "0,,1", "4,2", "0-99999999", "1 2"};
    static const char *const again[] = {"0", "0-3", "0-3,8", "2-3,9-11"};
    struct csp_cpu_list list;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(csp_cpu_list_parse(&list, good[i]));
        char *text = csp_cpu_list_text(&list);
        assert_string_equal(text, again[i]);
        free(text);
        csp_cpu_list_free(&list);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(csp_cpu_list_parse(&list, bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_running_windows_take_the_predicted_share),
        cmocka_unit_test(free_running_phases_are_spread_from_the_start),
        cmocka_unit_test(pulse_windows_are_all_of_one_length),
        cmocka_unit_test(staggered_windows_are_all_of_one_length),
        cmocka_unit_test(samples_with_trace_hold_a_window_behind_an_a_sync),
        cmocka_unit_test(samples_are_given_up_for_the_overhead),
        cmocka_unit_test(throttling_is_predicted_by_the_kernels_rule),
        cmocka_unit_test(the_picture_shows_events_and_trace),
        cmocka_unit_test(cpu_lists_have_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
