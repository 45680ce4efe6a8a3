/* Why pauses have no window: what lies between the windows of their neighbours. */
#include "decode/stitch_state.h"

#include "base/alloc.h"

#include <stdlib.h>

static bool is_in_pieces(const struct csp_stitch_state *state, uint32_t window)
{
    return state->bounds[window].broken || state->stream->windows[window].unsure;
}

static enum csp_unstitched why_not(const struct csp_stitch_state *state, uint32_t pause,
                                   uint32_t first, uint32_t last)
{
    enum csp_unstitched reason = CSP_UNSTITCHED_NO_WINDOW;
    const struct csp_stitch_pause *p = &state->stream->pauses[pause];
    for (uint32_t i = first; i < last; i++) {
        const struct csp_stitch_window *w = &state->stream->windows[i];
        if (is_in_pieces(state, i) || !within(&state->bounds[i], p->time) ||
            !lag_fits(state, i, pause))
            continue;
        if (!context_agrees(w, p))
            reason = CSP_UNSTITCHED_CONTEXT;
        else if (pc_contradicts(w, p))
            return CSP_UNSTITCHED_PC;
    }
    return reason;
}

/* The windows before the next pause's that has one. */
static void name_others(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    enum { LOOK_AT_MOST = 256 };
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
        while (after < before[j] && state->bounds[after].late < stream->pauses[j].time)
            after++;
        uint32_t last = before[j] - after > LOOK_AT_MOST ? after + LOOK_AT_MOST : before[j];
        pairs[j].reason = (uint8_t)why_not(state, j, after, last);
    }
    free(before);
}

static bool is_cut_window_of(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_pause *p = &state->stream->pauses[pause];
    const struct csp_stitch_resume *opened_by = state->opened_by[pause];
    uint64_t last = state->bounds[window].last;
    bool opened_later = opened_by && last && opened_by->time > last + state->tolerance;
    return is_in_pieces(state, window) && !opened_later &&
           within(&state->bounds[window], p->time) && context_agrees(w, p);
}

/* Per window: the first from it on that was cut, the number of windows without any. */
static uint32_t *find_cut_windows(const struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t *cut = csp_malloc((stream->window_len + 1) * sizeof *cut);
    cut[stream->window_len] = stream->window_len;
    for (uint32_t i = stream->window_len; i-- > 0;)
        cut[i] = is_in_pieces(state, i) ? i : cut[i + 1];
    return cut;
}

/* Windows that were cut short take no part in the alignment, where they would compete with whole
 * ones. What they explain is a pause between the neighbours' that found no window. */
static void name_cut_windows(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t *cut = find_cut_windows(state);
    uint32_t after = 0; /* the windows before it have their pauses */
    for (uint32_t j = 0; j < stream->pause_len && cut[after] < stream->window_len; j++) {
        uint64_t time = stream->pauses[j].time;
        if (pairs[j].window != CSP_STITCH_NONE)
            after = pairs[j].window + 1;
        if (pairs[j].verdict != CSP_VERDICT_NONE)
            continue;
        while (cut[after] < stream->window_len && state->bounds[cut[after]].late < time)
            after = cut[after] + 1;
        uint32_t i = cut[after];
        while (i < stream->window_len && state->bounds[i].early <= time &&
               !is_cut_window_of(state, i, j))
            i = cut[i + 1];
        if (i == stream->window_len || state->bounds[i].early > time)
            continue;
        pairs[j].reason = CSP_UNSTITCHED_CUT;
        after = i + 1;
    }
    free(cut);
}

void csp_stitch_name_unpaired(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    name_others(state, pairs);
    name_cut_windows(state, pairs);
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
