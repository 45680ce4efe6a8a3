/* What the ledger says of windows at the seams between a TRBE's records: pieces of trace, and the
 * lines that they give. */
#include "unit.h"

#include "emulate/fault_ledger.h"

#include <string.h>

enum { MOST = 3 };

struct seam_case {
    struct csp_event events[MOST];
    const char *expected; /* lines before the totals */
};

/* A window of 64 bytes, 31 of which tell of its first branch: up to where it is in the piece. */
#define WHOLE(time, to)                                                                            \
    {.last_time = (time), .end = (to), .needed = 31, .begins = true, .ends = true}
#define BEGUN(time, to) {.last_time = (time), .end = (to), .needed = 31, .begins = true}
#define ENDED(time, to)                                                                            \
    {.last_time = (time), .end = (to), .needed = 31, .before = 64 - (to), .ends = true}
#define PIECE(size, ...)                                                                           \
    {.type = CSP_JOURNAL_TRACE,                                                                    \
     .tail_size = (size),                                                                          \
     .windows = (const struct csp_stored_window[]){__VA_ARGS__},                                   \
     .window_count = 2}
#define LOST {.type = CSP_EVENT_LOST, .a = 1}

static void check(const struct seam_case *c)
{
    struct csp_events events = {0};
    struct csp_buf ledger = {0};
    for (size_t i = 0; i < MOST; i++)
        csp_vec_push(&events.list, c->events[i]);
    csp_ledger_end(&ledger, &events, true);
    assert_true(ledger.len > strlen(c->expected));
    assert_memory_equal(ledger.data, c->expected, strlen(c->expected));
    assert_memory_equal(ledger.data + strlen(c->expected), "total ", strlen("total "));
    csp_buf_free(&ledger);
    csp_events_free(&events);
}

static void nothing_is_missing_between_two_records(void **state)
{
    (void)state;
    const struct seam_case c = {
        .events = {PIECE(96, WHOLE(100, 64), BEGUN(200, 96)),
                   PIECE(96, ENDED(200, 32), WHOLE(300, 96))},
        .expected = "",
    };
    check(&c);
}

/* One of the lost records may have told of a hole between the two parts of the second window. */
static void a_window_that_reaches_over_lost_records_is_unproven(void **state)
{
    (void)state;
    const struct seam_case c = {
        .events = {PIECE(96, WHOLE(100, 64), BEGUN(200, 96)), LOST,
                   PIECE(96, ENDED(200, 32), WHOLE(300, 96))},
        .expected = "window 0 200 unproven\n",
    };
    check(&c);
}

/* Of the second window there is no branch yet. So for a decoder the first one goes on. */
static void nor_is_the_window_before_one_that_only_began(void **state)
{
    (void)state;
    const struct seam_case c = {
        .events = {PIECE(88, WHOLE(100, 64), BEGUN(200, 88)), LOST,
                   PIECE(104, ENDED(200, 40), WHOLE(300, 104))},
        .expected = "window 0 200 unproven\nwindow 0 100 unproven\n",
    };
    check(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_missing_between_two_records),
        cmocka_unit_test(a_window_that_reaches_over_lost_records_is_unproven),
        cmocka_unit_test(nor_is_the_window_before_one_that_only_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
