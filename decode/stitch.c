#include "decode/stitch.h"

#include "base/alloc.h"
#include "decode/stitch_align.h"
#include "decode/stitch_state.h"

#include <stdlib.h>

/* Evidence, in units of csp_align's score. An agreeing PC is worth more than everything else
 * together, because it is the only evidence that a shifted sequence does not repeat by itself. */
enum {
    SCORE_NO_PC = 1,
    SCORE_PC = 8,
    SCORE_START = 3,
    SCORE_TIME = 3,
    /* Without time, a pair is exact only if both its ends agree, and the second-best explanation
     * does without this many pairs. The end alone is not enough: a lost window beside a lost sample
     * that was taken at the same place leaves no other trace of either. */
    EXACT_MARGIN = 6 * SCORE_PC,
    /* … and it is believed at all only if that lacks more than one pair. */
    ORDER_MARGIN = SCORE_PC + SCORE_START + 1,
};

/* Of one that may be two: whether it began when its pause's own window did. */
static bool is_one_window(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    const struct csp_stitch_resume *resume = state->opened_by[pause];
    uint64_t first = state->bounds[window].first;
    return !state->stream->windows[window].unsure ||
           (resume && first && first + state->tolerance >= resume->time);
}

static inline bool fits(const struct csp_stitch_state *state, uint32_t window, uint32_t pause)
{
    return may_be_pair(state, window, pause) && fits_in_time(state, window, pause) &&
           is_one_window(state, window, pause);
}

static uint32_t score(const void *user, uint32_t window, uint32_t pause)
{
    const struct csp_stitch_state *state = user;
    const struct csp_stitch_window *w = &state->stream->windows[window];
    const struct csp_stitch_pause *p = &state->stream->pauses[pause];
    if (!fits(state, window, pause))
        return 0;
    uint32_t evidence = pc_agrees(w, p) ? SCORE_PC : SCORE_NO_PC;
    if (start_agrees(state, window, pause))
        evidence += SCORE_START;
    if (state->bounds[window].end)
        evidence += SCORE_TIME;
    return evidence;
}

/* The windows [*first, *last) whose bounds hold the pause's time; both only ever move forward. */
static void candidates(const struct csp_stitch_state *state, uint32_t pause, uint32_t *first,
                       uint32_t *last)
{
    const struct csp_stitch_stream *stream = state->stream;
    uint64_t time = stream->pauses[pause].time;
    while (*first < stream->window_len && state->bounds[*first].late < time)
        ++*first;
    if (*last < *first)
        *last = *first;
    while (*last < stream->window_len && state->bounds[*last].early <= time)
        ++*last;
}

/* Without time: a few windows that fit some pauses in order may fit them by chance. */
static bool order_tells(const struct csp_stitch_state *state, const struct csp_align_pair *aligned)
{
    return aligned->margin >= ORDER_MARGIN && state->stream->window_len >= CSP_PAIRS_THAT_TELL;
}

static inline void judge(const struct csp_stitch_state *state, uint32_t pause,
                         const struct csp_align_pair *aligned, struct csp_stitch_pair *pair)
{
    uint32_t window = aligned->row;
    bool timed = state->bounds[window].end != 0;
    bool pc = pc_agrees(&state->stream->windows[window], &state->stream->pauses[pause]);
    if (!aligned->margin || (!timed && !order_tells(state, aligned))) {
        pair->verdict = CSP_VERDICT_AMBIGUOUS;
        pair->reason = CSP_UNSTITCHED_AMBIGUOUS;
        return;
    }
    pair->window = window;
    pair->reason = CSP_UNSTITCHED_NOT;
    pair->start_agrees = start_agrees(state, window, pause);
    if (pc && (timed || (pair->start_agrees && aligned->margin >= EXACT_MARGIN)))
        pair->verdict = CSP_VERDICT_EXACT;
    else
        pair->verdict = timed ? CSP_VERDICT_TIME : CSP_VERDICT_ORDER;
}

