/* Contexts beside what merging makes of them. "main:1 f:2 g = 10" is g, executed ten times, called
 * by probe 2 of f, which probe 1 of main called. */
#include "unit.h"

#include "base/buf.h"
#include "profgen/context_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY = 1 }; /* the probe whose count is a function's */

struct fixture {
    struct csp_intern names;
    struct csp_guids guids;
    struct csp_context_tree tree;
    struct csp_buf text;
};

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    f.guids.names = &f.names;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    csp_context_free(&f->tree);
    csp_guids_free(&f->guids);
    csp_intern_free(&f->names);
    csp_buf_free(&f->text);
    return 0;
}

static void add_context(struct fixture *f, const char *text, uint64_t hash)
{
    uint32_t node = CSP_PROFILE_TOP, callsite = 0;
    char name[16];
    for (int length; sscanf(text, " %15[a-z]%n", name, &length) == 1; text += length) {
        node = csp_context_child(&f->tree, node, callsite, 0, csp_intern_string(&f->names, name));
        callsite = text[length] == ':' ? (uint32_t)strtoul(text + length + 1, NULL, 10) : 0;
        length += (int)strspn(text + length, ":0123456789");
    }
    uint64_t count;
    assert_int_equal(sscanf(text, " = %" SCNu64, &count), 1);
    csp_context_add(&f->tree, node, BODY, 0, CSP_INTERN_NONE, count);
    struct csp_context_node *added = &f->tree.nodes.data[node];
    added->counted = true;
    added->hash = hash;
    added->total += count;
}

static void add_contexts(struct fixture *f, const char *const *contexts)
{
    for (; *contexts; contexts++)
        add_context(f, *contexts, 1);
}

static void print_path(struct fixture *f, uint32_t node)
{
    uint32_t up = f->tree.nodes.data[node].parent;
    if (up != CSP_PROFILE_TOP) {
        print_path(f, up);
        csp_buf_printf(&f->text, ":%" PRIu32 " ",
                       csp_context_place_at(&f->tree, f->tree.nodes.data[node].edge).probe);
    }
    csp_buf_add_string(&f->text, csp_intern_text(&f->names, csp_context_name(&f->tree, node)));
}

static const char *print_context(struct fixture *f, uint32_t node)
{
    struct csp_context_sums sums = {0};
    f->text.len = 0;
    print_path(f, node);
    csp_context_gather(&f->tree, node, &sums);
    uint32_t body = csp_context_place(&f->tree, BODY, 0, CSP_INTERN_NONE);
    csp_buf_printf(&f->text, " = %" PRIu64, csp_context_sum(&sums, body));
    csp_context_sums_free(&sums);
    return f->text.data;
}

/* All contexts with counts, in any order, and no others. */
static void expect(struct fixture *f, const char *const *contexts)
{
    size_t expected = 0, counted = 0;
    while (contexts[expected])
        expected++;
    for (uint32_t node = 0; node < f->tree.nodes.len; node++) {
        if (!f->tree.nodes.data[node].counted)
            continue;
        const char *context = print_context(f, node);
        size_t i = 0;
        while (i < expected && strcmp(context, contexts[i]) != 0)
            i++;
        if (i == expected)
            fail_msg("there is %s", context);
        counted++;
    }
    assert_int_equal(counted, expected);
}

#define CONTEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void merge_as(struct fixture *f, const char *function, bool loses_overlaps)
{
    struct csp_context_merger merger;
    csp_context_merger_begin(&merger, &f->tree, &f->guids, loses_overlaps);
    csp_context_merge_function(&merger, csp_intern_string(&f->names, function));
    csp_context_merger_free(&merger);
}

static void merge(struct fixture *f, const char *function)
{
    merge_as(f, function, false);
}

static void the_contexts_of_a_function_become_one(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main = 1", "main:1 f = 10", "main:2 f = 20", "f = 5"));
    merge(f, "f");
    expect(f, CONTEXTS("main = 1", "f = 35"));
}

static void what_was_called_in_them_is_called_in_it(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main:1 f = 1", "main:1 f:3 g = 10", "main:2 f = 2",
                             "main:2 f:3 g = 20", "main:2 f:4 g = 7"));
    merge(f, "f");
    expect(f, CONTEXTS("f = 3", "f:3 g = 30", "f:4 g = 7"));
}

