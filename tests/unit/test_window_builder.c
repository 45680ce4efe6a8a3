/* How elements become runs and windows. Each test is a stream of elements and what it must give. */
#include "unit.h"

#include "decode/window_builder.h"

#include <string.h>

#define SYNC {.type = CSP_ELEMENT_SYNC}
#define ON(offset) {.type = CSP_ELEMENT_TRACE_ON, .a = (offset)}
#define CONTEXT(id) {.type = CSP_ELEMENT_CONTEXT, .a = (id)}
#define TIME(t) {.type = CSP_ELEMENT_TIMESTAMP, .a = (t)}
#define EXCEPTION(n, address)                                                                      \
    {.type = CSP_ELEMENT_EXCEPTION, .number = (n), .has_address = 1, .a = (address)}
#define NO_CODE(address) {.type = CSP_ELEMENT_NO_CODE, .a = (address)}
#define GAP(what) {.type = CSP_ELEMENT_##what}
/* A range that ends without a branch, and one that ends in a taken branch of a kind. */
#define FALL(from, to)                                                                             \
    {.type = CSP_ELEMENT_RANGE,                                                                    \
     .a = (from),                                                                                  \
     .b = (to),                                                                                    \
     .last_size = 4,                                                                               \
     .instructions = ((to) - (from)) / 4}
#define JUMP(from, to, how)                                                                        \
    {.type = CSP_ELEMENT_RANGE,                                                                    \
     .a = (from),                                                                                  \
     .b = (to),                                                                                    \
     .last_size = 4,                                                                               \
     .instructions = ((to) - (from)) / 4,                                                          \
     .kind = CSP_BRANCH_##how,                                                                     \
     .taken = 1}

struct built {
    struct csp_window_builder builder;
    struct csp_windows windows;
};

static void build(struct built *built, const struct csp_element *elements, size_t count)
{
    memset(built, 0, sizeof *built);
    built->builder.out = &built->windows;
    built->builder.context_field = CSP_CONTEXT_ID;
    /* One by one: batches must not matter. */
    for (size_t i = 0; i < count; i++)
        csp_window_builder_add(&built->builder, &elements[i], 1);
    csp_window_builder_end(&built->builder, CSP_RUN_TRACE_OFF);
}

#define BUILD(built, ...)                                                                          \
    do {                                                                                           \
        static const struct csp_element elements_[] = {__VA_ARGS__};                               \
        build(&(built), elements_, sizeof elements_ / sizeof *elements_);                          \
    } while (0)

static void release(struct built *built)
{
    csp_vec_free(&built->windows.windows);
    csp_vec_free(&built->windows.runs);
    csp_vec_free(&built->windows.branches);
}

/* A branch of a run, of all runs by their number. */
static struct csp_branch branch_of(const struct csp_windows *windows, size_t run, uint32_t index)
{
    assert_true(run < windows->runs.len && index < windows->runs.data[run].branch_len);
    struct csp_branch_reader reader = csp_run_branches(windows, &windows->runs.data[run]);
    while (index--)
        csp_branch_decode(&reader);
    return csp_branch_decode(&reader);
}

/* Of the first run. */
static void expect_branch(const struct built *built, uint32_t index, uint64_t from, uint64_t to,
                          enum csp_branch_kind kind)
{
    const struct csp_branch branch = branch_of(&built->windows, 0, index);
    assert_int_equal(branch.from, from);
    assert_int_equal(branch.to, to);
    assert_int_equal(branch.kind, kind);
}

static void a_branch_is_from_the_last_instruction_to_the_next_range(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0x10), CONTEXT(7), JUMP(0x1000, 0x1010, CALL), FALL(0x2000, 0x2008),
          JUMP(0x2008, 0x200c, RETURN), FALL(0x1010, 0x1018));
    assert_int_equal(built.windows.windows.len, 1);
    assert_true(built.windows.windows.data[0].enabled);
    assert_int_equal(built.windows.windows.data[0].trace_offset, 0x10);
    assert_int_equal(built.windows.runs.len, 1);
    const struct csp_run *run = built.windows.runs.data;
    assert_int_equal(run->start, 0x1000);
    assert_int_equal(run->end, 0x1018);
    assert_int_equal(run->instructions, 4 + 2 + 1 + 2);
    assert_int_equal(run->ranges, 4);
    assert_int_equal(run->context_id, 7);
    assert_int_equal(run->how, CSP_RUN_TRACE_OFF);
    assert_int_equal(run->branch_len, 2);
    expect_branch(&built, 0, 0x100c, 0x2000, CSP_BRANCH_CALL);
    expect_branch(&built, 1, 0x2008, 0x1010, CSP_BRANCH_RETURN);
    release(&built);
}

