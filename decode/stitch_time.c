#include "base/alloc.h"
#include "base/nth.h"
#include "decode/stitch_clock.h"
#include "decode/stitch_state.h"

#include <math.h>
#include <stdlib.h>

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* As if the trace had no timestamps. */
static void forget_trace_time(struct csp_stitch_state *state)
{
    for (uint32_t i = 0; i < state->stream->window_len; i++)
        state->bounds[i] = (struct csp_stitch_bounds){.broken = state->stream->windows[i].cut};
}

/* Whether a time of the trace lies where the AUX records, whose times are in the samples' clock,
 * allow it to be. */
static bool record_allows(const struct csp_stitch_window *window, uint64_t time, uint64_t tolerance)
{
    return !window->record_time ||
           (time <= window->record_time + tolerance && time + tolerance >= window->not_before);
}

/* A single time that is impossible is of damaged trace. Where windows have times, one that ends
 * with neither a time nor an exception may go on in trace that was lost. */
static void take_times(struct csp_stitch_state *state, uint32_t window, uint64_t first,
                       uint64_t last)
{
    const struct csp_stitch_window *w = &state->stream->windows[window];
    struct csp_stitch_bounds *bounds = &state->bounds[window];
    bool possible = !last || record_allows(w, last, state->tolerance);
    bounds->broken = w->cut || !possible || (!last && !w->end_pc);
    bounds->first = possible ? first : 0;
    bounds->last = possible ? last : 0;
}

/* What the trace's own times are like. */
struct trace_time {
    bool any;                /* a window has one */
    uint32_t timed, outside; /* windows whose AUX record bounds it, and where that contradicts it */
};

static struct trace_time take_trace_time(struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    struct trace_time seen = {0};
    for (uint32_t i = 0; i < stream->window_len; i++) {
        const struct csp_stitch_window *window = &stream->windows[i];
        take_times(state, i, window->first_time, window->last_time);
        if (!window->last_time)
            continue;
        seen.any = true;
        if (!window->record_time || window->unsure)
            continue;
        seen.timed++;
        if (!state->bounds[i].last)
            seen.outside++;
    }
    return seen;
}

/* Windows and pauses are both in order, so each window inherits its neighbours' bounds. What may be
 * two windows has a time that may be read from the middle of a packet: it bounds none. */
static void find_early(struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint64_t tolerance = state->tolerance, early = 0;
    for (uint32_t i = 0; i < stream->window_len; i++) {
        const struct csp_stitch_window *window = &stream->windows[i];
        struct csp_stitch_bounds *bounds = &state->bounds[i];
        bool by_record = state->use_records && window->drained;
        bounds->end = bounds->last ? bounds->last : by_record ? window->record_time : 0;
        early = max_u64(early, window->not_before);
        if (bounds->end > tolerance && !window->unsure)
            early = max_u64(early, bounds->end - tolerance);
        bounds->early = early;
    }
}

static void find_late(struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint64_t tolerance = state->tolerance, late = UINT64_MAX;
    for (uint32_t i = stream->window_len; i-- > 0;) {
        const struct csp_stitch_window *window = &stream->windows[i];
        struct csp_stitch_bounds *bounds = &state->bounds[i];
        /* A sink that is not drained stores a window after its sample was written. */
        bool drained = state->use_records && window->drained;
        if (!drained && window->record_time)
            late = min_u64(late, window->record_time + tolerance);
        if (state->lag.known && bounds->end && !window->cut && !window->unsure)
            late = min_u64(late, bounds->end + (uint64_t)max_i64(state->lag.high, 0));
        bounds->late = late;
        if (bounds->first && !window->unsure)
            late = min_u64(late, bounds->first + tolerance);
        if (drained && window->not_before && window->record_time)
            late = min_u64(late, window->record_time);
    }
}

static void find_bounds(struct csp_stitch_state *state)
{
    find_early(state);
    find_late(state);
}

/* The first pause from number `pause` on that can have closed a window, which the pauses that
 * follow the next window's end cannot; CSP_STITCH_NONE without any. */