/* Where there is but one of either, there is nothing to choose from. */
static void stitch_one(const struct csp_stitch_state *state, uint32_t window, uint32_t pause,
                       struct csp_stitch_pair *pair)
{
    const struct csp_align_pair alone = {.row = window, .margin = UINT32_MAX};
    if (fits(state, window, pause))
        judge(state, pause, &alone, pair);
}

/* A group: pauses [pause_first, pause_last) whose candidates overlap each other and no others. */
struct group {
    uint32_t window_first, window_last, pause_first, pause_last;
};

static void stitch_group(const struct csp_stitch_state *state, const struct group *group,
                         struct csp_stitch_pair *pairs)
{
    uint32_t count = group->pause_last - group->pause_first;
    struct csp_align_pair *aligned = csp_malloc(count * sizeof *aligned);
    csp_align(group->window_first, group->window_last, group->pause_first, group->pause_last, score,
              state, aligned);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t j = group->pause_first + k;
        if (aligned[k].row != UINT32_MAX)
            judge(state, j, &aligned[k], &pairs[j]);
    }
    free(aligned);
}

static void end_group(const struct csp_stitch_state *state, const struct group *group,
                      struct csp_stitch_pair *pairs)
{
    if (group->pause_last - group->pause_first == 1 &&
        group->window_last - group->window_first == 1) /* nearly all are */
        stitch_one(state, group->window_first, group->pause_first, &pairs[group->pause_first]);
    else
        stitch_group(state, group, pairs);
}

void csp_stitch_pair_groups(const struct csp_stitch_state *state, struct csp_stitch_pair *pairs)
{
    struct group group = {0};
    uint32_t first = 0, last = 0;
    for (uint32_t j = 0; j < state->stream->pause_len; j++) {
        candidates(state, j, &first, &last);
        if (group.pause_last > group.pause_first && first >= group.window_last) {
            end_group(state, &group, pairs);
            group.pause_first = j;
        }
        if (group.pause_first == j)
            group.window_first = first;
        group.window_last = last;
        group.pause_last = j + 1;
    }
    if (group.pause_last > group.pause_first)
        end_group(state, &group, pairs);
}

static struct csp_stitch_state begin(const struct csp_stitch_stream *stream)
{
    struct csp_stitch_state state = {
        .stream = stream, .tolerance = stream->tolerance, .use_records = true};
    state.bounds = csp_malloc(stream->window_len * sizeof *state.bounds);
    return state;
}

static void end(struct csp_stitch_state *state)
{
    free(state->bounds);
    free(state->opened_by);
}

void csp_stitch_survey(const struct csp_stitch_stream *stream, struct csp_stitch_trust *trust)
{
    if (!stream->pause_len || !stream->window_len)
        return;
    struct csp_stitch_state state = begin(stream);
    csp_stitch_ask_trace_time(&state, trust);
    end(&state);
}

void csp_stitch(const struct csp_stitch_stream *stream, const struct csp_stitch_trust *trust,
                struct csp_stitch_pair *pairs, struct csp_stitch_clock *clock)
{
    for (uint32_t j = 0; j < stream->pause_len; j++)
        pairs[j] =
            (struct csp_stitch_pair){.window = CSP_STITCH_NONE, .reason = CSP_UNSTITCHED_NO_WINDOW};
    *clock = (struct csp_stitch_clock){0};
    if (!stream->pause_len || !stream->window_len)
        return;
    struct csp_stitch_state state = begin(stream);
    csp_stitch_find_openers(&state);
    clock->time = csp_stitch_settle_time(&state, trust, clock);
    state.doubt = clock->time == CSP_STITCH_TIME_FITTED ? state.tolerance : 0;
    csp_stitch_pair_groups(&state, pairs);
    csp_stitch_doubt(&state, pairs);
    csp_stitch_name_unpaired(&state, pairs);
    end(&state);
}