static void only_a_trace_on_behind_a_sync_begins_a_window(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), FALL(0x10, 0x20), ON(40), FALL(0x20, 0x30), SYNC, ON(80),
          FALL(0x30, 0x40));
    assert_int_equal(built.windows.windows.len, 2);
    assert_int_equal(built.windows.windows.data[0].run_len, 2);
    assert_int_equal(built.windows.windows.data[1].run_first, 2);
    assert_int_equal(built.windows.windows.data[1].run_len, 1);
    assert_int_equal(built.windows.windows.data[1].trace_offset, 80);
    assert_int_equal(built.builder.stats.discontinuities, 3);
    release(&built);
}

static void an_enabling_without_execution_is_still_a_window(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), SYNC, ON(40), FALL(0x30, 0x40));
    assert_int_equal(built.windows.windows.len, 2);
    assert_int_equal(built.windows.windows.data[0].run_len, 0);
    assert_int_equal(built.windows.windows.data[1].run_len, 1);
    release(&built);
}

static void decoding_that_begins_in_the_middle_has_a_window_that_is_not_enabled(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, FALL(0x10, 0x20), JUMP(0x20, 0x24, DIRECT), FALL(0x40, 0x44));
    assert_int_equal(built.windows.windows.len, 1);
    assert_false(built.windows.windows.data[0].enabled);
    expect_branch(&built, 0, 0x20, 0x40, CSP_BRANCH_DIRECT);
    release(&built);
}

static void an_exception_ends_a_run_and_is_no_branch(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), CONTEXT(7), FALL(0x10, 0x20), EXCEPTION(2, 0x20), ON(40), CONTEXT(7),
          FALL(0x20, 0x30));
    assert_int_equal(built.windows.runs.len, 2);
    assert_int_equal(built.windows.runs.data[0].how, CSP_RUN_EXCEPTION);
    assert_int_equal(built.windows.runs.data[0].exception, 2);
    assert_int_equal(built.windows.runs.data[0].return_address, 0x20);
    assert_int_equal(built.windows.runs.data[1].start, 0x20);
    assert_int_equal(built.windows.branches.len, 0);
    release(&built);
}

static void an_exception_at_the_target_of_a_branch_tells_that_target(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), JUMP(0x10, 0x20, CONDITIONAL), EXCEPTION(14, 0x80), ON(40),
          FALL(0x80, 0x84));
    assert_int_equal(built.windows.runs.len, 2);
    assert_int_equal(built.windows.runs.data[0].branch_len, 1);
    assert_int_equal(built.windows.runs.data[0].end, 0x80);
    expect_branch(&built, 0, 0x1c, 0x80, CSP_BRANCH_CONDITIONAL);
    release(&built);
}

static void an_exception_before_the_first_instruction_is_an_empty_run(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), EXCEPTION(11, 0x40));
    assert_int_equal(built.windows.runs.len, 1);
    assert_int_equal(built.windows.runs.data[0].start, 0x40);
    assert_int_equal(built.windows.runs.data[0].end, 0x40);
    assert_int_equal(built.windows.runs.data[0].return_address, 0x40);
    assert_int_equal(built.windows.runs.data[0].instructions, 0);
    release(&built);
}

static void a_branch_before_a_gap_has_no_target(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), JUMP(0x10, 0x20, INDIRECT), ON(40), FALL(0x80, 0x84));
    assert_int_equal(built.windows.branches.len, 0);
    assert_int_equal(built.windows.runs.data[0].end, 0x20);
    assert_int_equal(built.windows.runs.data[0].how, CSP_RUN_TRACE_OFF);
    release(&built);
}

