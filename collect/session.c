#include "collect/session_private.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 100, LIVE_REST_MS = 5 };

uint64_t csp_session_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Members of a group follow their leader. */
void csp_session_switch(struct csp_session *session, bool trackers, unsigned long request)
{
    for (size_t i = 0; i < session->events.len; i++) {
        const struct csp_session_event *event = &session->events.data[i];
        bool tracker = session->set.roles[event->event] == CSP_EVENT_TRACKER;
        if (trackers ? tracker : event->event == 0)
            ioctl(event->fd, request, 0);
    }
}

/* The threads of each process; those that are made while we look are children of ones that we have,
 * or are found by looking again. */
static int find_tasks(struct csp_session *session)
{
    const struct csp_session_options *options = session->options;
    struct csp_tids found = {0};
    for (size_t i = 0; i < options->pids.tids.len; i++)
        if (!csp_process_threads(options->pids.tids.data[i], &found)) {
            csp_vec_free(&found.tids);
            return csp_fail(session->diag, CSP_ERR_INPUT, "there is no process %u",
                            options->pids.tids.data[i]);
        }
    for (size_t i = 0; i < found.tids.len; i++)
        csp_vec_push(&session->watched, found.tids.data[i]);
    csp_vec_free(&found.tids);
    for (size_t i = 0; i < options->tids.tids.len; i++) {
        if (!csp_thread_process(options->tids.tids.data[i]))
            return csp_fail(session->diag, CSP_ERR_INPUT, "there is no thread %u",
                            options->tids.tids.data[i]);
        csp_vec_push(&session->watched, options->tids.tids.data[i]);
    }
    if (session->has_workload)
        csp_vec_push(&session->watched, (uint32_t)session->workload.pid);
    return 0;
}

static bool tasks_ended(const struct csp_session *session)
{
    if (session->has_workload)
        return session->workload.ended;
    for (size_t i = 0; i < session->watched.len; i++)
        if (!csp_thread_ended(session->watched.data[i]))
            return false;
    return session->watched.len > 0;
}

/* Once there is room again, trace goes on: nobody else enables what perf_aux_output_begin and
 * perf_aux_output_end (kernel/events/ring_buffer.c) disabled. */
static void restart_trace(struct csp_session *session, struct csp_ring *ring)
{
    if (!ring->stopped)
        return;
    ring->stopped = false;
    session->result->totals.restarts++;
    for (size_t i = 0; i < session->events.len; i++) {
        const struct csp_session_event *event = &session->events.data[i];
        if (event->event == 0 && event->ring == ring->idx)
            ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
    }
}

void csp_session_drain(struct csp_session *session, bool last)
{
    struct csp_ring_listener listener = {csp_session_hw_id, session};
    uint64_t moved = 0;
    for (size_t i = 0; i < session->rings.len; i++) {
        moved += csp_ring_drain(&session->rings.data[i], session->writer, &session->result->totals,
                                &listener, last);
        if (!last)
            restart_trace(session, &session->rings.data[i]);
    }
    /* All rings were emptied: nothing older than what this pass found can come after the next. */
    if (moved)
        csp_write_finished_round(session->writer);
    if (!session->options->live) /* a slice is read as a whole, or not at all */
        csp_writer_flush(session->writer);
}

/* Takes what the signals say; true when recording is to end. */
static bool take_signals(struct csp_session *session, int signals)
{
    struct signalfd_siginfo info;
    bool stop = false;
    while (read(signals, &info, sizeof info) == sizeof info) {
        int signal = (int)info.ssi_signo;
        if (signal == SIGUSR2) {
            session->cut_wanted = true;
            continue;
        }
        if (signal == SIGCHLD || !session->has_workload) {
            stop |= signal != SIGCHLD;
            continue;
        }
        /* A terminal sends SIGINT to the command as well, which may have its own use for it.
         * Whoever sends it to us alone means both, and a command in the background ignores SIGINT.
         */
        bool told = signal == SIGINT && info.ssi_code == SI_KERNEL && !session->interrupted;
        session->interrupted |= signal == SIGINT;
        if (!told && !session->workload.ended)
            kill(session->workload.pid, signal == SIGINT ? SIGTERM : signal);
    }
    if (session->has_workload)
        csp_workload_wait(&session->workload, false);
    return stop;
}

static bool time_to_stop(struct csp_session *session, uint64_t started)
{
    const struct csp_session_options *options = session->options;
    struct csp_session_result *result = session->result;
    if (csp_writer_error(session->writer))
        result->stop = CSP_STOP_WRITE_ERROR;
    else if (options->duration_ns && csp_session_now_ns() - started >= options->duration_ns)
        result->stop = CSP_STOP_DURATION;
    else if (!options->keep_files && csp_session_is_full(session))
        result->stop = CSP_STOP_SIZE;
    else if (options->live && options->live->enough(options->live->user))
        result->stop = CSP_STOP_ENOUGH;
    else
        return false;
    return true;
}