static uint32_t first_pause_after(const struct csp_stitch_state *state, uint32_t window,
                                  uint32_t pause)
{
    const struct csp_stitch_stream *stream = state->stream;
    const struct csp_stitch_bounds *bounds = &state->bounds[window];
    while (pause < stream->pause_len && stream->pauses[pause].time < bounds->early)
        pause++;
    if (pause == stream->pause_len || stream->pauses[pause].time > bounds->late)
        return CSP_STITCH_NONE;
    if (window + 1 < stream->window_len && !stream->windows[window + 1].unsure &&
        state->bounds[window + 1].end &&
        stream->pauses[pause].time >= state->bounds[window + 1].end)
        return CSP_STITCH_NONE;
    return pause;
}

/* The windows of which the end's time is known, and the pauses that follow them where the PCs
 * agree, in order; how many those are, and how many the PCs contradict. */
static struct csp_clock_anchor *find_followers(const struct csp_stitch_state *state,
                                               struct csp_stitch_trust *counts)
{
    const struct csp_stitch_stream *stream = state->stream;
    struct csp_clock_anchor *found = csp_malloc(stream->window_len * sizeof *found);
    uint32_t next = 0;
    for (uint32_t i = 0; i < stream->window_len; i++) {
        if (!state->bounds[i].end || stream->windows[i].cut || stream->windows[i].unsure)
            continue;
        uint32_t j = first_pause_after(state, i, next);
        if (j == CSP_STITCH_NONE)
            continue;
        next = j;
        const struct csp_stitch_pause *pause = &stream->pauses[j];
        if (pc_agrees(&stream->windows[i], pause))
            found[counts->agree++] = (struct csp_clock_anchor){state->bounds[i].end, pause->time};
        else if (pc_contradicts(&stream->windows[i], pause))
            counts->contradict++;
    }
    return found;
}

/* The twentieth part of the distances is not longer; INT64_MAX / 2 without any. */
static int64_t short_distance(const int64_t *distances, size_t count)
{
    return count ? csp_nth(distances, count, count / 20) : INT64_MAX / 2;
}

/* How far apart the ends of windows and the pauses are where they are close: a window's sample is
 * written before the next window ends. */
static int64_t spacing_at_least(const struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t most = stream->window_len > stream->pause_len ? stream->window_len : stream->pause_len;
    int64_t *distances = csp_malloc(most * sizeof *distances);
    size_t count = 0;
    for (uint32_t i = 0; i + 1 < stream->window_len; i++) {
        uint64_t end = state->bounds[i].end, next = state->bounds[i + 1].end;
        bool unsure = stream->windows[i].unsure || stream->windows[i + 1].unsure;
        if (end && next > end && !unsure)
            distances[count++] = (int64_t)(next - end);
    }
    int64_t windows = short_distance(distances, count);
    for (count = 0; count + 1 < stream->pause_len; count++)
        distances[count] = (int64_t)(stream->pauses[count + 1].time - stream->pauses[count].time);
    int64_t pauses = short_distance(distances, count);
    free(distances);
    return windows < pauses ? windows : pauses;
}

/* Of all lags; 0 without any. */
struct lags {
    int64_t min, low, median, max; /* `low`: the twentieth part is not longer */
};

/* The upper side is measured by the lower one: where samples were lost, a window's first pause is a
 * later one, and such pairs must not widen what is believed. */
static int64_t spread_of(const struct lags *lags)
{
    return 4 * (lags->median - lags->low);
}

static double time_between(const struct csp_clock_anchor *a, const struct csp_clock_anchor *b)
{
    return (double)(int64_t)(b->trace - a->trace);
}

/* Lags as they would be without a drift. */
static struct lags sum_up_but(double drift, const struct csp_clock_anchor *found, size_t count)
{
    int64_t *lags = csp_malloc(count * sizeof *lags);
    struct lags sum = {.min = INT64_MAX, .max = INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        lags[i] = (int64_t)(found[i].sample - found[i].trace) -
                  (int64_t)(drift * time_between(&found[0], &found[i]));
        sum.min = lags[i] < sum.min ? lags[i] : sum.min;
        sum.max = lags[i] > sum.max ? lags[i] : sum.max;
    }
    sum.low = csp_nth(lags, count, count / 20);
    sum.median = csp_nth(lags, count, count / 2);
    free(lags);
    return sum;
}

