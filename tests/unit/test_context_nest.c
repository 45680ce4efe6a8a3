/* Profiles by context beside what nesting makes of them, as libLLVM writes both. */
#include "unit.h"

#include "profgen/llvm/profile_contexts.h"
#include "profgen/read_contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct csp_profile *read_text(const char *text)
{
    char path[] = "/tmp/csprof-nest-XXXXXX";
    struct csp_profile *profile;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    assert_int_equal(csp_profile_read(&profile, path, NULL), 0);
    unlink(path);
    return profile;
}

static struct csp_profile *nest(const char *contexts, struct csp_intern *names, unsigned threads)
{
    struct csp_context_tree tree = {0};
    struct csp_guids guids = {.names = names};
    struct csp_profile *profile = read_text(contexts);
    struct csp_profile_data kind = csp_profile_kind(profile);
    kind.nested = true;
    csp_contexts_read(&tree, names, profile);
    csp_profile_free(profile);
    profile = csp_context_profile(&tree, &guids, &kind, false, threads);
    csp_guids_free(&guids);
    csp_context_free(&tree);
    return profile;
}

static void becomes(const char *contexts, const char *expected)
{
    const struct csp_profile_options options = {.format = CSP_PROFILE_TEXT, .nested = true};
    struct csp_intern names = {0};
    struct csp_buf text = {0};
    struct csp_profile_result result = {0};
    struct csp_profile *profile = nest(contexts, &names, 2);
    assert_int_equal(csp_profile_finish(profile, &options, &text, &result, NULL), 0);
    csp_buf_add(&text, "", 1);
    assert_string_equal(text.data, expected);
    csp_profile_free(profile);
    csp_buf_free(&text);
    csp_intern_free(&names);
}

/* The call is no longer a count of main's. */
static void a_context_becomes_part_of_its_caller(void **state)
{
    (void)state;
    becomes("[main]:30:1\n"
            " 1: 20\n"
            " 2: 10 f:10\n"
            "[main:2 @ f]:50:10\n"
            " 1: 50\n",

            "main:70:1\n"
            " 1: 20\n"
            " 2: f:50\n"
            "  1: 50\n");
}

static void calls_to_others_stay(void **state)
{
    (void)state;
    becomes("[main]:30:1\n"
            " 2: 30 f:10 g:20\n"
            "[main:2 @ f]:50:10\n"
            " 1: 50\n",

            "main:70:1\n"
            " 2: 20 g:20\n"
            " 2: f:50\n"
            "  1: 50\n");
}

/* As much as there is goes; and with it what else is known of the callsite. */
static void more_calls_than_were_counted(void **state)
{
    (void)state;
    becomes("[main]:30:1\n"
            " 1: 20\n"
            " 2: 10 f:15 g:20\n"
            "[main:2 @ f]:50:10\n"
            " 1: 50\n",

            "main:70:1\n"
            " 1: 20\n"
            " 2: f:50\n"
            "  1: 50\n");
}

static void a_callsite_that_is_known_to_be_cold(void **state)
{
    (void)state;
    becomes("[main]:20:1\n"
            " 1: 20\n"
            " 2: 0\n"
            " 3: 0\n"
            "[main:2 @ f]:50:10\n"
            " 1: 50\n",

            "main:70:1\n"
            " 1: 20\n"
            " 3: 0\n"
            " 2: f:50\n"
            "  1: 50\n");
}

static void discriminators_tell_callsites_apart(void **state)
{
    (void)state;
    becomes("[main]:20:1\n"
            " 2.1: 10 f:10\n"
            " 2.3: 10 f:10\n"
            "[main:2.3 @ f]:50:10\n"
            " 1: 50\n",

            "main:60:1\n"
            " 2.1: 10 f:10\n"
            " 2.3: f:50\n"
            "  1: 50\n");
}

static void several_levels(void **state)
{
    (void)state;
    becomes("[main]:10:1\n"
            " 2: 10 f:10\n"
            "[main:2 @ f]:15:10\n"
            " 1: 10\n"
            " 3: 5 g:5\n"
            "[main:2 @ f:3 @ g]:7:5\n"
            " 1: 7\n",

            "main:17:1\n"
            " 2: f:17\n"
            "  1: 10\n"
            "  3: g:7\n"
            "   1: 7\n");
}

static void without_counts_of_its_caller_it_is_on_its_own(void **state)
{
    (void)state;
    becomes("[main]:10:1\n"
            " 2: 10 f:10\n"
            "[main:2 @ f:3 @ g]:7:5\n"
            " 1: 7\n",

            "main:10:1\n"
            " 2: 10 f:10\n"
            "g:7:5\n"
            " 1: 7\n");
}

