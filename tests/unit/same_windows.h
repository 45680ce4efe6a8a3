/* Whether two decoders made the same windows, for tests that compare them. */
#ifndef CSP_TESTS_SAME_WINDOWS_H
#define CSP_TESTS_SAME_WINDOWS_H

#include "decode/window.h"

#include <inttypes.h>
#include <string.h>

static bool same_run(const struct csp_run *a, const struct csp_run *b)
{
    return a->start == b->start && a->end == b->end && a->first_ts == b->first_ts &&
           a->last_ts == b->last_ts && a->context_id == b->context_id &&
           a->instructions == b->instructions && a->return_address == b->return_address &&
           a->exception == b->exception && a->ranges == b->ranges &&
           a->branch_len == b->branch_len && a->how == b->how && a->el == b->el;
}

static bool same_window(const struct csp_window *a, const struct csp_window *b)
{
    return a->run_first == b->run_first && a->run_len == b->run_len && a->enabled == b->enabled &&
           a->cut == b->cut && a->trace_offset == b->trace_offset;
}

/* But for their branches, of which only the number is looked at. */
static void check_windows(uint64_t seed, const struct csp_windows *wanted,
                          const struct csp_windows *got)
{
    assert_int_equal(got->runs.len, wanted->runs.len);
    for (size_t i = 0; i < wanted->runs.len; i++)
        if (!same_run(&wanted->runs.data[i], &got->runs.data[i]))
            fail_msg("seed %" PRIu64 ": run %zu, from %" PRIx64 " on, differs", seed, i,
                     wanted->runs.data[i].start);
    assert_int_equal(got->windows.len, wanted->windows.len);
    for (size_t i = 0; i < wanted->windows.len; i++)
        if (!same_window(&wanted->windows.data[i], &got->windows.data[i]))
            fail_msg("seed %" PRIu64 ": window %zu differs", seed, i);
}

static void check_branches(uint64_t seed, const struct csp_windows *wanted,
                           const struct csp_windows *got)
{
    size_t len = wanted->branches.len;
    assert_int_equal(got->branches.len, len);
    if (len && memcmp(got->branches.data, wanted->branches.data, len * sizeof(csp_branch_code)))
        fail_msg("seed %" PRIu64 ": branches differ", seed);
}

#endif
