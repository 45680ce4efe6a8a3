/* Samples beside the ranges and contexts that unwinding them gives.
 *
 * The program: `outer` at 0x1000 calls `inner` (at 0x1100) from 0x1010 and again from 0x1020; both
 * are straight code of 4-byte instructions that ends in a return.
 */
#include "two_functions.h"
#include "unit.h"

#include "profgen/disjoint.h"
#include "profgen/recursion.h"
#include "profgen/sample_checks.h"
#include "profgen/unwind.h"

#include <string.h>

enum {
    OUTER = 0x1000,
    FIRST_CALL = 0x1010,
    SECOND_CALL = 0x1020,
    OUTER_RETURN = 0x1030,
    INNER = 0x1100,
    INNER_RETURN = 0x1110,
};

struct fixture {
    struct csp_program program;
    struct csp_sample_set set;
    struct csp_counters counters;
    struct csp_unwind_stats stats;
    struct csp_unwind_options options;
};

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){.program = {.uses_probes = true},
                         .options = {.compress_recursion = -1, .max_context_depth = -1},
                         .set = {.contexts = true}};
    add_two_functions(&f.program, OUTER, OUTER_RETURN, INNER, INNER_RETURN);
    csp_code_mark(&f.program.code, FIRST_CALL, CSP_CODE_CALL);
    csp_code_mark(&f.program.code, SECOND_CALL, CSP_CODE_CALL);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    csp_sample_set_free(&f->set);
    csp_counters_free(&f->counters);
    free_two_functions(&f->program);
    return 0;
}

/* Branches newest first, as pairs that end with a zero. */
static void add_sample(struct fixture *f, const uint64_t *callchain, uint32_t callchain_len,
                       const uint64_t *branches, uint64_t start, uint64_t end)
{
    struct csp_branch list[16];
    uint32_t count = 0;
    for (; branches[2 * count]; count++)
        list[count] = (struct csp_branch){branches[2 * count], branches[2 * count + 1], 0};
    const struct csp_sample sample = {.count = 1,
                                      .callchain = callchain,
                                      .callchain_len = callchain_len,
                                      .branches = list,
                                      .branch_len = count,
                                      .start = start,
                                      .end = end,
                                      .verdict = CSP_VERDICT_EXACT};
    csp_sample_set_add(&f->set, &f->program, &sample);
}

static void unwind(struct fixture *f)
{
    f->options.compat = f->set.compat;
    csp_unwind(&f->program, &f->set, &f->options, &f->counters, &f->stats);
}

static uint64_t counted(const struct fixture *f, const struct csp_counter_table *table,
                        uint64_t call, uint64_t from, uint64_t to)
{
    csp_calls calls = {0};
    uint64_t count = 0;
    for (size_t i = 0; i < table->counts.len; i++) {
        struct csp_counter counter = csp_counters_at(table, i);
        csp_counters_calls(&f->counters, counter.context, &calls);
        if (counter.from == from && counter.to == to && calls.len == (call != 0) &&
            (!call || calls.data[0] == call))
            count += counter.count;
    }
    csp_vec_free(&calls);
    return count;
}

/* How often [from, to] ran in the context of one call (0: of none). */
static uint64_t ran(const struct fixture *f, uint64_t call, uint64_t from, uint64_t to)
{
    return counted(f, &f->counters.ranges, call, from, to);
}

static const uint64_t in_inner[] = {INNER + 8, SECOND_CALL + 4};
/* outer calls inner, which returns, and calls it again */
static const uint64_t two_calls[] = {SECOND_CALL, INNER, INNER_RETURN, FIRST_CALL + 4, FIRST_CALL,
                                     INNER,       0};

static void ranges_have_the_context_they_ran_in(void **state)
{
    struct fixture *f = *state;
    add_sample(f, in_inner, 2, two_calls, 0, 0);
    unwind(f);
    assert_int_equal(ran(f, FIRST_CALL, INNER, INNER_RETURN), 1);
    assert_int_equal(ran(f, 0, FIRST_CALL + 4, SECOND_CALL), 1);
    assert_int_equal(f->stats.ranges_counted, 2);
    assert_int_equal(f->stats.partial_ranges, 0);
}

static void both_ends_of_a_window_count(void **state)
{
    struct fixture *f = *state;
    add_sample(f, in_inner, 2, two_calls, OUTER + 4, INNER + 8);
    unwind(f);
    assert_int_equal(ran(f, SECOND_CALL, INNER, INNER + 4), 1);
    assert_int_equal(ran(f, 0, OUTER + 4, FIRST_CALL), 1);
    assert_int_equal(f->stats.partial_ranges, 2);
}