static struct lags sum_up(const struct csp_clock_anchor *found, size_t count)
{
    return count ? sum_up_but(0, found, count) : (struct lags){0};
}

/* Clocks drift evenly, so both halves of the time show it. A lag that changes once, as with the
 * processor's frequency, is in one of them. */
static bool drifts_evenly(double drift, const struct csp_clock_anchor *found, size_t count)
{
    double half = time_between(&found[0], &found[count - 1]) / 2;
    size_t split = 0;
    while (time_between(&found[0], &found[split]) < half)
        split++;
    return csp_clock_drift(found, split) / drift > 0.5 &&
           csp_clock_drift(found + split, count - split) / drift > 0.5;
}

/* Whether the clocks are two, that agree for a while: from the first to the last the lags change by
 * more than they scatter. */
static bool clocks_drift(const struct csp_clock_anchor *found, size_t count, uint64_t tolerance)
{
    if (count < CSP_PAIRS_THAT_TELL)
        return false;
    double drift = csp_clock_drift(found, count);
    double change = fabs(drift * time_between(&found[0], &found[count - 1]));
    if (change <= (double)tolerance || !drifts_evenly(drift, found, count))
        return false;
    struct lags even = sum_up_but(drift, found, count);
    return change > (double)(spread_of(&even) + (int64_t)tolerance);
}

static struct csp_stitch_lag lag_of(const struct csp_stitch_state *state, const struct lags *lags,
                                    size_t count, int64_t most)
{
    int64_t precision = (int64_t)state->tolerance;
    if (count < CSP_PAIRS_THAT_TELL)
        return (struct csp_stitch_lag){true, -precision, most};
    return (struct csp_stitch_lag){true, lags->min - precision,
                                   lags->median + spread_of(lags) + precision};
}

/* Whether the PCs speak for the times: those of this stream, in which few pairs may agree by
 * chance, and those of all streams. */
static bool is_believed(const struct csp_stitch_trust *own, const struct csp_stitch_trust *all)
{
    bool tells = own->agree + own->contradict >= CSP_PAIRS_THAT_TELL;
    if (tells && own->agree <= own->contradict)
        return false;
    return !all || all->agree >= (tells ? 1 : 2) * all->contradict;
}

/* Learns the lag. False when the PCs mostly contradict the times, or samples would come later than
 * the next window's; or, where the samples' clock is said to be the trace's (`one_clock`), ever
 * later. `all`: what is known of these times from all streams, or null. */
static bool learn_lag(struct csp_stitch_state *state, bool one_clock,
                      const struct csp_stitch_trust *all, struct csp_stitch_clock *clock)
{
    struct csp_stitch_trust own = {0};
    struct csp_clock_anchor *found = find_followers(state, &own);
    struct lags lags = sum_up(found, own.agree);
    bool drifts = one_clock && clocks_drift(found, own.agree, state->tolerance);
    free(found);
    int64_t most = spacing_at_least(state) + (int64_t)state->tolerance;
    bool possible = own.agree < CSP_PAIRS_THAT_TELL || lags.median <= most;
    bool believed = possible && !drifts && is_believed(&own, all);
    if (believed) {
        state->lag = lag_of(state, &lags, own.agree, most);
        find_late(state); /* on which alone the lag bears */
        clock->pairs = own.agree;
        clock->lag_min = lags.min;
        clock->lag_median = lags.median;
        clock->lag_max = lags.max;
        clock->lag_limit = state->lag.high;
    }
    return believed;
}

/* Events that are known by both clocks: the end of a window and the AUX record that a drained sink
 * writes there; else the end of a window and the sample that both its ends point to. */
