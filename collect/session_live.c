/* A recording that is taken in slices while it goes on. */
#include "collect/session_private.h"

enum {
    SLICE_SIZE = 8 * 1024 * 1024,
    CONTEXT = 8 * 1024, /* of each ring; repeated in each slice, which is to have many times that */
    LIMIT = 2,          /* slice sizes; then a slice that is not taken is dropped */
};
static const uint64_t slice_ns = 2000000000;

uint64_t csp_session_context(const struct csp_session *session)
{
    /* A window can be that of a pause period; each cycle of it takes no more than half a byte. */
    uint64_t context = CONTEXT;
    const struct csp_plan *plan = session->options->plan;
    while (context < (plan->phase ? plan->phase : plan->pause_period) / 2)
        context *= 2;
    return context;
}

static int open_slice(struct csp_session *session)
{
    int error = csp_slice_create(&session->slice, csp_session_context(session), session->diag);
    session->output = session->slice.path;
    session->slice_began_ns = csp_session_now_ns();
    return error;
}

int csp_session_begin_live(struct csp_session *session)
{
    int error = open_slice(session);
    return error ? error : csp_session_open_file(session);
}

static uint64_t slice_size(const struct csp_session *session)
{
    const struct csp_live_taker *live = session->options->live;
    uint64_t context = session->result->rings * 16 * csp_session_context(session);
    return live->slice_size ? live->slice_size : SLICE_SIZE + context;
}

static bool is_due(const struct csp_session *session)
{
    const struct csp_live_taker *live = session->options->live;
    uint64_t most = live->slice_ns ? live->slice_ns : slice_ns;
    return session->cut_wanted || csp_writer_size(session->writer) >= slice_size(session) ||
           csp_session_now_ns() - session->slice_began_ns >= most;
}

/* The next slice's file, with what it needs of this one. */
static int begin_next(struct csp_session *session)
{
    struct csp_slice before = session->slice;
    int error = open_slice(session);
    if (!error)
        error = csp_session_open_slice_file(session);
    if (!error)
        csp_slice_carry(&before, session->writer);
    csp_slice_follow(&session->slice, &before);
    csp_slice_close_view(&before);
    session->slice_given = before;
    return error;
}

/* Nobody was ready for it for too long. */
static void drop_slice(struct csp_session *session)
{
    session->result->dropped_slices++;
    session->result->dropped_samples += session->slice_given.samples;
    csp_slice_free(&session->slice_given);
}

static void give_slice(struct csp_session *session, bool last)
{
    const struct csp_live_taker *live = session->options->live;
    session->result->slices++;
    session->result->taken_samples += session->slice_given.samples;
    session->slice_given.last = last;
    live->take(live->user, &session->slice_given, session->cut_wanted);
    session->slice_given = (struct csp_slice){.fd = -1};
    session->cut_wanted = false;
}

int csp_session_pass_slice(struct csp_session *session, bool last)
{
    const struct csp_live_taker *live = session->options->live;
    bool full = csp_writer_size(session->writer) >= LIMIT * slice_size(session);
    bool ready = last || live->ready(live->user);
    if (!last && !full && (!ready || !is_due(session)))
        return 0;
    int error = csp_session_close_file(session);
    if (error)
        return error;
    bool counts = csp_slice_bound(&session->slice, last || full);
    error = begin_next(session);
    if (error)
        return error;
    if (!ready)
        drop_slice(session);
    else if (counts || last || session->cut_wanted)
        give_slice(session, last);
    else
        csp_slice_free(&session->slice_given);
    return 0;
}

void csp_session_end_live(struct csp_session *session)
{
    if (!session->options->live)
        return;
    csp_writer_close(session->writer, NULL);
    session->writer = NULL;
    csp_slice_free(&session->slice);
    csp_slice_free(&session->slice_given);
}