static void llvm_profgen_drops_both_ends(void **state)
{
    struct fixture *f = *state;
    f->set.compat = true;
    add_sample(f, in_inner, 2, two_calls, OUTER + 4, INNER + 8);
    unwind(f);
    assert_int_equal(ran(f, SECOND_CALL, INNER, INNER + 4), 0);
    assert_int_equal(f->stats.partial_ranges, 0);
}

/* A function of another library is called, and comes back. */
static void a_call_out_of_the_binary_counts_where_it_was_made(void **state)
{
    struct fixture *f = *state;
    const uint64_t in_outer[] = {FIRST_CALL + 8};
    const uint64_t branches[] = {CSP_EXTERNAL, FIRST_CALL + 4, FIRST_CALL, CSP_EXTERNAL, 0};
    for (int compat = 0; compat <= 1; compat++) { /* llvm-profgen leaves it out */
        f->set.compat = compat;
        add_sample(f, in_outer, 1, branches, 0, 0);
        unwind(f);
        assert_int_equal(counted(f, &f->counters.branches, 0, FIRST_CALL, CSP_EXTERNAL), !compat);
        csp_sample_set_free(&f->set);
        csp_counters_free(&f->counters);
    }
}

static void a_window_without_branches_is_a_range(void **state)
{
    struct fixture *f = *state;
    const uint64_t none[] = {0};
    add_sample(f, in_inner, 2, none, INNER, INNER + 8);
    unwind(f);
    assert_int_equal(ran(f, SECOND_CALL, INNER, INNER + 4), 1);
}

/* What is counted once is asked about in the binary: the calls above are not. */
static void callers_that_no_context_has_are_no_frames(void **state)
{
    struct fixture *f = *state;
    enum { OF_ANOTHER_LIBRARY = 0x900000 };
    const uint64_t none[] = {0};
    const uint64_t called_back[] = {INNER + 8, SECOND_CALL + 4, OF_ANOTHER_LIBRARY, FIRST_CALL + 4};
    const uint64_t deep[] = {INNER + 8, SECOND_CALL + 4, FIRST_CALL + 4};
    add_sample(f, called_back, 4, none, INNER, INNER + 8);
    unwind(f);
    assert_int_equal(ran(f, SECOND_CALL, INNER, INNER + 4), 1);
    assert_int_equal(f->counters.frames.list.len, 1);
    csp_sample_set_free(&f->set);
    csp_counters_free(&f->counters);
    f->options.max_context_depth = 1;
    add_sample(f, deep, 3, none, INNER, INNER + 8);
    unwind(f);
    assert_int_equal(ran(f, SECOND_CALL, INNER, INNER + 4), 1);
    assert_int_equal(f->counters.frames.list.len, 1);
}

static void equal_samples_are_kept_once(void **state)
{
    struct fixture *f = *state;
    const uint64_t later[] = {INNER + 12, SECOND_CALL + 4};
    add_sample(f, in_inner, 2, two_calls, 0, 0);
    add_sample(f, later, 2, two_calls, 0, 0);
    unwind(f);
    assert_int_equal(f->set.counts.len, 1);
    assert_int_equal(ran(f, FIRST_CALL, INNER, INNER_RETURN), 2);
}

/* Adds a sample and tells which rules it breaks, as bits. */
static unsigned broken_by(struct fixture *f, const uint64_t *frames, uint32_t frame_len,
                          const uint64_t *branches)
{
    struct csp_sample_check_stats stats = {0};
    add_sample(f, frames, frame_len, branches, 0, 0);
    csp_sample_set_check(&f->set, &f->program, 0, 1, &stats);
    unsigned broken = 0;
    for (int rule = 0; rule < CSP_RULE_COUNT; rule++)
        broken |= stats.broken[rule] ? 1U << rule : 0;
    csp_sample_set_free(&f->set);
    return broken;
}