static void code_that_is_missing_ends_a_run_where_it_begins(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), JUMP(0x10, 0x20, CALL), NO_CODE(0x9000), NO_CODE(0x9100),
          FALL(0x20, 0x24), NO_CODE(0x24), EXCEPTION(2, 0x9200));
    assert_int_equal(built.windows.runs.len, 2);
    assert_int_equal(built.windows.runs.data[0].how, CSP_RUN_NO_CODE);
    assert_int_equal(built.windows.runs.data[0].end, 0x9000);
    expect_branch(&built, 0, 0x1c, 0x9000, CSP_BRANCH_CALL);
    assert_int_equal(built.windows.runs.data[1].start, 0x20);
    assert_int_equal(built.windows.runs.data[1].how, CSP_RUN_NO_CODE);
    /* Where the exception returns to is evidence even if the way there is not known. */
    assert_int_equal(built.windows.runs.data[1].return_address, 0x9200);
    assert_int_equal(built.builder.stats.unmapped_ranges, 3);
    release(&built);
}

static void after_lost_trace_nothing_belongs_to_the_same_window(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), FALL(0x10, 0x20), GAP(OVERFLOW), FALL(0x20, 0x30), GAP(BAD),
          FALL(0x30, 0x40));
    assert_int_equal(built.windows.windows.len, 3);
    assert_true(built.windows.windows.data[0].enabled);
    assert_false(built.windows.windows.data[1].enabled);
    assert_int_equal(built.windows.runs.data[0].how, CSP_RUN_OVERFLOW);
    assert_int_equal(built.windows.runs.data[1].how, CSP_RUN_BAD);
    assert_int_equal(built.builder.stats.overflows, 1);
    release(&built);
}

static void another_thread_is_another_run(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), CONTEXT(7), JUMP(0x10, 0x20, DIRECT), CONTEXT(8), FALL(0x40, 0x44),
          CONTEXT(8), FALL(0x44, 0x48));
    assert_int_equal(built.windows.runs.len, 2);
    assert_int_equal(built.windows.runs.data[0].context_id, 7);
    assert_int_equal(built.windows.runs.data[1].context_id, 8);
    assert_int_equal(built.windows.runs.data[1].ranges, 2); /* the same context again is no gap */
    assert_int_equal(built.windows.branches.len, 0);
    release(&built);
}

static void a_timestamp_is_of_what_came_before_it(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), TIME(100), FALL(0x10, 0x20), TIME(110), FALL(0x20, 0x30),
          EXCEPTION(2, 0x30), TIME(120), TIME(130), ON(40), FALL(0x30, 0x34), SYNC, ON(80),
          FALL(0x40, 0x44), TIME(200));
    const struct csp_run *runs = built.windows.runs.data;
    assert_int_equal(runs[0].first_ts, 100);
    assert_int_equal(runs[0].last_ts, 120);
    assert_int_equal(runs[1].first_ts, 130);
    assert_int_equal(runs[1].last_ts, 0); /* that of the next window says nothing of this one */
    assert_int_equal(runs[2].first_ts, 0);
    assert_int_equal(runs[2].last_ts, 200);
    release(&built);
}

static void ranges_that_do_not_follow_each_other_are_not_joined(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), FALL(0x10, 0x20), FALL(0x50, 0x60));
    assert_int_equal(built.windows.runs.len, 2);
    assert_int_equal(built.windows.branches.len, 0);
    release(&built);
}

