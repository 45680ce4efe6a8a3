/* What the files stitch*.c share: one stream while it is stitched. */
#ifndef CSP_DECODE_STITCH_STATE_H
#define CSP_DECODE_STITCH_STATE_H

#include "decode/stitch.h"

/* What is known of a window's times, in the samples' clock. Its closing pause lies in [early,
 * late]; `end` is the best known time of its end, 0 without any. */
struct csp_stitch_bounds {
    uint64_t first, last; /* the trace's own time, 0 when it has none or is not believed */
    uint64_t early, late, end;
    bool broken; /* cut short, or its time is impossible: it gives no history */
};

/* How long after a window's end its sample is written, learnt from unmistakable pairs. */
struct csp_stitch_lag {
    bool known;
    int64_t low, high;
};

struct csp_stitch_state {
    const struct csp_stitch_stream *stream;
    struct csp_stitch_bounds *bounds;
    /* Per pause: the last resume since the one before. Null while nobody asks. */
    const struct csp_stitch_resume **opened_by;
    uint64_t tolerance;
    uint64_t doubt;   /* by which fitted times may be wrong beyond it: it excludes nothing */
    bool use_records; /* the time of a drained window's record is that of its end */
    struct csp_stitch_lag lag;
};

static inline bool context_agrees(const struct csp_stitch_window *window,
                                  const struct csp_stitch_pause *pause)
{
    return !window->context || !pause->context || window->context == pause->context;
}

static inline bool pc_agrees(const struct csp_stitch_window *window,
                             const struct csp_stitch_pause *pause)
{
    return window->end_pc && pause->pc && window->end_pc == pause->pc;
}

static inline bool pc_contradicts(const struct csp_stitch_window *window,
                                  const struct csp_stitch_pause *pause)
{
    return window->end_pc && pause->pc && window->end_pc != pause->pc;
}

/* The other end: whether the window begins where the resume before the pause was taken. */
static inline bool start_agrees(const struct csp_stitch_state *state, uint32_t window,
                                uint32_t pause)
{
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    uint64_t start = state->stream->windows[window].start_pc;
    return resume && resume->pc && resume->pc == start;
}

static inline bool within(const struct csp_stitch_bounds *bounds, uint64_t time)
{
    return time >= bounds->early && time <= bounds->late;
}

static inline bool lag_fits(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    if (!state->lag.known || !state->bounds[window].end)
        return true;
    int64_t lag = (int64_t)(state->stream->pauses[pause].time - state->bounds[window].end);
    return lag >= state->lag.low && lag <= state->lag.high;
}

/* Whether they can be a pair by all but the times: what is broken gives no history. */
static inline bool may_be_pair(const struct csp_stitch_state *state, uint32_t window,
                               uint32_t pause)
{
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_pause *p = &state->stream->pauses[pause];
    return !state->bounds[window].broken && !pc_contradicts(w, p) && context_agrees(w, p);
}

/* … and by the times as they are. */
static inline bool fits_in_time(const struct csp_stitch_state *state, uint32_t window,
                                uint32_t pause)
{
    return within(&state->bounds[window], state->stream->pauses[pause].time) &&
           lag_fits(state, window, pause);
}

/* Whether the times do not exclude them, however good the fit is. */
static inline bool may_fit_in_time(const struct csp_stitch_state *state, uint32_t window,
                                   uint32_t pause)
{
    const struct csp_stitch_bounds *bounds = &state->bounds[window];
    uint64_t time = state->stream->pauses[pause].time, doubt = state->doubt;
    if (time + doubt < bounds->early || (time > bounds->late && time - bounds->late > doubt))
        return false;
    if (!state->lag.known || !bounds->end)
        return true;
    int64_t lag = (int64_t)(time - bounds->end);
    return lag + (int64_t)doubt >= state->lag.low && lag - (int64_t)doubt <= state->lag.high;
}

static inline bool is_in_pieces(const struct csp_stitch_state *state, uint32_t window)
{
    return state->bounds[window].broken || state->stream->windows[window].unsure;
}

/* What the resume before a pause says of a window: whether it can have opened it. */
enum csp_opening {
    CSP_OPENING_EXCLUDES,
    CSP_OPENING_UNKNOWN, /* samples were lost there, threads switched, or nothing speaks for it */
    CSP_OPENING_ALLOWS,
    CSP_OPENING_TELLS, /* … and ran between it and the pause */
};

/* Fewer pairs may agree by chance. */
enum { CSP_PAIRS_THAT_TELL = 8 };

/* ---- stitch.c ---- */

/* Pairs windows and pauses by all evidence that the state has. */
void csp_stitch_pair_groups(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs);

/* ---- stitch_time.c ---- */

/* Settles on the best times that nothing contradicts: the trace's as they are, fitted, or none.
 * `trust`: what is known of the trace's own times from all streams. */
enum csp_stitch_time csp_stitch_settle_time(struct csp_stitch_state *state,
                                            const struct csp_stitch_trust *trust,
                                            struct csp_stitch_clock *clock);
/* Adds what the PCs and the AUX records say of the trace's own times. */
void csp_stitch_ask_trace_time(struct csp_stitch_state *state, struct csp_stitch_trust *trust);

/* ---- the others ---- */

/* Takes back what may as well be otherwise. */
void csp_stitch_doubt(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs);
/* Fills opened_by. */
void csp_stitch_find_openers(struct csp_stitch_state *state);
enum csp_opening csp_stitch_opening(const struct csp_stitch_state *state, uint32_t window,
                                    uint32_t pause);
/* Whether the recording tells of samples lost in (from, to]. */
bool csp_stitch_lost_between(const struct csp_stitch_stream *stream, uint64_t from, uint64_t to);
/* The same of switches of threads. */
bool csp_stitch_switched_between(const struct csp_stitch_stream *stream, uint64_t from,
                                 uint64_t to);

/* Tells of each pause without a window why; none of those has a verdict but CSP_VERDICT_AMBIGUOUS.
 */
void csp_stitch_name_unpaired(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs);
/* … of those that have what is left of a window, after the others. */
void csp_stitch_name_cut(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs);

#endif