static void each_rule_is_broken_by_a_sample(void **state)
{
    struct fixture *f = *state;
    const uint64_t in_outer[] = {OUTER}, first[] = {INNER + 8, FIRST_CALL + 4};
    assert_int_equal(broken_by(f, in_inner, 2, two_calls), 0);
    assert_int_equal(broken_by(f, in_outer, 1, two_calls), 1 << CSP_RULE_LEAF);
    assert_int_equal(broken_by(f, first, 2, two_calls), 1 << CSP_RULE_STACK);
    const uint64_t over_a_call[] = {SECOND_CALL, INNER, FIRST_CALL, OUTER, 0};
    assert_int_equal(broken_by(f, in_inner, 2, over_a_call), 1 << CSP_RULE_FALL_THROUGH);
    const uint64_t no_branch[] = {SECOND_CALL, INNER, OUTER + 4, FIRST_CALL + 4, 0};
    assert_int_equal(broken_by(f, in_inner, 2, no_branch), 1 << CSP_RULE_BRANCH);
    const uint64_t no_call[] = {SECOND_CALL, INNER, INNER_RETURN, SECOND_CALL, 0};
    assert_int_equal(broken_by(f, in_inner, 2, no_call), 1 << CSP_RULE_RETURN);
    const uint64_t outside[] = {7};
    assert_int_equal(broken_by(f, outside, 1, two_calls), 1 << CSP_RULE_EXTERNAL);
    csp_code_mark(&f->program.code, INNER + 8, CSP_CODE_EDGE);
    assert_int_equal(broken_by(f, in_inner, 2, two_calls), 1 << CSP_RULE_PROLOGUE);
}

static void chosen_rules_reject_what_breaks_them(void **state)
{
    struct fixture *f = *state;
    struct csp_sample_check_stats stats = {0};
    unsigned rules;
    assert_true(csp_sample_rules_parse("return,leaf", &rules));
    assert_int_equal(rules, 1 << CSP_RULE_RETURN | 1 << CSP_RULE_LEAF);
    assert_true(csp_sample_rules_parse("none", &rules) && !rules);
    assert_false(csp_sample_rules_parse("leaf,", &rules));
    assert_true(csp_sample_rules_parse("leaf", &rules));
    add_sample(f, (const uint64_t[]){OUTER}, 1, two_calls, 0, 0);
    add_sample(f, in_inner, 2, two_calls, 0, 0);
    csp_sample_set_check(&f->set, &f->program, rules, 2, &stats);
    assert_int_equal(stats.checked, 2);
    assert_int_equal(stats.rejected, 1);
    assert_int_equal(f->set.stats.used, 1);
    unwind(f);
    assert_int_equal(f->stats.ranges_counted, 2);
}

static uint32_t callers_of(const struct fixture *f, size_t sample)
{
    uint32_t len;
    csp_flat_callers(&f->set, csp_sample_set_at(&f->set, sample), &len);
    return len;
}

/* The sample was taken in a library that `outer` called after the newest branch was recorded. */
static void a_call_out_of_the_binary_that_was_not_recorded_leaves_its_caller(void **state)
{
    struct fixture *f = *state;
    const uint64_t frames[] = {7, FIRST_CALL + 4};
    const uint64_t back_in_outer[] = {INNER_RETURN, FIRST_CALL + 4, FIRST_CALL, INNER, 0};
    add_sample(f, frames, 2, back_in_outer, 0, 0);
    unwind(f);
    assert_int_equal(callers_of(f, 0), 0);
    assert_int_equal(ran(f, FIRST_CALL, INNER, INNER_RETURN), 1);
}

static void the_history_restores_a_caller_that_the_callchain_lost(void **state)
{
    struct fixture *f = *state;
    const uint64_t leaf_only[] = {INNER + 8};
    add_sample(f, leaf_only, 1, two_calls, 0, INNER + 8);
    unwind(f);
    assert_int_equal(ran(f, SECOND_CALL, INNER, INNER + 4), 1);
    assert_int_equal(f->stats.restored_frames, 1);
}

static void a_range_over_a_return_ends_what_is_known_of_callers(void **state)
{
    struct fixture *f = *state;
    /* from inner's start beyond its return */
    const uint64_t bad[] = {SECOND_CALL, INNER, OUTER_RETURN, FIRST_CALL + 4, FIRST_CALL, OUTER, 0};
    add_sample(f, in_inner, 2, bad, 0, 0);
    unwind(f);
    assert_int_equal(f->stats.ranges_impossible, 1);
    assert_int_equal(f->stats.ranges, f->stats.ranges_counted + 1);
}