/* To a library and the kernel, after more code in a row than a code tells of, and back. */
static void branches_may_lead_far_away(void **state)
{
    (void)state;
    static const struct csp_element elements[] = {
        SYNC,
        ON(0),
        JUMP(0x555500001000, 0x555500001010, CALL),
        FALL(0x555500002000, 0x555503002000),
        JUMP(0x555503002000, 0x555503002008, INDIRECT),
        JUMP(0x7fff80000000, 0x7fff80000010, RETURN),
        JUMP(0x555503002008, 0x555503002010, INDIRECT_CALL),
        JUMP(0xffff800000000000, 0xffff800000000004, DIRECT),
        JUMP(0xffff7fff00000000, 0xffff7fff00000004, EXCEPTION_RETURN),
        FALL(0x10, 0x20),
    };
    static const struct csp_branch expected[] = {
        {0x55550000100c, 0x555500002000, CSP_BRANCH_CALL},
        {0x555503002004, 0x7fff80000000, CSP_BRANCH_INDIRECT},
        {0x7fff8000000c, 0x555503002008, CSP_BRANCH_RETURN},
        {0x55550300200c, 0xffff800000000000, CSP_BRANCH_INDIRECT_CALL},
        {0xffff800000000000, 0xffff7fff00000000, CSP_BRANCH_DIRECT},
        {0xffff7fff00000000, 0x10, CSP_BRANCH_EXCEPTION_RETURN},
    };
    size_t count = sizeof elements / sizeof *elements;
    for (size_t step = 1; step <= count; step += count - 1) {
        struct built built = {0};
        built.builder.out = &built.windows;
        for (size_t i = 0; i < count; i += step)
            csp_window_builder_add(&built.builder, elements + i, step);
        assert_int_equal(built.windows.runs.data[0].branch_len, 6);
        for (uint32_t i = 0; i < 6; i++)
            expect_branch(&built, i, expected[i].from, expected[i].to, expected[i].kind);
        release(&built);
    }
}

static void untraced_contexts_are_the_recorded_thread(void **state)
{
    (void)state;
    static const struct csp_element elements[] = {SYNC, ON(0), CONTEXT(0), FALL(0x10, 0x20)};
    struct csp_windows windows = {0};
    struct csp_window_builder builder = {
        .out = &windows, .context_field = CSP_CONTEXT_NONE, .untraced_context = 42};
    csp_window_builder_add(&builder, elements, sizeof elements / sizeof *elements);
    csp_window_builder_end(&builder, CSP_RUN_TRUNCATED);
    assert_int_equal(windows.runs.data[0].context_id, 42);
    assert_int_equal(windows.runs.data[0].how, CSP_RUN_TRUNCATED);
    csp_vec_free(&windows.windows);
    csp_vec_free(&windows.runs);
    csp_vec_free(&windows.branches);
}

static void what_lost_its_end_is_cut(void **state)
{
    (void)state;
    struct built built;
    BUILD(built, SYNC, ON(0), FALL(0x10, 0x20), EXCEPTION(14, 0x20), SYNC, ON(80), FALL(0x30, 0x40),
          GAP(OVERFLOW), SYNC, ON(160), FALL(0x50, 0x60));
    assert_int_equal(built.windows.windows.len, 3);
    assert_false(built.windows.windows.data[0].cut);
    assert_true(built.windows.windows.data[1].cut);
    assert_false(built.windows.windows.data[2].cut);
    release(&built);
}

/* One window in front, one that goes on in the next chunk. */
static void a_window_is_kept_until_it_is_complete(void **state)
{
    (void)state;
    static const struct csp_element first[] = {
        SYNC, ON(0),  JUMP(0x10, 0x20, CALL),  FALL(0x80, 0x90), EXCEPTION(14, 0x90),
        SYNC, ON(64), JUMP(0x30, 0x40, DIRECT)};
    static const struct csp_element second[] = {FALL(0x60, 0x70), EXCEPTION(14, 0x70), TIME(7)};
    struct csp_windows windows = {0};
    struct csp_window_builder builder = {.out = &windows, .context_field = CSP_CONTEXT_ID};
    csp_window_builder_add(&builder, first, sizeof first / sizeof *first);
    csp_window_builder_carry(&builder);
    assert_int_equal(csp_window_builder_complete(&builder), 1);
    assert_int_equal(branch_of(&windows, 0, 0).to, 0x80);
    assert_false(windows.windows.data[0].carried);

    csp_window_builder_add(&builder, second, sizeof second / sizeof *second);
    csp_window_builder_end(&builder, CSP_RUN_TRACE_OFF);
    assert_int_equal(csp_window_builder_complete(&builder), 2);
    assert_true(windows.windows.data[1].carried);
    const struct csp_run *run = &windows.runs.data[windows.windows.data[1].run_first];
    assert_int_equal(run->start, 0x30);
    assert_int_equal(run->end, 0x70);
    assert_int_equal(run->last_ts, 7);
    assert_int_equal(branch_of(&windows, 1, 0).from, 0x3c);
    assert_int_equal(branch_of(&windows, 1, 0).to, 0x60);
    csp_window_builder_clear(&builder);
    assert_int_equal(windows.runs.len, 0);
    csp_windows_free(&windows);
}

