/* Pairs that have all evidence there is, where that is not enough. */
#include "decode/stitch_state.h"

/* Without time, where a window and another's sample were lost side by side, what is left may agree
 * by chance. So pairs are exact only in the midst of others. */
static void doubt_loners(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    bool before = false; /* the pause before has the window before */
    for (uint32_t j = 0; j < state->stream->pause_len; j++) {
        uint32_t window = pairs[j].window;
        bool after = j + 1 < state->stream->pause_len && window != CSP_STITCH_NONE &&
                     pairs[j + 1].window == window + 1;
        if (pairs[j].verdict == CSP_VERDICT_EXACT && !state->bounds[window].end &&
            !(before && after))
            pairs[j].verdict = CSP_VERDICT_ORDER;
        before = after;
    }
}

enum { LOOK_AT_MOST = 256 };

/* Whether a pause may have closed a window, though the fitted times exclude it. What they do not
 * exclude was weighed already. */
static bool is_barely_excluded(const struct csp_stitch_state *state, uint32_t window,
                               uint32_t pause)
{
    return may_be_pair(state, window, pause) && !fits_in_time(state, window, pause) &&
           may_fit_in_time(state, window, pause);
}

static void tell_ambiguous(struct csp_stitch_pair *pair)
{
    *pair = (struct csp_stitch_pair){.window = CSP_STITCH_NONE,
                                     .verdict = CSP_VERDICT_AMBIGUOUS,
                                     .reason = CSP_UNSTITCHED_AMBIGUOUS};
}

/* A pause that may have closed a window whose pair is not believed is not one without a window. */
static bool doubt_pause(const struct csp_stitch_state *state, uint32_t window, uint32_t pause,
                        struct csp_stitch_pair *pairs)
{
    if (!is_barely_excluded(state, window, pause))
        return false;
    if (pairs[pause].verdict == CSP_VERDICT_NONE)
        tell_ambiguous(&pairs[pause]);
    return true;
}

/* Whether another pause may have closed the window, if times are as wrong as they may be. */
static bool may_have_another_pause(const struct csp_stitch_state *state, uint32_t window,
                                   uint32_t pause, struct csp_stitch_pair *pairs)
{
    const struct csp_stitch_pause *pauses = state->stream->pauses;
    const struct csp_stitch_bounds *bounds = &state->bounds[window];
    uint32_t first = pause > LOOK_AT_MOST ? pause - LOOK_AT_MOST : 0;
    uint32_t last = state->stream->pause_len - pause > LOOK_AT_MOST ? pause + LOOK_AT_MOST
                                                                    : state->stream->pause_len;
    bool any = false;
    for (uint32_t j = pause; j-- > first && pauses[j].time + state->doubt >= bounds->early;)
        any |= doubt_pause(state, window, j, pairs);
    for (uint32_t j = pause + 1; j < last; j++) {
        if (pauses[j].time > bounds->late && pauses[j].time - bounds->late > state->doubt)
            break;
        any |= doubt_pause(state, window, j, pairs);
    }
    return any;
}

/* The same of the pause and another window. */
static bool may_have_another_window(const struct csp_stitch_state *state, uint32_t window,
                                    uint32_t pause)
{
    uint64_t time = state->stream->pauses[pause].time, doubt = state->doubt;
    uint32_t first = window > LOOK_AT_MOST ? window - LOOK_AT_MOST : 0;
    uint32_t last = state->stream->window_len - window > LOOK_AT_MOST ? window + LOOK_AT_MOST
                                                                      : state->stream->window_len;
    for (uint32_t i = window; i-- > first;) {
        if (time > state->bounds[i].late && time - state->bounds[i].late > doubt)
            break;
        if (is_barely_excluded(state, i, pause))
            return true;
    }
    for (uint32_t i = window + 1; i < last && state->bounds[i].early <= time + doubt; i++)
        if (is_barely_excluded(state, i, pause))
            return true;
    return false;
}

/* How precise a fit of clocks is tells how far half of what it was made of is from it, and lags
 * that are not alike bend it: a window's own pause may lie just outside of what the times allow,
 * and another one that was taken at the same place within. */
static void doubt_fitted(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    for (uint32_t j = 0; j < state->stream->pause_len; j++) {
        uint32_t window = pairs[j].window;
        if (window == CSP_STITCH_NONE)
            continue;
        bool another = may_have_another_pause(state, window, j, pairs);
        if (another || may_have_another_window(state, window, j))
            tell_ambiguous(&pairs[j]);
    }
}

void csp_stitch_doubt(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    if (state->doubt)
        doubt_fitted(state, pairs);
    doubt_loners(state, pairs);
}
