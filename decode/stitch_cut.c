/* Windows that were cut short take no part in the alignment, where they would compete with whole
 * ones. What they explain is a pause between the neighbours' that found no window. */
#include "decode/stitch_state.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { LOOK_AT_MOST = 256 };

/* A pause without a window, and the cut windows between its neighbours': numbers in `cut`. */
struct seeker {
    uint32_t pause;
    uint32_t first, last;
    uint32_t from_front, from_back; /* what it gets when all choose in order, or in reverse */
    bool told;
    bool whole; /* … though the window that tells ends at this pause: nothing may be missing */
    bool begun; /* what may be two windows, of which this pause closed neither, begins as its own */
};

struct cut_windows {
    const struct csp_stitch_state *state;
    uint32_t *cut; /* numbers of windows */
    bool *taken;   /* … of which the pause is known */
    uint32_t cut_len;
    struct seeker *seekers;
    uint32_t seeker_len;
    uint32_t *pause_of; /* per window, CSP_STITCH_NONE without any */
};

/* Of what may be two windows, the context may be read from the middle of a packet. */
static bool context_allows(const struct csp_stitch_window *window,
                           const struct csp_stitch_pause *pause)
{
    return window->unsure || context_agrees(window, pause);
}

static enum csp_opening fits(const struct cut_windows *all, uint32_t number,
                             const struct seeker *seeker)
{
    const struct csp_stitch_state *state = all->state;
    uint32_t window = all->cut[number];
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_pause *p = &state->stream->pauses[seeker->pause];
    bool timely = within(&state->bounds[window], p->time);
    if ((!timely && !may_fit_in_time(state, window, seeker->pause)) || !context_allows(w, p))
        return CSP_OPENING_EXCLUDES;
    enum csp_opening opening = csp_stitch_opening(state, window, seeker->pause);
    /* Of one that only has an impossible time, nobody knows that it was cut. */
    bool cut = timely && (w->cut || w->unsure);
    return cut || opening == CSP_OPENING_EXCLUDES ? opening : CSP_OPENING_UNKNOWN;
}

static void find_cut(struct cut_windows *all)
{
    const struct csp_stitch_state *state = all->state;
    all->cut = csp_malloc(state->stream->window_len * sizeof *all->cut);
    for (uint32_t i = 0; i < state->stream->window_len; i++)
        if (is_in_pieces(state, i))
            all->cut[all->cut_len++] = i;
    all->taken = csp_calloc(all->cut_len, sizeof *all->taken);
}

static bool is_over(const struct csp_stitch_state *state, uint32_t window, uint64_t time)
{
    return state->bounds[window].late < time && time - state->bounds[window].late > state->doubt;
}

static bool has_ended(const struct csp_stitch_state *state, uint32_t window, uint64_t time)
{
    return state->bounds[window].early <= time + state->doubt;
}

/* Of what may be two windows, the time is that of one of them. So what tells is where it began, and
 * that it had when an earlier record was written; the resume may be one that was lost. */
static bool begins_as_its_own(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    const struct csp_stitch_stream *stream = state->stream;
    const struct csp_stitch_window *w = &stream->windows[window];
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    uint64_t time = stream->pauses[pause].time;
    uint64_t since = resume ? resume->time : pause ? stream->pauses[pause - 1].time : 0;
    if (!w->unsure || (w->begun_by && since > w->begun_by + stream->tolerance))
        return false;
    if (!start_agrees(state, window, pause) && !csp_stitch_lost_between(stream, since, time))
        return false;
    return !window || has_ended(state, window - 1, time);
}