static int wait_ms(const struct csp_session *session, uint64_t started)
{
    uint64_t left = session->options->duration_ns;
    if (!left)
        return POLL_MS;
    uint64_t gone = csp_session_now_ns() - started;
    left = gone < left ? (left - gone) / 1000000 + 1 : 0;
    return left < POLL_MS ? (int)left : POLL_MS;
}

static int record(struct csp_session *session, int signals)
{
    const struct csp_session_options *options = session->options;
    int error = 0;
    CSP_VEC(struct pollfd) polled = {0};
    csp_vec_push(&polled, (struct pollfd){.fd = signals, .events = POLLIN});
    for (size_t i = 0; i < session->rings.len; i++)
        csp_vec_push(&polled, (struct pollfd){.fd = session->rings.data[i].fd, .events = POLLIN});
    uint64_t started = csp_session_now_ns();
    while (!error) {
        /* Small slices have the kernel wake us often: rings hold more than comes meanwhile. */
        if (options->live)
            poll(polled.data, 1, LIVE_REST_MS);
        int ready = poll(polled.data, polled.len, wait_ms(session, started));
        /* A ring of tasks that have ended hangs up for ever. */
        for (size_t i = 1; ready > 0 && i < polled.len; i++)
            if (polled.data[i].revents & (POLLHUP | POLLERR))
                polled.data[i].fd = -1;
        bool stop = take_signals(session, signals), ended = tasks_ended(session);
        csp_session_drain(session, false);
        if (options->live)
            error = csp_session_pass_slice(session, false);
        if (error || time_to_stop(session, started))
            break;
        if (stop || ended) {
            session->result->stop = stop ? CSP_STOP_SIGNAL : CSP_STOP_ENDED;
            break;
        }
        if (options->keep_files && csp_session_is_full(session))
            error = csp_session_next_file(session);
    }
    session->result->seconds = (double)(csp_session_now_ns() - started) / 1e9;
    csp_vec_free(&polled);
    return error;
}

/* A pinned group that cannot be scheduled reads as end of file. A CPU's own event runs all the time
 * that it is enabled; those of a task are enabled together and run in turns, where the task is. */
static void check_scheduling(struct csp_session *session)
{
    bool everywhere = session->result->rings == session->options->target->online.cpus.len;
    uint64_t enabled = 0, running = 0;
    for (size_t i = 0; i < session->events.len; i++) {
        const struct csp_session_event *event = &session->events.data[i];
        uint64_t values[3] = {0}; /* count, time enabled, time running */
        if (event->event != 0)
            continue;
        ssize_t got = read(event->fd, values, sizeof values);
        session->result->unscheduled +=
            got == 0 || (event->tid < 0 && values[2] < values[1] - values[1] / 100);
        if (event->ring == 0)
            enabled += values[1];
        running += values[2];
    }
    /* The clock of one CPU is read a little before that of the next. */
    if (session->tasks.data[0] >= 0 && everywhere && running < enabled - enabled / 20)
        session->result->unscheduled++;
}

