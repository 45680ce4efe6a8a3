/* A recording that goes on in another file when one is full. */
#include "collect/session_private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *file_name(const struct csp_session *session, uint32_t number)
{
    return csp_asprintf("%s.%u", session->options->output, number);
}

static void name_file(struct csp_session *session)
{
    free(session->file_name);
    session->file_name = file_name(session, ++session->result->files);
    session->output = session->file_name;
}

/* Only the newest stay. */
static void remove_oldest(const struct csp_session *session)
{
    uint32_t count = session->result->files, kept = session->options->keep_files;
    if (count <= kept)
        return;
    char *name = file_name(session, count - kept);
    if (unlink(name) != 0)
        csp_warn(session->diag, "%s: cannot remove: %s", name, strerror(errno));
    free(name);
}

/* Reads what the complete file has of processes that go on. */
static bool look_at(struct csp_slice *slice, const char *path)
{
    *slice = (struct csp_slice){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    snprintf(slice->path, sizeof slice->path, "/proc/self/fd/%d", slice->fd);
    if (slice->fd < 0)
        return false;
    csp_slice_bound(slice, true);
    return true;
}

int csp_session_begin_files(struct csp_session *session)
{
    name_file(session);
    int error = csp_session_open_file(session);
    session->file_begun = error ? 0 : csp_writer_size(session->writer);
    return error;
}

bool csp_session_is_full(const struct csp_session *session)
{
    const struct csp_session_options *options = session->options;
    uint64_t size = csp_writer_size(session->writer);
    return options->size_limit && size >= options->size_limit && size >= 2 * session->file_begun;
}

/* While it is stopped the kernel hands over all trace, also what it would not have told of yet. So
 * a file has the trace of all of its samples. */
int csp_session_next_file(struct csp_session *session)
{
    struct csp_slice before;
    csp_session_switch(session, false, PERF_EVENT_IOC_DISABLE);
    csp_session_drain(session, true);
    int error = csp_session_close_file(session);
    bool known = !error && look_at(&before, session->file_name);
    name_file(session);
    if (!error)
        error = csp_session_open_slice_file(session);
    if (!error && known)
        csp_slice_carry(&before, session->writer);
    session->file_begun = error ? 0 : csp_writer_size(session->writer);
    if (known)
        csp_slice_free(&before);
    csp_session_switch(session, false, PERF_EVENT_IOC_ENABLE);
    if (!error)
        remove_oldest(session);
    return error;
}