static void find_seekers(struct cut_windows *all, const struct csp_stitch_pair *pairs)
{
    const struct csp_stitch_state *state = all->state;
    const struct csp_stitch_stream *stream = state->stream;
    uint32_t first = 0, first_behind_pair = 0;
    all->seekers = csp_malloc(stream->pause_len * sizeof *all->seekers);
    for (uint32_t j = 0; j < stream->pause_len; j++) {
        uint64_t time = stream->pauses[j].time;
        uint32_t window = pairs[j].window;
        while (first < all->cut_len && (is_over(state, all->cut[first], time) ||
                                        (window != CSP_STITCH_NONE && all->cut[first] < window)))
            first++;
        if (window != CSP_STITCH_NONE)
            first_behind_pair = first;
        if (pairs[j].verdict == CSP_VERDICT_NONE)
            all->seekers[all->seeker_len++] = (struct seeker){
                .pause = j,
                .first = first,
                .begun =
                    first > first_behind_pair && begins_as_its_own(state, all->cut[first - 1], j),
            };
    }
    uint32_t before = stream->window_len, j = stream->pause_len;
    for (uint32_t k = all->seeker_len; k-- > 0;) {
        struct seeker *seeker = &all->seekers[k];
        for (; j > seeker->pause; j--)
            if (j < stream->pause_len && pairs[j].window != CSP_STITCH_NONE)
                before = pairs[j].window;
        seeker->last = seeker->first;
        while (seeker->last < all->cut_len && seeker->last - seeker->first < LOOK_AT_MOST &&
               all->cut[seeker->last] < before &&
               has_ended(state, all->cut[seeker->last], stream->pauses[seeker->pause].time))
            seeker->last++;
        seeker->begun |= seeker->last < all->cut_len && all->cut[seeker->last] < before &&
                         begins_as_its_own(state, all->cut[seeker->last], seeker->pause);
    }
}

static void take(struct cut_windows *all, uint32_t number, struct seeker *seeker)
{
    const struct csp_stitch_stream *stream = all->state->stream;
    const struct csp_stitch_window *window = &stream->windows[all->cut[number]];
    all->taken[number] = seeker->told = true;
    seeker->whole |= window->unsure && pc_agrees(window, &stream->pauses[seeker->pause]);
}

/* What ran between the last resume and the pause is what that pause closed. */
static void take_told(struct cut_windows *all)
{
    for (uint32_t k = 0; k < all->seeker_len; k++) {
        struct seeker *seeker = &all->seekers[k];
        for (uint32_t i = seeker->first; i < seeker->last; i++)
            if (fits(all, i, seeker) == CSP_OPENING_TELLS)
                take(all, i, seeker);
    }
}

static void find_pauses(struct cut_windows *all, const struct csp_stitch_pair *pairs)
{
    const struct csp_stitch_stream *stream = all->state->stream;
    all->pause_of = csp_malloc(stream->window_len * sizeof *all->pause_of);
    for (uint32_t i = 0; i < stream->window_len; i++)
        all->pause_of[i] = CSP_STITCH_NONE;
    for (uint32_t j = 0; j < stream->pause_len; j++)
        if (pairs[j].window != CSP_STITCH_NONE)
            all->pause_of[pairs[j].window] = j;
}

/* Whether the trace unit did what each resume said: of many windows with no trace lost between
 * them, there is none at the pauses between theirs. */
static bool every_resume_worked(const struct cut_windows *all)
{
    enum { MANY = 1000 };
    const struct csp_stitch_state *state = all->state;
    uint32_t seen = 0;
    for (uint32_t i = 1; i < state->stream->window_len; i++) {
        uint32_t before = all->pause_of[i - 1], pause = all->pause_of[i];
        if (!state->stream->windows[i].adjacent || before == CSP_STITCH_NONE ||
            pause == CSP_STITCH_NONE)
            continue;
        for (uint32_t j = before + 1; j < pause; j++)
            if (state->opened_by[j])
                return false;
        seen++;
    }
    return seen >= MANY;
}

/* Number of the first seeker behind a pause. */
static uint32_t seeker_behind(const struct cut_windows *all, uint32_t pause)
{
    uint32_t low = 0, high = all->seeker_len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->seekers[middle].pause <= pause)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first pause behind that of the window before, if it can have been it. */
static struct seeker *first_that_fits(const struct cut_windows *all, uint32_t number)
{
    const struct csp_stitch_state *state = all->state;
    uint32_t before = all->pause_of[all->cut[number] - 1];
    for (uint32_t k = seeker_behind(all, before); k < all->seeker_len; k++) {
        struct seeker *seeker = &all->seekers[k];
        if (number < seeker->first || number >= seeker->last)
            return NULL;
        enum csp_opening opening = fits(all, number, seeker);
        if (opening == CSP_OPENING_EXCLUDES)
            continue;
        uint64_t from = state->stream->pauses[before].time;
        uint64_t to = state->stream->pauses[seeker->pause].time;
        bool known =
            opening != CSP_OPENING_UNKNOWN && !csp_stitch_lost_between(state->stream, from, to);
        return known ? seeker : NULL;
    }
    return NULL;
}

