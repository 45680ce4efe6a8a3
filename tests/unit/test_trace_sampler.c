/* A continuous trace and the samples that are cut from it: every instruction in exactly one, each
 * with the call stack that the trace shows. */
#include "coded_runs.h"
#include "unit.h"

#include "base/buf.h"
#include "decode/text_output.h"
#include "decode/trace_sampler.h"

#include <string.h>

enum { MAX = 8 };

struct sampler_case {
    uint64_t period;
    struct csp_run runs[MAX];
    uint32_t run_len;
    uint32_t told_later; /* of the runs, in a window that goes on from that of the others */
    struct csp_branch branches[MAX];
    const char
        *expected; /* as csp_text_stitched_sample writes it, without time, pid, tid and cpu */
};

static int write_sample(void *user, const struct csp_sample *sample)
{
    struct csp_buf line = {0};
    csp_text_stitched_sample(&line, sample);
    csp_buf_add_string(user, strstr(line.data, "native ") + strlen("native "));
    csp_buf_free(&line);
    return 0;
}

static void check(const struct sampler_case *c)
{
    struct csp_windows list = {0};
    add_coded_runs(&list, c->runs, c->run_len, c->branches);
    uint32_t told = c->run_len - c->told_later;
    csp_vec_push(&list.windows,
                 (struct csp_window){.run_len = told, .goes_on = c->told_later != 0});
    if (c->told_later)
        csp_vec_push(
            &list.windows,
            (struct csp_window){.run_first = told, .run_len = c->told_later, .continues = true});
    struct csp_trace_input input = {0};
    csp_vec_push(&input.sources, (struct csp_source){.cpu = 0});
    struct csp_chunk chunk = {0};
    struct csp_buf text = {0};
    struct csp_trace_sampler *sampler =
        csp_trace_sampler_create(&(struct csp_trace_sampler_options){
            .input = &input, .period = c->period, .sample = write_sample, .user = &text});
    assert_int_equal(csp_trace_sampler_windows(sampler, 0, &chunk, &list), 0);
    assert_string_equal(text.data, c->expected);
    csp_trace_sampler_destroy(sampler);
    csp_buf_free(&text);
    csp_vec_free(&input.sources);
    csp_windows_free(&list);
}

static void samples_carry_the_calls_that_led_there(void **state)
{
    (void)state;
    check(&(struct sampler_case){
        .period = 1000,
        .runs = {{.start = 0x100, .end = 0x304, .branch_len = 2, .how = CSP_RUN_TRACE_OFF}},
        .run_len = 1,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL}, {0x208, 0x300, CSP_BRANCH_INDIRECT_CALL}},
        .expected = "300 20c 114 | ..304 208>300 110>200 100..\n",
    });
}

static void a_period_of_three_instructions_cuts_every_third(void **state)
{
    (void)state;
    /* 100 104 108 | 10c(branch) 200 204 | 208 */
    check(&(struct sampler_case){
        .period = 3,
        .runs = {{.start = 0x100, .end = 0x20c, .branch_len = 1, .how = CSP_RUN_TRACE_OFF}},
        .run_len = 1,
        .branches = {{0x10c, 0x200, CSP_BRANCH_DIRECT}},
        .expected = "108 | ..10c 100..\n"
                    "204 | ..208 10c>200 10c..\n"
                    "208 | ..20c 208..\n",
    });
}

static void a_branch_that_is_the_last_instruction_of_a_sample_is_in_the_next_one(void **state)
{
    (void)state;
    check(&(struct sampler_case){
        .period = 2,
        .runs = {{.start = 0x100, .end = 0x208, .branch_len = 1, .how = CSP_RUN_TRACE_OFF}},
        .run_len = 1,
        .branches = {{0x104, 0x200, CSP_BRANCH_DIRECT}},
        .expected = "104 | ..108 100..\n"
                    "204 | ..208 104>200 0..\n",
    });
}

/* From a phone's capture: the callee lies just before its caller, where the sample began. */
static void a_branch_just_before_where_a_sample_began_leaves_its_beginning(void **state)
{
    (void)state;
    check(&(struct sampler_case){
        .period = 1000,
        .runs = {{.start = 0x108, .end = 0x110, .branch_len = 2, .how = CSP_RUN_TRACE_OFF}},
        .run_len = 1,
        .branches = {{0x108, 0x100, CSP_BRANCH_CALL}, {0x104, 0x10c, CSP_BRANCH_RETURN}},
        .expected = "10c | ..110 104>10c 108>100 108..\n",
    });
}

static const struct sampler_case a_system_call = {
    .period = 1000,
    .runs = {{.start = 0x100,
              .end = 0x208,
              .branch_len = 1,
              .how = CSP_RUN_EXCEPTION,
              .return_address = 0x208},
             {.start = 0x208, .end = 0x210, .how = CSP_RUN_TRACE_OFF}},
    .run_len = 2,
    .branches = {{0x110, 0x200, CSP_BRANCH_CALL}},
    .expected = "20c 114 | ..210 110>200 100..\n",
};

static void a_system_call_keeps_the_stack_and_the_history(void **state)
{
    (void)state;
    check(&a_system_call);
}

/* What came after the system call is in another window, because the first one had become too long.
 * The call stack is still known. */
static void a_window_that_goes_on_in_another_keeps_the_stack(void **state)
{
    (void)state;
    struct sampler_case in_two = a_system_call;
    in_two.told_later = 1;
    in_two.expected = "204 114 | ..208 110>200 100..\n"
                      "20c 114 | ..210 208..\n";
    check(&in_two);
}

/* The handler at 0x900 has a stack of its own; when it is left, the interrupted one goes on. */
static void a_signal_handler_begins_a_stack_and_gives_the_old_one_back(void **state)
{
    (void)state;
    check(&(struct sampler_case){
        .period = 1000,
        .runs = {{.start = 0x100,
                  .end = 0x208,
                  .branch_len = 1,
                  .how = CSP_RUN_EXCEPTION,
                  .return_address = 0x208},
                 {.start = 0x900, .end = 0x908, .how = CSP_RUN_EXCEPTION, .return_address = 0x908},
                 {.start = 0x208, .end = 0x210, .how = CSP_RUN_TRACE_OFF}},
        .run_len = 3,
        .branches = {{0x110, 0x200, CSP_BRANCH_CALL}},
        .expected = "204 114 | ..208 110>200 100..\n"
                    "904 | ..908 900..\n"
                    "20c 114 | ..210 208..\n",
    });
}

static void a_return_beyond_the_beginning_leaves_an_empty_stack(void **state)
{
    (void)state;
    check(&(struct sampler_case){
        .period = 1000,
        .runs = {{.start = 0x200, .end = 0x118, .branch_len = 1, .how = CSP_RUN_TRACE_OFF}},
        .run_len = 1,
        .branches = {{0x208, 0x114, CSP_BRANCH_RETURN}},
        .expected = "114 | ..118 208>114 200..\n",
    });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_carry_the_calls_that_led_there),
        cmocka_unit_test(a_period_of_three_instructions_cuts_every_third),
        cmocka_unit_test(a_branch_that_is_the_last_instruction_of_a_sample_is_in_the_next_one),
        cmocka_unit_test(a_branch_just_before_where_a_sample_began_leaves_its_beginning),
        cmocka_unit_test(a_system_call_keeps_the_stack_and_the_history),
        cmocka_unit_test(a_window_that_goes_on_in_another_keeps_the_stack),
        cmocka_unit_test(a_signal_handler_begins_a_stack_and_gives_the_old_one_back),
        cmocka_unit_test(a_return_beyond_the_beginning_leaves_an_empty_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
