/* Small streams and the pairs expected of them, for the tests of the stitcher. */
#ifndef CSP_TESTS_STITCH_CASES_H
#define CSP_TESTS_STITCH_CASES_H

#include "unit.h"

#include "decode/stitch.h"

enum { MAX = 16, NONE = -1 };

#define W(start, end, t0, t1)                                                                      \
    {.start_pc = (start), .end_pc = (end), .first_time = (t0), .last_time = (t1)}
#define P(when, where) {.time = (when), .pc = (where)}

struct stream_case {
    struct csp_stitch_window windows[MAX];
    struct csp_stitch_pause pauses[MAX];
    struct csp_stitch_resume resumes[MAX];
    uint64_t losses[MAX], switches[MAX];
    uint32_t window_len, pause_len, resume_len, loss_len, switch_len;
    uint64_t tolerance; /* 0: 1 */
    struct {
        int window;
        enum csp_verdict verdict;
        enum csp_unstitched reason;
    } expected[MAX];
};

static inline void check(const struct stream_case *c)
{
    struct csp_stitch_stream stream = {
        .windows = c->windows,
        .window_len = c->window_len,
        .pauses = c->pauses,
        .pause_len = c->pause_len,
        .resumes = c->resumes,
        .resume_len = c->resume_len,
        .losses = c->losses,
        .loss_len = c->loss_len,
        .switches = c->switches,
        .switch_len = c->switch_len,
        .tolerance = c->tolerance ? c->tolerance : 1,
    };
    struct csp_stitch_pair pairs[MAX];
    struct csp_stitch_clock clock;
    csp_stitch(&stream, NULL, pairs, &clock);
    for (uint32_t j = 0; j < c->pause_len; j++) {
        assert_int_equal(pairs[j].verdict, c->expected[j].verdict);
        assert_int_equal(pairs[j].reason, c->expected[j].reason);
        assert_int_equal((int)pairs[j].window, c->expected[j].window);
    }
}

#endif
