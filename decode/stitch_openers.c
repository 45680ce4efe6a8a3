/* Which resume opened the window that a pause closed, and what that says of windows. */
#include "decode/stitch_state.h"

#include "base/alloc.h"

/* A resume at the very time of a pause came after it: it opened the next pause's window. */
void csp_stitch_find_openers(struct csp_stitch_state *state)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t next = 0;
    state->opened_by = csp_malloc(stream->pause_len * sizeof *state->opened_by);
    for (uint32_t j = 0; j < stream->pause_len; j++) {
        const struct csp_stitch_resume *last = NULL;
        while (next < stream->resume_len && stream->resumes[next].time < stream->pauses[j].time)
            last = &stream->resumes[next++];
        state->opened_by[j] = last;
    }
}

/* Whether one of the times lies in (from, to]. */
static bool any_between(const uint64_t *times, uint32_t count, uint64_t from, uint64_t to)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times[middle] <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && times[low] <= to;
}

bool csp_stitch_lost_between(const struct csp_stitch_stream *stream, uint64_t from, uint64_t to)
{
    return any_between(stream->losses, stream->loss_len, from, to);
}

bool csp_stitch_switched_between(const struct csp_stitch_stream *stream, uint64_t from, uint64_t to)
{
    return any_between(stream->switches, stream->switch_len, from, to);
}

/* Without a resume since the pause before, and none lost, the trace was off. */
static enum csp_opening without_resume(const struct csp_stitch_state *state, uint32_t pause)
{
    const struct csp_stitch_stream *stream = state->stream;
    if (!pause ||
        csp_stitch_lost_between(stream, stream->pauses[pause - 1].time, stream->pauses[pause].time))
        return CSP_OPENING_UNKNOWN;
    return stream->resume_len ? CSP_OPENING_EXCLUDES : CSP_OPENING_ALLOWS;
}

enum csp_opening csp_stitch_opening(const struct csp_stitch_state *state, uint32_t window,
                                    uint32_t pause)
{
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    const struct csp_stitch_bounds *bounds = &state->bounds[window];
    /* Of what may be two windows, the beginning may be another's. */
    bool begins = w->start_pc && !w->unsure;
    bool agrees = start_agrees(state, window, pause);
    uint64_t paused = state->stream->pauses[pause].time;
    if (bounds->last > paused + state->tolerance)
        return CSP_OPENING_EXCLUDES;
    if (!resume)
        return without_resume(state, pause);
    if (bounds->last && resume->time > bounds->last + state->tolerance)
        return CSP_OPENING_EXCLUDES;
    if (begins && bounds->first && resume->time > bounds->first + state->tolerance)
        return CSP_OPENING_EXCLUDES;
    if (csp_stitch_lost_between(state->stream, resume->time, paused) ||
        csp_stitch_switched_between(state->stream, resume->time, paused))
        return CSP_OPENING_UNKNOWN;
    if (begins && resume->pc && !agrees)
        return CSP_OPENING_EXCLUDES;
    if (w->unsure && !agrees)
        return CSP_OPENING_UNKNOWN;
    if (bounds->last)
        return CSP_OPENING_TELLS;
    return agrees ? CSP_OPENING_ALLOWS : CSP_OPENING_UNKNOWN;
}
