/* Texts as perf script prints them beside the samples that are in them.
 *
 * The program: `outer` at 0x401000 calls `inner` (at 0x401100) from 0x401010; both are straight
 * code of 4-byte instructions that ends in a return.
 */
#include "two_functions.h"
#include "unit.h"

#include "profgen/perf_script.h"

#include <string.h>
#include <unistd.h>

enum {
    OUTER = 0x401000,
    CALL = 0x401010,
    OUTER_RETURN = 0x401030,
    INNER = 0x401100,
    INNER_RETURN = 0x401110,
};

struct fixture {
    struct csp_program program;
    struct csp_sample_set set;
    struct csp_perf_script_stats stats;
};

static int setup(void **state)
{
    static char name[] = "app";
    static struct fixture f;
    f = (struct fixture){.program = {.name = name}, .set = {.contexts = true}};
    add_two_functions(&f.program, OUTER, OUTER_RETURN, INNER, INNER_RETURN);
    csp_vec_push(&f.program.segments, (struct csp_program_segment){.address = 0x401000,
                                                                   .offset = 0x1000,
                                                                   .file_size = 0x1000,
                                                                   .executable = true});
    csp_code_mark(&f.program.code, CALL, CSP_CODE_CALL);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    csp_sample_set_free(&f->set);
    free_two_functions(&f->program);
    return 0;
}

static void read_text(struct fixture *f, const char *text)
{
    char path[] = "/tmp/csprof-perf-script-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct csp_input input;
    struct csp_address_map map = {.program = &f->program};
    assert_int_equal(csp_input_open(&input, path, NULL), 0);
    struct csp_sample_set *set = &f->set;
    const struct csp_script_sets sets = {&set, 1};
    assert_int_equal(csp_perf_script_read(&input, &map, sets, 1, &f->stats, NULL), 0);
    csp_input_close(&input);
    csp_address_map_free(&map);
    unlink(path);
}

/* How often each distinct sample was seen, in the order that they were first. */
static void expect_counts(const struct fixture *f, size_t distinct, const uint64_t *counts)
{
    assert_int_equal(f->set.counts.len, distinct);
    for (size_t i = 0; i < distinct; i++)
        assert_int_equal(f->set.counts.data[i], counts[i]);
}
#define EXPECT_COUNTS(f, ...)                                                                      \
    expect_counts(f, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                         \
                  (const uint64_t[]){__VA_ARGS__})

#define IN_INNER " 401014\n 0x401010/0x401100/P/-/-/0 0x401110/0x401014/P/-/-/0 \n\n"

static void samples_taken_elsewhere_in_a_function_are_the_same(void **state)
{
    struct fixture *f = *state;
    read_text(f, " 401104\n" IN_INNER " 401108\n" IN_INNER /* the same */
                 " 401020\n" IN_INNER   /* in another function than the newest branch leads to */
                 " 501020\n" IN_INNER   /* outside of the binary */
                 " 40110c\n" IN_INNER); /* the first one again */
    EXPECT_COUNTS(f, 3, 1, 1);
    assert_int_equal(f->set.samples.entries.len, 3);
    assert_int_equal(csp_sample_set_at(&f->set, 0)->leaf, 0);
    assert_int_equal(csp_sample_set_at(&f->set, 1)->leaf, CSP_LEAF_ELSEWHERE);
    assert_int_equal(csp_sample_set_at(&f->set, 2)->leaf, CSP_LEAF_OUTSIDE);
}

static void every_sample_counts_its_branches(void **state)
{
    struct fixture *f = *state;
    static const char one[] =
        " 401104\n 401014\n"
        " 0x401010/0x401100/P/-/-/0 0x401014/0x401010/P/-/-/0 0x900000/0x900004/P/-/-/0\n\n";
    char text[4 * sizeof one] = "";
    for (int i = 0; i < 4; i++)
        strcat(text, one);
    read_text(f, text);
    EXPECT_COUNTS(f, 4);
    assert_int_equal(f->set.stats.samples, 4);
    assert_int_equal(f->set.stats.branches, 8);
    assert_int_equal(f->set.stats.impossible_branches, 4); /* no branch instruction at 0x401014 */
    assert_int_equal(f->set.stats.external_branches, 4);
}

