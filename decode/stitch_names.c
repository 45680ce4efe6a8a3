/* Why pauses have no window: what lies between the windows of their neighbours. */
#include "decode/stitch_state.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { LOOK_AT_MOST = 256 };

/* Behind a switch of threads, without a resume of its own: whether it ended where the pause was
 * taken, and no sample is known to be missing between. */
static bool ran_last(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    const struct csp_stitch_pause *p = &state->stream->pauses[pause];
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    uint64_t ended = state->bounds[window].last;
    return resume && ended > resume->time && ended <= p->time &&
           pc_agrees(&state->stream->windows[window], p) &&
           !csp_stitch_lost_between(state->stream, resume->time, p->time);
}

/* Windows that ended before it are not the pause's. */
static uint64_t looks_back_to(const struct csp_stitch_state *state, uint32_t pause)
{
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    uint64_t time = state->stream->pauses[pause].time;
    return resume ? resume->time : time > state->doubt ? time - state->doubt : 0;
}

/* A switch ends a window, too: the pause may have closed the next one, which was lost. A time that
 * was fitted to the samples is later than the window's end by a lag that nothing tells. */
static bool switched_since(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    uint64_t from = state->doubt ? looks_back_to(state, pause) : state->bounds[window].early;
    return csp_stitch_switched_between(state->stream, from, state->stream->pauses[pause].time);
}

/* What a whole window says that was not given to the pause. Where there is no time, one whose
 * sample was lost looks like that beside a sample whose window was lost; and one that contradicts
 * nothing has fitted other pauses as well. */
static enum csp_unstitched what_of(const struct csp_stitch_state *state, uint32_t window,
                                   uint32_t pause)
{
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_pause *p = &state->stream->pauses[pause];
    enum csp_opening opening = csp_stitch_opening(state, window, pause);
    bool timely = within(&state->bounds[window], p->time) && lag_fits(state, window, pause);
    bool contradicts = !context_agrees(w, p) || pc_contradicts(w, p);
    if (is_in_pieces(state, window) || opening == CSP_OPENING_EXCLUDES)
        return CSP_UNSTITCHED_NO_WINDOW;
    if (opening != CSP_OPENING_TELLS && !timely)
        return may_fit_in_time(state, window, pause) || ran_last(state, window, pause)
                   ? CSP_UNSTITCHED_UNTOLD
                   : CSP_UNSTITCHED_NO_WINDOW;
    if (!state->bounds[window].end || !contradicts || switched_since(state, window, pause))
        return CSP_UNSTITCHED_UNTOLD;
    return context_agrees(w, p) ? CSP_UNSTITCHED_PC : CSP_UNSTITCHED_CONTEXT;
}

static enum csp_unstitched why_not(const struct csp_stitch_state *state, uint32_t pause,
                                   uint32_t first, uint32_t last)
{
    enum csp_unstitched reason = CSP_UNSTITCHED_NO_WINDOW;
    for (uint32_t i = first; i < last; i++) {
        enum csp_unstitched other = what_of(state, i, pause);
        if (other == CSP_UNSTITCHED_PC)
            return other;
        if (other != CSP_UNSTITCHED_NO_WINDOW)
            reason = other;
    }
    return reason;
}

/* Without time, what was paired by order may belong elsewhere: whether a window that fits the pause
 * may be its own, because it ended there, or because the pause that has it fits worse. */
static bool may_be_its_own(const struct csp_stitch_state *state, uint32_t pause, uint32_t window,
                           const struct csp_stitch_pair *given)
{
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    if (state->bounds[window].end || (given && given->verdict == CSP_VERDICT_EXACT))
        return false;
    bool ends = pc_agrees(w, &state->stream->pauses[pause]);
    bool begins = resume && resume->pc == w->start_pc && !(given && given->start_agrees);
    return (ends || begins) && what_of(state, window, pause) == CSP_UNSTITCHED_UNTOLD;
}