/* A part of the trace is handed over; what is not complete goes on in the next part's list. */
static void an_incomplete_window_moves_to_another_list(void **state)
{
    (void)state;
    static const struct csp_element first[] = {
        SYNC,   ON(0),   JUMP(0x10, 0x20, CALL),   FALL(0x80, 0x90), EXCEPTION(14, 0x90),
        SYNC,   ON(64),  JUMP(0x30, 0x40, DIRECT), FALL(0x60, 0x70), EXCEPTION(2, 0x70),
        ON(80), TIME(5), JUMP(0x70, 0x80, CALL)};
    static const struct csp_element second[] = {FALL(0xa0, 0xb0), EXCEPTION(14, 0xb0), TIME(7)};
    struct csp_windows windows = {0}, next = {0};
    struct csp_window_builder builder = {.out = &windows, .context_field = CSP_CONTEXT_ID};
    csp_window_builder_add(&builder, first, sizeof first / sizeof *first);
    assert_int_equal(csp_window_builder_complete(&builder), 1);
    csp_window_builder_move(&builder, &next);
    assert_int_equal(csp_window_builder_complete(&builder), 0);
    csp_window_builder_add(&builder, second, sizeof second / sizeof *second);
    csp_window_builder_end(&builder, CSP_RUN_TRACE_OFF);
    assert_int_equal(csp_window_builder_complete(&builder), 1);
    assert_int_equal(next.windows.data[0].run_len, 2);
    assert_int_equal(next.windows.data[0].trace_offset, 64);
    assert_false(next.windows.data[0].carried);
    assert_int_equal(next.runs.data[0].last_ts, 5);
    assert_int_equal(next.runs.data[1].last_ts, 7);
    assert_int_equal(branch_of(&next, 0, 0).from, 0x3c);
    assert_int_equal(branch_of(&next, 1, 0).from, 0x7c);
    assert_int_equal(branch_of(&next, 1, 0).to, 0xa0);

    csp_windows_free(&windows);
    windows = (struct csp_windows){0};
    csp_window_builder_move(&builder, &windows); /* nothing is left to move */
    assert_int_equal(windows.windows.len, 0);
    csp_windows_free(&next);
}

/* Jumps from 0x1000 to itself, so many times. */
static void add_loops(struct csp_window_builder *builder, uint64_t count)
{
    static const struct csp_element jump = JUMP(0x1000, 0x1004, DIRECT);
    struct csp_element jumps[256];
    for (unsigned i = 0; i < 256; i++)
        jumps[i] = jump;
    for (uint64_t added = 0; added < count; added += 256)
        csp_window_builder_add(builder, jumps, 256);
}

static void a_long_window_goes_on_as_another_at_its_next_run(void **state)
{
    (void)state;
    static const struct csp_element before[] = {SYNC, ON(8), TIME(3)},
                                    between[] = {EXCEPTION(2, 0x1000), ON(40)},
                                    after[] = {FALL(0x1000, 0x1010), EXCEPTION(14, 0x1010)};
    struct csp_windows windows = {0};
    struct csp_window_builder builder = {.out = &windows};
    csp_window_builder_add(&builder, before, sizeof before / sizeof *before);
    add_loops(&builder, CSP_WINDOW_BRANCHES_MAX);
    csp_window_builder_add(&builder, between, sizeof between / sizeof *between);
    assert_int_equal(csp_window_builder_complete(&builder), 0);
    csp_window_builder_add(&builder, after, sizeof after / sizeof *after);
    assert_int_equal(csp_window_builder_complete(&builder), 1);
    csp_window_builder_end(&builder, CSP_RUN_TRACE_OFF);

    const struct csp_window *window = windows.windows.data;
    assert_int_equal(windows.windows.len, 2);
    assert_true(window[0].enabled && window[0].goes_on && !window[0].continues);
    assert_true(!window[1].enabled && !window[1].goes_on && window[1].continues);
    assert_int_equal(windows.runs.data[0].branch_len, CSP_WINDOW_BRANCHES_MAX);
    assert_int_equal(windows.runs.data[1].first_ts, 3);
    assert_int_equal(windows.runs.data[1].return_address, 0x1010);
    csp_windows_free(&windows);
}