static void samples_that_cannot_be_used_are_counted_each_time(void **state)
{
    struct fixture *f = *state;
    read_text(f, " 401104\n 0x900000/0x900004/P/-/-/0\n\n"
                 " 401104\n 0x900000/0x900004/P/-/-/0\n\n"
                 " 0x401010/0x401100/P/-/-/0\n\n"
                 " 0x401010/0x401100/P/-/-/0\n\n"
                 " 401104\n\n"
                 " 401104\n\n");
    EXPECT_COUNTS(f);
    assert_int_equal(f->set.stats.samples, 6);
    assert_int_equal(f->set.stats.rejected[CSP_REJECT_EXTERNAL], 2);
    assert_int_equal(f->set.stats.rejected[CSP_REJECT_NO_CALLCHAIN], 2);
    assert_int_equal(f->set.stats.rejected[CSP_REJECT_NO_BRANCHES], 2);
}

/* What a line looks like otherwise makes no difference. */
static void forms_of_a_sample(void **state)
{
    struct fixture *f = *state;
    read_text(f, " 401104\n" IN_INNER
                 "\t401104\n\t  401014\n 0x401010/0x401100/P/- 0x401110/0x401014\n"
                 " 401104\n 401014\n 0x401010/0x401100/M/-/-/17\t0x401110/0x401014//  \n"
                 " 401104\r\n 401014\r\n 0x401010/0x401100/P/-/-/0 0x401110/0x401014/P/-/-/0\r\n"
                 " 000401104\n 401014\n 0x00401010/0x0000000000401100/P 0x401110/0x401014/P\n"
                 "2\n 401104\n" IN_INNER /* twice */
                 " 401104 inner+0x4 (/app)\n 401014 outer+0x14 (/app)"
                 "\n 0x401010/0x401100/P/-/-/0 0x401110/0x401014/P/-/-/0 \n\n"
                 " 401104\n" IN_INNER);
    EXPECT_COUNTS(f, 9);
    assert_int_equal(f->stats.bad_branches, 0);
    assert_int_equal(f->stats.other_lines, 0);
}

static void what_is_behind_a_malformed_branch_is_not_used_each_time(void **state)
{
    struct fixture *f = *state;
    read_text(f, " 401104\n 401014\n 0x401010/0x401100/P/-/-/0 ? 0x401110/0x401014/P/-/-/0 \n\n"
                 " 401104\n 401014\n 0x401010/0x401100/P/-/-/0 ? 0x401110/0x401014/P/-/-/0 \n\n"
                 " 401104\n 401014\n 0x401010/0x401100/P/-/-/0 \n\n");
    EXPECT_COUNTS(f, 3);
    assert_int_equal(f->stats.bad_branches, 2);
}

/* A text in which the same addresses are not the same code. */
static void a_mapping_forgets_what_samples_looked_like(void **state)
{
    struct fixture *f = *state;
#define AT(START) "PERF_RECORD_MMAP2 1/1: [0x" START "(0x1000) @ 0x1000 00:1d 5 7]: r-xp /app\n"
    read_text(
        f,
        AT("401000") " 401104\n" IN_INNER " 401104\n" IN_INNER AT(
            "400000") " 400104\n 400014\n" /* the same, a page lower */
                      " 0x400010/0x400100/P/-/-/0 "
                      "0x400110/0x400014/P/-/-/0 \n\n" AT(
                          "402000") " 401104\n" IN_INNER    /* the first one is still there */
                          AT("401010") " 401114\n 401024\n" /* hidden by another one */
                                       " 0x401020/0x401110/P/-/-/0 0x401120/0x401024/P/-/-/0 \n\n");
    EXPECT_COUNTS(f, 5);
    assert_int_equal(f->stats.mappings, 4);
}

int main(void)
{
#define WITH_PROGRAM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_PROGRAM(samples_taken_elsewhere_in_a_function_are_the_same),
        WITH_PROGRAM(every_sample_counts_its_branches),
        WITH_PROGRAM(samples_that_cannot_be_used_are_counted_each_time),
        WITH_PROGRAM(forms_of_a_sample),
        WITH_PROGRAM(what_is_behind_a_malformed_branch_is_not_used_each_time),
        WITH_PROGRAM(a_mapping_forgets_what_samples_looked_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
