/* A recording that is taken in slices while it goes on. */
#include "collect/session_private.h"

enum {
    SLICE_SIZE = 4 * 1024 * 1024,
    LIMIT = 4, /* slice sizes; then a slice that is not taken is dropped */
};
static const uint64_t slice_ns = 1000000000;

static int open_slice(struct csp_session *session)
{
    int error = csp_slice_create(&session->slice, session->diag);
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
    /* Context is repeated in each slice: slices must be larger by some factor. */
    uint64_t context = session->rings.len * 4 * (uint64_t)CSP_SLICE_AUX_BYTES;
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