/* Branches that follow from each other, mostly: outer calls inner, which returns. */
static uint32_t random_history(unsigned *seed, struct csp_branch *newest_first, uint32_t most)
{
    static const struct csp_branch calls[] = {{FIRST_CALL, INNER, 0}, {SECOND_CALL, INNER, 0}};
    static const uint64_t odd[] = {OUTER, OUTER + 4, INNER + 8, FIRST_CALL, SECOND_CALL + 4, 7};
    uint32_t count = (uint32_t)rand_r(seed) % most;
    unsigned call = (unsigned)rand_r(seed);
    for (uint32_t i = 0; i < count; i++, call++) {
        const struct csp_branch *newer = &calls[call / 2 % 2];
        newest_first[i] = call % 2 ? (struct csp_branch){INNER_RETURN, newer->from + 4, 0} : *newer;
        if (rand_r(seed) % 16 == 0)
            newest_first[i].to = odd[(unsigned)rand_r(seed) % 6];
        if (rand_r(seed) % 32 == 0)
            newest_first[i].from = odd[(unsigned)rand_r(seed) % 6];
    }
    return count;
}

static void add_random_samples(struct fixture *f, unsigned number, struct csp_sample_set *set)
{
    static const uint64_t frames[] = {INNER + 8,      FIRST_CALL + 4, SECOND_CALL + 4,
                                      FIRST_CALL + 4, OUTER + 8,      7};
    struct csp_branch branches[12];
    unsigned seed = number;
    for (unsigned i = 0; i <= number % 8; i++) {
        uint32_t first = (uint32_t)rand_r(&seed) % 6;
        const struct csp_sample sample = {
            .count = 1 + (uint32_t)rand_r(&seed) % 3,
            .callchain = frames + first,
            .callchain_len = 1 + (uint32_t)rand_r(&seed) % (6 - first),
            .branches = branches,
            .branch_len = random_history(&seed, branches, 12),
            .start = rand_r(&seed) % 2 ? OUTER + 4 : 0,
            .end = INNER + 8,
            .verdict = CSP_VERDICT_EXACT,
        };
        csp_sample_set_add(set, &f->program, &sample);
    }
}

/* Each of the other table is one of the table; `contexts` are the other's numbers in the table's.
 */
static void expect_same_counters(const struct csp_counter_table *table,
                                 const struct csp_counter_table *other, const uint32_t *contexts)
{
    assert_int_equal(table->counts.len, other->counts.len);
    for (size_t i = 0; i < other->counts.len; i++) {
        const struct csp_counter wanted = csp_counters_at(other, i);
        uint64_t count = 0;
        for (size_t j = 0; j < table->counts.len; j++) {
            const struct csp_counter counter = csp_counters_at(table, j);
            if (counter.from == wanted.from && counter.to == wanted.to &&
                counter.context == contexts[wanted.context])
                count = counter.count;
        }
        assert_int_equal(count, wanted.count);
    }
}

static void samples_are_checked_and_unwound_in_one_walk_as_in_two(void **state)
{
    struct fixture *f = *state;
    uint64_t odd = 0, plain = 0;
    for (unsigned seed = 1; seed <= 2000; seed++) {
        unsigned rules = seed % 4 ? 0 : 1U << seed / 4 % CSP_RULE_COUNT;
        struct csp_sample_set one = {.contexts = true}, two = {.contexts = true};
        struct csp_counters one_counters = {0}, two_counters = {0};
        struct csp_unwind_stats one_stats = {0}, two_stats = {0};
        struct csp_sample_check_stats one_checks = {0}, two_checks = {0};
        f->options.flat = seed % 5 == 0;
        one.contexts = two.contexts = !f->options.flat;
        unsigned batches = seed % 3 ? 1 : 3;
        for (unsigned batch = 0; batch < batches; batch++)
            add_random_samples(f, seed + batch, &two);
        csp_sample_set_check(&two, &f->program, rules, 1, &two_checks);
        csp_unwind(&f->program, &two, &f->options, &two_counters, &two_stats);

        struct csp_sample_checker *checker = csp_sample_checker_begin(&one, &f->program, rules);
        struct csp_unwinding *unwinding =
            csp_unwinding_begin(&f->program, &one, &f->options, &one_counters);
        for (unsigned batch = 0; batch < batches; batch++) {
            csp_sample_set_clear(&one);
            add_random_samples(f, seed + batch, &one);
            csp_sample_checker_learn(checker);
            csp_unwinding_samples(unwinding, checker);
        }
        csp_sample_checker_end(checker, &one_checks);
        csp_unwinding_end(&unwinding, 1, &one_stats);

        assert_memory_equal(&one_checks, &two_checks, sizeof one_checks);
        assert_memory_equal(&one_stats, &two_stats, sizeof one_stats);
        assert_int_equal(one.stats.used, two.stats.used);
        size_t contexts_len = one_counters.contexts.len;
        uint32_t *contexts = csp_counters_merge_contexts(&one_counters, &two_counters);
        assert_int_equal(one_counters.contexts.len, contexts_len);
        expect_same_counters(&one_counters.ranges, &two_counters.ranges, contexts);
        expect_same_counters(&one_counters.branches, &two_counters.branches, contexts);
        free(contexts);
        bool any_odd = one_checks.broken[CSP_RULE_STACK] || one_stats.restored_frames ||
                       one_stats.ranges_impossible;
        odd += any_odd;
        plain += !any_odd;
        csp_sample_set_free(&one);
        csp_sample_set_free(&two);
        csp_counters_free(&one_counters);
        csp_counters_free(&two_counters);
    }
    assert_true(odd > 100 && plain > 100);
}