static size_t find_anchors(const struct csp_stitch_state *state, struct csp_clock_anchor *anchors)
{
    const struct csp_stitch_stream *stream = state->stream;
    size_t count = 0;
    for (uint32_t i = 0; i < stream->window_len; i++) {
        const struct csp_stitch_window *window = &stream->windows[i];
        if (window->drained && !window->cut && window->last_time && window->record_time)
            anchors[count++] = (struct csp_clock_anchor){window->last_time, window->record_time};
    }
    if (count > stream->window_len / 2)
        return count;
    count = 0;
    struct csp_stitch_pair *pairs = csp_calloc(stream->pause_len, sizeof *pairs);
    csp_stitch_pair_groups(state, pairs);
    for (uint32_t j = 0; j < stream->pause_len; j++) {
        if (pairs[j].verdict != CSP_VERDICT_EXACT && pairs[j].verdict != CSP_VERDICT_ORDER)
            continue;
        uint64_t last_time = stream->windows[pairs[j].window].last_time;
        if (last_time)
            anchors[count++] = (struct csp_clock_anchor){last_time, stream->pauses[j].time};
    }
    free(pairs);
    return count;
}

static uint64_t spacing_of(const struct csp_stitch_stream *stream)
{
    uint64_t span = stream->pauses[stream->pause_len - 1].time - stream->pauses[0].time;
    return span / stream->pause_len;
}

/* The trace's time is not the samples': finds out how they relate, and converts it. */
static bool fit_trace_time(struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t most = stream->window_len > stream->pause_len ? stream->window_len : stream->pause_len;
    struct csp_clock_anchor *anchors = csp_malloc(most * sizeof *anchors);
    struct csp_clock_fit fit;
    bool found = csp_clock_fit(&fit, anchors, find_anchors(state, anchors), spacing_of(stream));
    free(anchors);
    if (!found)
        return false;
    state->tolerance = max_u64(stream->tolerance, 8 * fit.precision);
    for (uint32_t i = 0; i < stream->window_len; i++) {
        uint64_t first = stream->windows[i].first_time, last = stream->windows[i].last_time;
        first = first ? csp_clock_to_sample(&fit, first) : 0;
        last = last ? csp_clock_to_sample(&fit, last) : 0;
        take_times(state, i, first, last);
    }
    csp_clock_fit_free(&fit);
    return true;
}

static bool any_drained(const struct csp_stitch_stream *stream)
{
    for (uint32_t i = 0; i < stream->window_len; i++)
        if (stream->windows[i].drained)
            return true;
    return false;
}

enum csp_stitch_time csp_stitch_settle_time(struct csp_stitch_state *state,
                                            const struct csp_stitch_trust *trust,
                                            struct csp_stitch_clock *clock)
{
    const struct csp_stitch_stream *stream = state->stream;
    struct trace_time seen = take_trace_time(state);
    if (seen.any && seen.outside <= seen.timed / 100) {
        find_bounds(state);
        if (learn_lag(state, true, trust, clock))
            return CSP_STITCH_TIME_TRACE;
    }
    forget_trace_time(state);
    find_bounds(state);
    if (seen.any && fit_trace_time(state)) {
        find_bounds(state);
        if (learn_lag(state, false, NULL, clock))
            return CSP_STITCH_TIME_FITTED;
        forget_trace_time(state);
        state->tolerance = stream->tolerance;
        find_bounds(state);
    }
    if (any_drained(stream) && learn_lag(state, false, NULL, clock))
        return CSP_STITCH_TIME_RECORDS;
    state->use_records = false;
    find_bounds(state);
    return CSP_STITCH_TIME_NONE;
}

void csp_stitch_ask_trace_time(struct csp_stitch_state *state, struct csp_stitch_trust *trust)
{
    struct csp_stitch_trust own = {0};
    trust->contradict += take_trace_time(state).outside;
    state->use_records = false;
    find_bounds(state);
    struct csp_clock_anchor *found = find_followers(state, &own);
    bool drifts = clocks_drift(found, own.agree, state->tolerance);
    free(found);
    trust->agree += drifts ? 0 : own.agree;
    trust->contradict += own.contradict + (drifts ? own.agree : 0);
}