/* As in libLLVM, which lists the contexts that have counts of their own. */
static void what_was_called_where_nothing_was_counted_stays(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main:1 f:3 g = 10"));
    merge(f, "f");
    expect(f, CONTEXTS("main:1 f:3 g = 10"));
}

static void other_functions_keep_their_contexts(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main:1 f = 10", "main:2 g = 20", "main:2 g:1 f = 7"));
    merge(f, "f");
    expect(f, CONTEXTS("f = 17", "main:2 g = 20"));
}

static void contexts_to_be_inlined_stay(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main:1 f = 10", "main:2 f = 20", "main:3 f = 30"));
    f->tree.nodes.data[1].state = CSP_CONTEXT_INLINED; /* behind main, which has no counts */
    merge(f, "f");
    expect(f, CONTEXTS("main:1 f = 10", "f = 50"));
}

/* The checksums of their control flow differ: these are two builds of one function. */
static void counts_of_another_control_flow_are_left_out(void **state)
{
    struct fixture *f = *state;
    add_context(f, "f = 5", 1);
    add_context(f, "main:1 f = 10", 1);
    add_context(f, "main:2 f = 20", 2);
    merge(f, "f");
    expect(f, CONTEXTS("f = 15"));
}

/* f calls itself by the same calls again and again. By default the unwinder has cut such contexts
 * to one call already. */
static void recursion_is_merged_into_its_first_call(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("f = 1", "f:2 f = 10", "f:2 f:3 g = 5", "f:2 f:2 f = 100",
                             "f:2 f:2 f:3 g = 50", "f:2 f:2 f:2 f = 1000"));
    merge(f, "f");
    expect(f, CONTEXTS("f = 1111", "f:3 g = 55"));
}

static void so_is_recursion_by_way_of_another_function(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("f = 1", "f:2 g = 2", "f:2 g:2 f = 10", "f:2 g:2 f:2 g = 20",
                             "f:2 g:2 f:2 g:2 f = 100", "f:2 g:2 f:2 g:2 f:2 g = 200"));
    merge(f, "f");
    expect(f, CONTEXTS("f = 111", "f:2 g = 222"));
}

/* The third call goes into the second, which is in the first by then. */
static void like_libllvm_it_keeps_its_first_calls(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("f = 1", "f:2 f = 10", "f:2 f:2 f = 100"));
    merge_as(f, "f", true);
    expect(f, CONTEXTS("f = 11"));
}

static void cold_contexts_are_merged_by_their_last_frame(void **state)
{
    struct fixture *f = *state;
    add_contexts(f,
                 CONTEXTS("main:1 f = 100", "main:2 f = 9", "main:1 g:1 f = 8", "main:1 g = 100"));
    csp_contexts_merge_cold(
        &f->tree, &(struct csp_cold_contexts){.threshold = 10, .merge = true, .depth = 1});
    expect(f, CONTEXTS("main:1 f = 100", "main:1 g = 100", "f = 17"));
}

static void or_by_their_last_two(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main:1 g:1 f = 8", "main:2 g:1 f = 7", "main:1 g:2 f = 6"));
    csp_contexts_merge_cold(
        &f->tree, &(struct csp_cold_contexts){.threshold = 10, .merge = true, .depth = 2});
    expect(f, CONTEXTS("g:1 f = 15", "g:2 f = 6"));
}

static void what_is_still_cold_then_is_trimmed(void **state)
{
    struct fixture *f = *state;
    add_contexts(f, CONTEXTS("main:1 f = 6", "main:2 f = 7", "main:1 g = 6"));
    csp_contexts_merge_cold(
        &f->tree,
        &(struct csp_cold_contexts){.threshold = 10, .merge = true, .trim = true, .depth = 1});
    expect(f, CONTEXTS("f = 13"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_contexts_of_a_function_become_one, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_called_in_them_is_called_in_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_called_where_nothing_was_counted_stays, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(other_functions_keep_their_contexts, setup, teardown),
        cmocka_unit_test_setup_teardown(contexts_to_be_inlined_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_of_another_control_flow_are_left_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(recursion_is_merged_into_its_first_call, setup, teardown),
        cmocka_unit_test_setup_teardown(so_is_recursion_by_way_of_another_function, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(like_libllvm_it_keeps_its_first_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(cold_contexts_are_merged_by_their_last_frame, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(or_by_their_last_two, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_still_cold_then_is_trimmed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
