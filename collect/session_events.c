#include "collect/session_private.h"

#include "collect/kernel_event.h"
#include "collect/stagger.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DATA_SIZE = 512 * 1024, AUX_SIZE = 2 * 1024 * 1024, AUX_SIZE_UNPRIVILEGED = 128 * 1024 };

static int explain_open(const struct csp_session *session, const struct csp_session_event *event,
                        int error)
{
    struct csp_diag *diag = session->diag;
    const char *name = session->set.names[event->event];
    bool trace = session->set.roles[event->event] == CSP_EVENT_TRACE;
    switch (error) {
    case EACCES:
    case EPERM:
        return csp_fail(diag, CSP_ERR_ENV,
                        "not allowed to open %s%s: lower kernel.perf_event_paranoid (it is %lld), "
                        "or run with the capability CAP_PERFMON",
                        name, event->tid < 0 ? " on whole CPUs" : "",
                        (long long)session->options->target->paranoid);
    case EBUSY:
        return csp_fail(diag, CSP_ERR_ENV,
                        "%s is in use: another session owns %s; end it (perf record, or a "
                        "trace unit enabled in sysfs) and try again",
                        name, trace ? "the trace unit" : "the counters");
    case EMFILE:
    case ENFILE:
        return csp_fail(diag, CSP_ERR_ENV,
                        "too many open files: %zu events are open and more are needed; raise the "
                        "limit (ulimit -n), or record fewer CPUs or threads",
                        session->events.len);
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return csp_fail(diag, CSP_ERR_ENV,
                        "this kernel or machine cannot count %s on CPU %u (%s); `csprof doctor` "
                        "tells what it can",
                        name, event->cpu, strerror(error));
    case EBADF: /* perf_cgroup_connect (kernel/events/core.c) */
        return csp_fail(
            diag, CSP_ERR_INPUT,
            "%s is no control group in which events can be counted (of version 2, or of "
            "the hierarchy perf_event)",
            session->options->cgroup ? session->options->cgroup : name);
    case EINVAL:
        return csp_fail(diag, CSP_ERR_ENV,
                        "the kernel refuses %s on CPU %u: it may be too old for it, or have too "
                        "few counters; `csprof doctor` tells more",
                        name, event->cpu);
    default:
        return csp_fail(diag, CSP_ERR_ENV, "cannot open %s on CPU %u: %s", name, event->cpu,
                        strerror(error));
    }
}

static int open_event(struct csp_session *session, struct csp_session_event *event, int group)
{
    struct csp_attr attr = session->set.attrs[event->event];
    if (session->options->plan->phase && attr.aux_action & (CSP_AUX_RESUME | CSP_AUX_PAUSE))
        attr.sample_period = CSP_STAGGER_GUARD;
    /* Trackers are of whole CPUs: what moves into the group has mapped its files before. */
    bool tracker = session->set.roles[event->event] == CSP_EVENT_TRACKER;
    if (session->cgroup >= 0 && !tracker)
        event->fd = csp_kernel_event_open_cgroup(&attr, session->cgroup, event->cpu, group);
    else
        event->fd = csp_kernel_event_open(&attr, event->tid, event->cpu, group);
    if (event->fd < 0 && errno == EINVAL && csp_attr_has(&attr, CSP_ATTR_BUILD_ID)) {
        csp_event_set_without_build_ids(&session->set); /* Linux before 5.12 */
        attr = session->set.attrs[event->event]; /* the tracker's, which has no window's period */
        event->fd = csp_kernel_event_open(&attr, event->tid, event->cpu, group);
    }
    if (event->fd < 0)
        return errno;
    if (ioctl(event->fd, PERF_EVENT_IOC_ID, &event->id) != 0) {
        int error = errno;
        close(event->fd);
        return error;
    }
    return 0;
}

/* etm_setup_aux fails, and mmap says "no memory", also where a sink has no trace ID left (it has
 * 111, coresight-trace-id.c) or the CPU's trace unit leads to no sink. */
static int explain_map(const struct csp_session *session, const struct csp_ring *ring,
                       uint64_t trace_size)
{
    int error = errno;
    if (ring->refused_trace && error == ENOMEM)
        return csp_fail(
            session->diag, CSP_ERR_ENV,
            "the kernel gives CPU %u no ring of trace, not even a small one: its sink has "
            "no trace ID left (111 is the most) or cannot be reached; record fewer CPUs "
            "(-C), or see the kernel's log",
            ring->cpu);
    return csp_fail(session->diag, CSP_ERR_ENV,
                    "cannot share memory with the kernel for CPU %u%s: %s; raise "
                    "kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l), or "
                    "record fewer CPUs",
                    ring->cpu, trace_size ? " and its trace" : "", strerror(error));
}

static int map_ring(struct csp_session *session, const struct csp_session_event *first)
{
    const struct csp_session_options *options = session->options;
    uint64_t aux_size = options->target->privileged ? AUX_SIZE : AUX_SIZE_UNPRIVILEGED;
    if (options->aux_size)
        aux_size = options->aux_size;
    struct csp_ring ring = {
        .idx = (uint32_t)session->rings.len,
        .cpu = first->cpu,
        .tid = session->tasks.data[0] < 0 ? CSP_NO_TID : (uint32_t)session->tasks.data[0],
    };
    uint64_t trace_size = session->set.roles[first->event] == CSP_EVENT_TRACE ? aux_size : 0;
    if (!csp_ring_map(&ring, first->fd, options->data_size ? options->data_size : DATA_SIZE,
                      trace_size, options->plan->aux_sample != 0))
        return explain_map(session, &ring, trace_size);
    csp_vec_push(&session->rings, ring);
    return 0;
}