static void those_on_their_own_become_one(void **state)
{
    (void)state;
    becomes("[a:1 @ f]:20:3\n"
            " 1: 10\n"
            " 2: 10 g:10\n"
            "[a:1 @ f:2 @ g]:100:10\n"
            " 1: 100\n"
            "[b:1 @ f]:30:4\n"
            " 1: 10\n"
            " 2: 20 g:20\n"
            "[b:2 @ f]:8:1\n"
            " 2: 8 g:8\n"
            "[b:2 @ f:2 @ g]:80:8\n"
            " 1: 80\n"
            "[f]:1:1\n"
            " 3: 1\n",

            "f:221:9\n"
            " 1: 20\n"
            " 2: 20 g:20\n"
            " 3: 1\n"
            " 2: g:180\n"
            "  1: 180\n");
}

/* The first one in libLLVM's order stays, here a's: the other is of another build of f. */
static void those_of_another_control_flow_are_left_out(void **state)
{
    (void)state;
    becomes("[a:1 @ f]:20:3\n"
            " 1: 20\n"
            " !CFGChecksum: 1\n"
            "[a:1 @ f:2 @ g]:100:10\n"
            " 1: 100\n"
            " !CFGChecksum: 7\n"
            "[b:1 @ f]:30:4\n"
            " 1: 30\n"
            " !CFGChecksum: 2\n",

            "f:120:3\n"
            " 1: 20\n"
            " 2: g:100\n"
            "  1: 100\n"
            "  !CFGChecksum: 7\n"
            " !CFGChecksum: 1\n");
}

/* Its counts are still part of its callers' total. */
static void what_is_nested_can_be_left_out_alone(void **state)
{
    (void)state;
    becomes("[a:1 @ f]:20:3\n"
            " 1: 20\n"
            " !CFGChecksum: 1\n"
            "[a:1 @ f:2 @ g]:100:10\n"
            " 1: 100\n"
            " !CFGChecksum: 7\n"
            "[b:1 @ f]:30:4\n"
            " 1: 30\n"
            " !CFGChecksum: 1\n"
            "[b:1 @ f:2 @ g]:50:10\n"
            " 1: 50\n"
            " !CFGChecksum: 8\n",

            "f:200:7\n"
            " 1: 50\n"
            " 2: g:100\n"
            "  1: 100\n"
            "  !CFGChecksum: 7\n"
            " !CFGChecksum: 1\n");
}

static void attributes_are_those_of_the_first(void **state)
{
    (void)state;
    becomes("[a:1 @ f]:20:3\n"
            " 1: 20\n"
            " !Attributes: 1\n"
            "[b:1 @ f]:30:4\n"
            " 1: 30\n"
            " !Attributes: 2\n"
            "[b:1 @ f:2 @ g]:50:10\n"
            " 1: 50\n"
            " !Attributes: 3\n",

            "f:100:7\n"
            " 1: 50\n"
            " 2: g:50\n"
            "  1: 50\n"
            "  !Attributes: 3\n"
            " !Attributes: 1\n");
}

static void totals_stop_at_their_limits(void **state)
{
    (void)state;
    becomes("[main]:1:1\n"
            " 1: 1\n"
            "[main:2 @ f]:18446744073709551615:1\n"
            " 1: 5\n",

            "main:18446744073709551615:1\n"
            " 1: 1\n"
            " 2: f:18446744073709551615\n"
            "  1: 5\n");
    becomes("[main]:3:1\n"
            " 1: 1\n"
            " 2: 20 f:20\n"
            "[main:2 @ f]:4:1\n"
            " 1: 4\n",

            "main:0:1\n"
            " 1: 1\n"
            " 2: f:4\n"
            "  1: 4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_becomes_part_of_its_caller),
        cmocka_unit_test(calls_to_others_stay),
        cmocka_unit_test(more_calls_than_were_counted),
        cmocka_unit_test(a_callsite_that_is_known_to_be_cold),
        cmocka_unit_test(discriminators_tell_callsites_apart),
        cmocka_unit_test(several_levels),
        cmocka_unit_test(without_counts_of_its_caller_it_is_on_its_own),
        cmocka_unit_test(those_on_their_own_become_one),
        cmocka_unit_test(those_of_another_control_flow_are_left_out),
        cmocka_unit_test(what_is_nested_can_be_left_out_alone),
        cmocka_unit_test(attributes_are_those_of_the_first),
        cmocka_unit_test(totals_stop_at_their_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