static void recursion_keeps_one_of_adjacent_repetitions(void **state)
{
    (void)state;
    uint64_t one[] = {1, 1, 1, 2};
    assert_int_equal(csp_recursion_compress(one, 4, -1), 2);
    assert_int_equal(one[1], 2);
    uint64_t two[] = {1, 2, 1, 2, 3, 1, 2};
    assert_int_equal(csp_recursion_compress(two, 7, -1), 5);
    uint64_t limited[] = {1, 2, 1, 2};
    assert_int_equal(csp_recursion_compress(limited, 4, 1), 4);
    uint64_t off[] = {1, 1};
    assert_int_equal(csp_recursion_compress(off, 2, 0), 2);
}

static void only_what_repeats_is_compressed(void **state)
{
    (void)state;
    struct csp_repeats repeats = {0};
    uint64_t calls[12], compressed[12], random = 1;
    for (int round = 0; round < 20000; round++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t count = 1 + (random >> 40) % 12, changed = (random >> 50) % count;
        for (size_t i = changed; i < 12; i++)
            calls[i] = (random >> (3 * i)) & 3;
        memcpy(compressed, calls, sizeof calls);
        bool any = csp_repeats_any(&repeats, calls, count);
        assert_int_equal(any, csp_recursion_compress(compressed, count, -1) < count);
    }
    csp_repeats_free(&repeats);
}

static void overlapping_ranges_are_cut_where_counts_change(void **state)
{
    (void)state;
    const struct csp_counter ranges[] = {
        {10, 20, 100, 0, 0}, {10, 30, 200, 0, 0}, {40, 50, 5, 0, 0}, {0, 60, 0, 0, 0}};
    const struct csp_span expected[] = {{0, 9, 0},   {10, 20, 300}, {21, 30, 200},
                                        {31, 39, 0}, {40, 50, 5},   {51, 60, 0}};
    struct csp_spans spans = {0};
    csp_disjoint(ranges, 4, &spans);
    assert_int_equal(spans.spans.len, 6);
    assert_memory_equal(spans.spans.data, expected, sizeof expected);
    csp_spans_free(&spans);
}

int main(void)
{
#define WITH_PROGRAM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_PROGRAM(ranges_have_the_context_they_ran_in),
        WITH_PROGRAM(both_ends_of_a_window_count),
        WITH_PROGRAM(llvm_profgen_drops_both_ends),
        WITH_PROGRAM(a_call_out_of_the_binary_counts_where_it_was_made),
        WITH_PROGRAM(a_window_without_branches_is_a_range),
        WITH_PROGRAM(callers_that_no_context_has_are_no_frames),
        WITH_PROGRAM(equal_samples_are_kept_once),
        WITH_PROGRAM(each_rule_is_broken_by_a_sample),
        WITH_PROGRAM(chosen_rules_reject_what_breaks_them),
        WITH_PROGRAM(a_call_out_of_the_binary_that_was_not_recorded_leaves_its_caller),
        WITH_PROGRAM(the_history_restores_a_caller_that_the_callchain_lost),
        WITH_PROGRAM(a_range_over_a_return_ends_what_is_known_of_callers),
        WITH_PROGRAM(samples_are_checked_and_unwound_in_one_walk_as_in_two),
        cmocka_unit_test(recursion_keeps_one_of_adjacent_repetitions),
        cmocka_unit_test(only_what_repeats_is_compressed),
        cmocka_unit_test(overlapping_ranges_are_cut_where_counts_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
