/* Relating the trace's clock to the samples' clock, when they turn out not to be the same: an
 * offset that may drift, learnt from events whose time is known in both. */
#ifndef CSP_DECODE_STITCH_CLOCK_H
#define CSP_DECODE_STITCH_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One event by both clocks. */
struct csp_clock_anchor {
    uint64_t trace, sample;
};

/* By how much of the trace's time the offset grows, of anchors in order of that; a quarter of them
 * may be wrong. 0 for fewer than two. */
double csp_clock_drift(const struct csp_clock_anchor *anchors, size_t count);

struct csp_clock_fit {
    struct csp_clock_anchor *knots; /* between them the offset is linear */
    size_t knot_len;
    double drift;       /* by which the offset grows before the first and behind the last */
    uint64_t precision; /* half of the anchors are nearer to the fit than this */
};

/* Fits anchors in order of trace time; up to half of them may be wrong. False when there are too
 * few, or when they do not agree with each other any better than chance, given that events are
 * `spacing` apart. */
bool csp_clock_fit(struct csp_clock_fit *fit, const struct csp_clock_anchor *anchors, size_t count,
                   uint64_t spacing);
uint64_t csp_clock_to_sample(const struct csp_clock_fit *fit, uint64_t trace);
void csp_clock_fit_free(struct csp_clock_fit *fit);

#endif