/* What is called lost, and may not be: the windows between those of the exact pairs around it. */
static void doubt_lost(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    const struct csp_stitch_stream *stream = state->stream;
    const struct csp_stitch_pair **given = csp_calloc(stream->window_len, sizeof(void *));
    uint32_t *before = csp_malloc(stream->pause_len * sizeof *before);
    uint32_t next = stream->window_len, after = 0, near = 0;
    for (uint32_t j = stream->pause_len; j-- > 0; before[j] = next) {
        if (pairs[j].window != CSP_STITCH_NONE)
            given[pairs[j].window] = &pairs[j];
        if (pairs[j].verdict == CSP_VERDICT_EXACT)
            next = pairs[j].window;
    }
    for (uint32_t j = 0; j < stream->pause_len; j++) {
        if (pairs[j].window != CSP_STITCH_NONE)
            near = pairs[j].window;
        if (pairs[j].verdict == CSP_VERDICT_EXACT)
            after = near + 1;
        if (pairs[j].verdict != CSP_VERDICT_NONE || pairs[j].reason != CSP_UNSTITCHED_NO_WINDOW)
            continue;
        uint32_t i = near > after + LOOK_AT_MOST ? near - LOOK_AT_MOST : after;
        uint32_t last = before[j] > near + LOOK_AT_MOST ? near + LOOK_AT_MOST : before[j];
        while (i < last && !may_be_its_own(state, j, i, given[i]))
            i++;
        if (i < last)
            pairs[j].reason = CSP_UNSTITCHED_UNTOLD;
    }
    free(given);
    free(before);
}

/* The windows before the next pause's that has one. */
static void name_others(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t *before = csp_malloc(stream->pause_len * sizeof *before);
    uint32_t after = 0, next = stream->window_len;
    for (uint32_t j = stream->pause_len; j-- > 0; before[j] = next)
        next = pairs[j].window != CSP_STITCH_NONE ? pairs[j].window : next;
    for (uint32_t j = 0; j < stream->pause_len; j++) {
        if (pairs[j].window != CSP_STITCH_NONE)
            after = pairs[j].window + 1;
        if (pairs[j].verdict != CSP_VERDICT_NONE)
            continue;
        while (after < before[j] && state->bounds[after].late < looks_back_to(state, j))
            after++;
        uint32_t last = before[j] - after > LOOK_AT_MOST ? after + LOOK_AT_MOST : before[j];
        pairs[j].reason = (uint8_t)why_not(state, j, after, last);
    }
    free(before);
}

static bool has_unpaired(const struct csp_stitch_state *state, const struct csp_stitch_pair *pairs)
{
    for (uint32_t j = 0; j < state->stream->pause_len; j++)
        if (pairs[j].verdict == CSP_VERDICT_NONE)
            return true;
    return false;
}

void csp_stitch_name_unpaired(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    if (!has_unpaired(state, pairs))
        return;
    name_others(state, pairs);
    csp_stitch_name_cut(state, pairs);
    doubt_lost(state, pairs);
}

const char *csp_unstitched_name(enum csp_unstitched reason)
{
    static const char *const names[CSP_UNSTITCHED_COUNT] = {
        [CSP_UNSTITCHED_NOT] = "stitched",
        [CSP_UNSTITCHED_NO_WINDOW] = "no window",
        [CSP_UNSTITCHED_PC] = "window ended elsewhere",
        [CSP_UNSTITCHED_CONTEXT] = "window of another thread",
        [CSP_UNSTITCHED_AMBIGUOUS] = "several windows fit",
        [CSP_UNSTITCHED_CUT] = "window cut short",
        [CSP_UNSTITCHED_UNTOLD] = "reasons not told apart",
    };
    return names[reason];
}

const char *csp_verdict_name(enum csp_verdict verdict)
{
    static const char *const names[CSP_VERDICT_COUNT] = {
        [CSP_VERDICT_NONE] = "none",           [CSP_VERDICT_EXACT] = "exact",
        [CSP_VERDICT_TIME] = "time",           [CSP_VERDICT_ORDER] = "order",
        [CSP_VERDICT_AMBIGUOUS] = "ambiguous", [CSP_VERDICT_NATIVE] = "native",
    };
    return names[verdict];
}