static void a_run_without_end_goes_on_as_another(void **state)
{
    (void)state;
    static const struct csp_element before[] = {SYNC, ON(8)}, after[] = {FALL(0x1000, 0x1010)};
    struct csp_windows windows = {0};
    struct csp_window_builder builder = {.out = &windows, .sums_up = true};
    csp_window_builder_add(&builder, before, sizeof before / sizeof *before);
    add_loops(&builder, CSP_RUN_BRANCHES_MAX + 1024);
    csp_window_builder_add(&builder, after, sizeof after / sizeof *after);
    csp_window_builder_end(&builder, CSP_RUN_TRACE_OFF);

    const struct csp_run *run = windows.runs.data;
    assert_int_equal(windows.windows.len, 2);
    assert_true(windows.windows.data[0].goes_on && windows.windows.data[1].continues);
    assert_int_equal(run[0].branch_len + run[1].branch_len, builder.stats.branches);
    assert_int_equal(run[0].ranges + run[1].ranges, builder.stats.ranges);
    assert_int_equal(run[0].end, 0x1000);
    assert_int_equal(run[1].start, 0x1000);
    assert_int_equal(run[1].end, 0x1010);
    csp_windows_free(&windows);
}

/* The first window goes on behind the place, as far as is known; the second's enabling was before
 * it, but told with what ran behind it. The third began behind it. */
static void windows_on_both_sides_of_a_doubtful_place_may_be_two(void **state)
{
    (void)state;
    static const struct csp_element before[] = {SYNC, ON(0), FALL(0x10, 0x20)};
    static const struct csp_element behind[] = {
        EXCEPTION(14, 0x20), SYNC, ON(48),  FALL(0x20, 0x30),
        EXCEPTION(14, 0x30), SYNC, ON(128), FALL(0x30, 0x40)};
    struct csp_windows windows = {0};
    struct csp_window_builder builder = {.out = &windows, .context_field = CSP_CONTEXT_ID};
    csp_window_builder_add(&builder, before, sizeof before / sizeof *before);
    csp_window_builder_doubt(&builder, 64);
    csp_window_builder_add(&builder, behind, sizeof behind / sizeof *behind);
    assert_int_equal(windows.windows.len, 3);
    assert_true(windows.windows.data[0].unsure);
    assert_true(windows.windows.data[1].unsure);
    assert_false(windows.windows.data[2].unsure);
    csp_windows_free(&windows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_is_from_the_last_instruction_to_the_next_range),
        cmocka_unit_test(only_a_trace_on_behind_a_sync_begins_a_window),
        cmocka_unit_test(an_enabling_without_execution_is_still_a_window),
        cmocka_unit_test(decoding_that_begins_in_the_middle_has_a_window_that_is_not_enabled),
        cmocka_unit_test(an_exception_ends_a_run_and_is_no_branch),
        cmocka_unit_test(an_exception_at_the_target_of_a_branch_tells_that_target),
        cmocka_unit_test(an_exception_before_the_first_instruction_is_an_empty_run),
        cmocka_unit_test(a_branch_before_a_gap_has_no_target),
        cmocka_unit_test(code_that_is_missing_ends_a_run_where_it_begins),
        cmocka_unit_test(after_lost_trace_nothing_belongs_to_the_same_window),
        cmocka_unit_test(another_thread_is_another_run),
        cmocka_unit_test(a_timestamp_is_of_what_came_before_it),
        cmocka_unit_test(ranges_that_do_not_follow_each_other_are_not_joined),
        cmocka_unit_test(branches_may_lead_far_away),
        cmocka_unit_test(untraced_contexts_are_the_recorded_thread),
        cmocka_unit_test(what_lost_its_end_is_cut),
        cmocka_unit_test(a_window_is_kept_until_it_is_complete),
        cmocka_unit_test(an_incomplete_window_moves_to_another_list),
        cmocka_unit_test(a_long_window_goes_on_as_another_at_its_next_run),
        cmocka_unit_test(a_run_without_end_goes_on_as_another),
        cmocka_unit_test(windows_on_both_sides_of_a_doubtful_place_may_be_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