/* The command goes on when recording stopped before its end; its exit code is ours. */
static void finish_workload(struct csp_session *session, int signals)
{
    struct pollfd polled = {.fd = signals, .events = POLLIN};
    while (!session->workload.ended) {
        poll(&polled, 1, POLL_MS);
        take_signals(session, signals);
    }
    int status = session->workload.status;
    session->result->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether that user may read what a profile is made of while it is recorded. A command without a
 * folder is one of the system's, which everybody may read. */
static bool may_read_program(const struct csp_session_options *options)
{
    const char *program = options->program;
    if (!program && options->command && strchr(options->command[0], '/'))
        program = options->command[0];
    return !program || csp_user_may_read(options->user, program);
}

/* What keeps us from becoming the user who called; null: nothing does. */
static const char *needs_root(const struct csp_session *session)
{
    const struct csp_session_options *options = session->options;
    bool creates = options->keep_files || options->live;
    if (creates && !csp_user_may_create(options->user, options->output))
        return options->live ? "that user may not write the profile there"
                             : "that user may not make the files that follow";
    if (options->live && !options->program && !options->command)
        return "which program's code is to be read is found out later (-b names it)";
    if (options->live && !may_read_program(options))
        return "that user may not read the program";
    return NULL;
}

/* Everything is open; what comes from the kernel, and from the programs that run, is dealt with
 * without the rights that opening took. */
static int become_user(struct csp_session *session)
{
    const struct csp_session_options *options = session->options;
    const struct csp_user *user = options->user;
    if (!user)
        return 0;
    if (!options->live && !csp_writer_give(session->writer, user->uid, user->gid))
        csp_warn(session->diag, "%s: cannot give it to user %u: %s", session->output,
                 (unsigned)user->uid, strerror(errno));
    const char *reason = needs_root(session);
    if (reason) {
        csp_warn(session->diag,
                 "%s: recording goes on as root, not as user %u, who called sudo: %s",
                 options->output, (unsigned)user->uid, reason);
        return 0;
    }
    if (!csp_become_user(user, session->has_workload))
        return csp_fail(session->diag, CSP_ERR_FAILED, "cannot become user %u, who called sudo: %s",
                        (unsigned)user->uid, strerror(errno));
    session->result->became_user = true;
    return 0;
}

static int start(struct csp_session *session, const sigset_t *mask)
{
    const struct csp_session_options *options = session->options;
    int error = 0;
    if (options->command) {
        error = csp_workload_start(&session->workload, options->command, mask,
                                   options->output_to_stderr, session->diag);
        session->has_workload = error == 0;
    }
    if (!error)
        error = find_tasks(session);
    if (error)
        return error;
    bool tasks = session->watched.len && !options->plan->phase;
    bool on_exec = session->has_workload && tasks;
    if (options->cgroup)
        error = csp_session_open_cgroup(session);
    if (error)
        return error;
    for (size_t i = 0; tasks && i < session->watched.len; i++)
        csp_vec_push(&session->tasks, session->watched.data[i]);
    if (!tasks)
        csp_vec_push(&session->tasks, -1);
    csp_event_set_make(&session->set, options->plan, options->target, tasks,
                       on_exec ? CSP_START_ON_EXEC : CSP_START_BY_HAND);
    if (options->live && session->set.has_trace)
        session->set.attrs[0].aux_watermark = (uint32_t)csp_session_context(session);
    error = csp_session_open_events(session);
    /* Before procfs is read, so that what changes meanwhile is not missed. */
    if (!error && !on_exec)
        csp_session_switch(session, true, PERF_EVENT_IOC_ENABLE);
    session->output = options->output;
    if (!error)
        error = options->live         ? csp_session_begin_live(session)
                : options->keep_files ? csp_session_begin_files(session)
                                      : csp_session_open_file(session);
    if (error)
        return error;
    if (!on_exec)
        csp_session_switch(session, false, PERF_EVENT_IOC_ENABLE);
    error = csp_session_stagger(session);
    if (!error)
        error = become_user(session);
    if (!error && session->has_workload)
        error = csp_workload_go(&session->workload, options->command[0], session->diag);
    return error;
}

double csp_session_own_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int close_recording(struct csp_session *session)
{
    csp_session_drain(session, true);
    check_scheduling(session);
    session->result->own_seconds = csp_session_own_seconds();
    return session->options->live ? csp_session_pass_slice(session, true)
                                  : csp_session_close_file(session);
}

static int run(struct csp_session *session, int signals, const sigset_t *mask)
{
    int error = start(session, mask);
    if (error) {
        csp_session_close_events(session);
        bool created = session->writer != NULL;
        csp_writer_close(session->writer, NULL);
        session->writer = NULL;
        if (created && !session->options->live) /* a recording of nothing */
            unlink(session->output);
        return error;
    }
    error = record(session, signals);
    csp_session_switch(session, false, PERF_EVENT_IOC_DISABLE);
    csp_session_switch(session, true, PERF_EVENT_IOC_DISABLE);
    if (!error)
        error = close_recording(session);
    csp_session_close_events(session);
    if (session->has_workload)
        finish_workload(session, signals);
    return error;
}

int csp_session_run(const struct csp_session_options *options, struct csp_session_result *result,
                    struct csp_diag *diag)
{
    struct csp_session session = {
        .options = options,
        .result = result,
        .diag = diag,
        .slice = {.fd = -1},
        .slice_given = {.fd = -1},
        .workload = {.go = -1, .failed = -1},
        .cgroup = -1,
    };
    sigset_t mask, before;
    *result = (struct csp_session_result){0};
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    if (options->live)
        sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, &before);
    int signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC), error;
    if (signals < 0)
        error = csp_fail(diag, CSP_ERR_FAILED, "cannot listen to signals: %s", strerror(errno));
    else
        error = run(&session, signals, &before);
    csp_workload_free(&session.workload);
    csp_event_set_free(&session.set);
    csp_session_end_live(&session);
    csp_vec_free(&session.trace_info.cpus);
    free(session.file_name);
    if (session.cgroup >= 0)
        close(session.cgroup);
    if (signals >= 0)
        close(signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
}