/* The events of one task on one CPU, from number `from` of the set on. The first task's leader owns
 * the CPU's ring; the trace of the other tasks goes to the same AUX ring (perf_event_set_output
 * allows it on the same PMU). */
static int open_group(struct csp_session *session, uint32_t from, uint32_t cpu, int64_t task,
                      bool *gone)
{
    int leader = -1;
    size_t begun = session->events.len;
    for (uint32_t i = from; i < session->set.count; i++) {
        bool tracker = session->set.roles[i] == CSP_EVENT_TRACKER;
        struct csp_session_event event = {.event = i, .cpu = cpu, .tid = task};
        int error = open_event(session, &event, tracker ? -1 : leader);
        if (error == ESRCH) {
            *gone = true;
            while (session->events.len > begun)
                close(session->events.data[--session->events.len].fd);
            return 0;
        }
        if (error)
            return explain_open(session, &event, error);
        if (i == 0)
            leader = event.fd;
        bool owner = !session->rings.len || session->rings.data[session->rings.len - 1].cpu != cpu;
        if (owner) {
            csp_vec_push(&session->events, event);
            error = map_ring(session, &event);
            if (error)
                return error;
        } else if (ioctl(event.fd, PERF_EVENT_IOC_SET_OUTPUT,
                         session->rings.data[session->rings.len - 1].fd) != 0) {
            error = errno;
            close(event.fd);
            return explain_open(session, &event, error);
        } else {
            csp_vec_push(&session->events, event);
        }
        session->events.data[session->events.len - 1].ring = (uint32_t)session->rings.len - 1;
    }
    return 0;
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* A program that runs on a recorded CPU may have begun, or mapped its libraries, on another one:
 * the kernel tells of that on the CPU where it happens. */
static int open_trackers(struct csp_session *session)
{
    const struct csp_cpu_list *online = &session->options->target->online;
    struct csp_attr *attr = &session->set.attrs[session->set.count - 1];
    const uint64_t switches = attr->flags & UINT64_C(1) << CSP_ATTR_CONTEXT_SWITCH;
    attr->flags &= ~switches; /* nothing is recorded there */
    for (size_t i = 0; i < online->cpus.len; i++) {
        bool gone, has = false;
        for (size_t j = 0; j < session->rings.len; j++)
            has |= session->rings.data[j].cpu == online->cpus.data[i];
        int error =
            has ? 0 : open_group(session, session->set.count - 1, online->cpus.data[i], -1, &gone);
        if (error)
            return error;
    }
    attr->flags |= switches;
    return 0;
}

int csp_session_open_events(struct csp_session *session)
{
    const struct csp_cpu_list *wanted = session->options->cpus;
    size_t attached = 0;
    raise_file_limit();
    for (size_t i = 0; i < session->set.cpus.cpus.len; i++) {
        uint32_t cpu = session->set.cpus.cpus.data[i];
        if (wanted && !csp_cpu_list_has(wanted, cpu))
            continue;
        attached = 0;
        for (size_t j = 0; j < session->tasks.len; j++) {
            bool gone = false;
            int error = open_group(session, 0, cpu, session->tasks.data[j], &gone);
            if (error)
                return error;
            attached += !gone;
        }
    }
    session->result->threads = session->tasks.data[0] < 0 ? 0 : (uint32_t)attached;
    session->result->rings = (uint32_t)session->rings.len;
    if (!session->set.cpus.cpus.len)
        return csp_fail(session->diag, CSP_ERR_ENV,
                        "no CPU of this machine has what strategy %s needs; `csprof doctor` tells "
                        "what is missing",
                        csp_strategy_name(session->options->plan->strategy));
    if (!session->rings.len)
        return csp_fail(session->diag, CSP_ERR_INPUT,
                        wanted
                            ? "none of the CPUs asked for is online with what this strategy needs"
                            : "what was to be recorded ended before it could be attached to");
    int error = session->tasks.data[0] < 0 ? open_trackers(session) : 0;
    session->result->events = (uint32_t)session->events.len;
    return error;
}

static int event_of(const struct csp_session *session, uint32_t ring, enum csp_event_role role)
{
    for (size_t i = 0; i < session->events.len; i++) {
        const struct csp_session_event *event = &session->events.data[i];
        if (event->ring == ring && session->set.roles[event->event] == role)
            return event->fd;
    }
    return -1;
}

int csp_session_stagger(struct csp_session *session)
{
    const struct csp_plan *plan = session->options->plan;
    struct csp_session_result *result = session->result;
    for (uint32_t i = 0; plan->phase && i < result->rings; i++) {
        uint64_t reached = 0;
        int error = csp_stagger(session->rings.data[i].cpu, event_of(session, i, CSP_EVENT_RESUME),
                                event_of(session, i, CSP_EVENT_PAUSE), plan->resume_period,
                                plan->phase, &reached, session->diag);
        if (error)
            return error;
        if (!i || reached < result->least_phase)
            result->least_phase = reached;
        if (reached > result->most_phase)
            result->most_phase = reached;
        result->bad_phases += !csp_stagger_is_near(reached, plan->phase);
    }
    return 0;
}

void csp_session_close_events(struct csp_session *session)
{
    for (size_t i = 0; i < session->rings.len; i++)
        csp_ring_unmap(&session->rings.data[i]);
    /* Members before leaders: the kernel must not promote them in between. */
    for (size_t i = session->events.len; i > 0; i--)
        close(session->events.data[i - 1].fd);
    csp_vec_free(&session->rings);
    csp_vec_free(&session->events);
    csp_vec_free(&session->tasks);
    csp_vec_free(&session->watched);
}