/* Nothing is missing between a window and the one before it: so its pause is the next that can be,
 * and not a later one. */
static void take_next(struct cut_windows *all)
{
    const struct csp_stitch_stream *stream = all->state->stream;
    if (!every_resume_worked(all))
        return;
    for (uint32_t i = 0; i < all->cut_len; i++) {
        uint32_t window = all->cut[i];
        if (all->taken[i] || !stream->windows[window].adjacent || !window ||
            all->pause_of[window - 1] == CSP_STITCH_NONE)
            continue;
        struct seeker *seeker = first_that_fits(all, i);
        if (seeker)
            take(all, i, seeker);
    }
}

/* Gives each pause the first window that is left, and its neighbour the next. */
static void choose_in_order(struct cut_windows *all)
{
    uint32_t next = 0;
    for (uint32_t k = 0; k < all->seeker_len; k++) {
        struct seeker *seeker = &all->seekers[k];
        uint32_t i = seeker->first > next ? seeker->first : next;
        seeker->from_front = CSP_STITCH_NONE;
        if (seeker->told)
            continue;
        while (i < seeker->last && (all->taken[i] || fits(all, i, seeker) == CSP_OPENING_EXCLUDES))
            i++;
        if (i >= seeker->last)
            continue;
        seeker->from_front = i;
        next = i + 1;
    }
}

static void choose_in_reverse(struct cut_windows *all)
{
    uint32_t next = all->cut_len;
    for (uint32_t k = all->seeker_len; k-- > 0;) {
        struct seeker *seeker = &all->seekers[k];
        uint32_t i = seeker->last < next ? seeker->last : next;
        seeker->from_back = CSP_STITCH_NONE;
        if (seeker->told)
            continue;
        while (i > seeker->first &&
               (all->taken[i - 1] || fits(all, i - 1, seeker) == CSP_OPENING_EXCLUDES))
            i--;
        if (i <= seeker->first)
            continue;
        seeker->from_back = next = i - 1;
    }
}

static bool any_fits(const struct cut_windows *all, const struct seeker *seeker)
{
    for (uint32_t i = seeker->first; i < seeker->last; i++)
        if ((!all->taken[i] && fits(all, i, seeker) != CSP_OPENING_EXCLUDES) ||
            begins_as_its_own(all->state, all->cut[i], seeker->pause))
            return true;
    return false;
}

/* Whether the window's own sample cannot be a lost one. */
static bool is_certain(const struct cut_windows *all, uint32_t number, const struct seeker *seeker)
{
    const struct csp_stitch_state *state = all->state;
    uint64_t time = state->stream->pauses[seeker->pause].time;
    return fits(all, number, seeker) != CSP_OPENING_UNKNOWN &&
           !csp_stitch_lost_between(state->stream, state->bounds[all->cut[number]].early, time);
}

static enum csp_unstitched reason_of(const struct cut_windows *all, const struct seeker *seeker,
                                     enum csp_unstitched before)
{
    bool front = seeker->from_front != CSP_STITCH_NONE, back = seeker->from_back != CSP_STITCH_NONE;
    if (seeker->told)
        return seeker->whole ? CSP_UNSTITCHED_UNTOLD : CSP_UNSTITCHED_CUT;
    if (!front && !back)
        return seeker->begun || any_fits(all, seeker) ? CSP_UNSTITCHED_UNTOLD : before;
    bool certain = before == CSP_UNSTITCHED_NO_WINDOW && front && back &&
                   is_certain(all, seeker->from_front, seeker) &&
                   is_certain(all, seeker->from_back, seeker);
    return certain ? CSP_UNSTITCHED_CUT : CSP_UNSTITCHED_UNTOLD;
}

void csp_stitch_name_cut(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    struct cut_windows all = {.state = state};
    find_cut(&all);
    if (all.cut_len) {
        find_seekers(&all, pairs);
        find_pauses(&all, pairs);
        take_told(&all);
        take_next(&all);
        choose_in_order(&all);
        choose_in_reverse(&all);
    }
    for (uint32_t k = 0; k < all.seeker_len; k++) {
        struct csp_stitch_pair *pair = &pairs[all.seekers[k].pause];
        pair->reason = (uint8_t)reason_of(&all, &all.seekers[k], (enum csp_unstitched)pair->reason);
    }
    free(all.cut);
    free(all.taken);
    free(all.seekers);
    free(all.pause_of);
}
