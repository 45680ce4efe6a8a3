#include "collect/stagger.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ATTEMPTS = 20, SLACK = 300, STANDSTILL = 1000, MOST_CPUS = 8192 };

static uint64_t count_of(int fd)
{
    uint64_t values[3] = {0}; /* count, time enabled, time running */
    return read(fd, values, sizeof values) == sizeof values ? values[0] : 0;
}

/* Keeps the CPU busy in user space until the event has counted so far. False when it does not
 * count.
 */
static bool let_pass(int fd, uint64_t until)
{
    uint64_t before = 0, now = count_of(fd);
    for (int still = 0; now < until && still < STANDSTILL; still += before == now) {
        for (volatile uint64_t turns = (until - now) / 32; turns; turns--)
            ;
        before = now;
        now = count_of(fd);
    }
    return now >= until;
}

bool csp_stagger_is_near(uint64_t reached, uint64_t phase)
{
    return reached <= phase + phase / 8 + SLACK;
}

/* __perf_event_period (kernel/events/core.c) stops the counter, forgets what is left of its period
 * and starts it with a whole one. Both calls are made in the kernel, where these events do not
 * count, so what passes between them is what this thread, or who takes the CPU from it, does in
 * user space. */
static int stagger_here(int resume, int pause, uint64_t period, uint64_t phase, uint64_t *reached)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (ioctl(resume, PERF_EVENT_IOC_PERIOD, &period) != 0)
            return errno;
        uint64_t begun = count_of(resume);
        if (!let_pass(resume, begun + phase))
            return EAGAIN;
        if (ioctl(pause, PERF_EVENT_IOC_PERIOD, &period) != 0)
            return errno;
        *reached = count_of(resume) - begun;
        if (csp_stagger_is_near(*reached, phase))
            break;
    }
    return 0;
}

static int explain(int error, uint32_t cpu, struct csp_diag *diag)
{
    if (!error)
        return 0;
    if (error == EAGAIN)
        return csp_fail(diag, CSP_ERR_ENV,
                        "the counters of CPU %u stand still: somebody else uses the PMU, or the "
                        "trace unit",
                        cpu);
    return csp_fail(diag, CSP_ERR_ENV, "cannot set the period of the counters of CPU %u: %s", cpu,
                    strerror(error));
}

int csp_stagger(uint32_t cpu, int resume, int pause, uint64_t period, uint64_t phase,
                uint64_t *reached, struct csp_diag *diag)
{
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *here = CPU_ALLOC(MOST_CPUS), *before = CPU_ALLOC(MOST_CPUS);
    bool known = sched_getaffinity(0, size, before) == 0;
    CPU_ZERO_S(size, here);
    CPU_SET_S(cpu, size, here);
    int error = sched_setaffinity(0, size, here);
    if (error)
        error = csp_fail(diag, CSP_ERR_ENV,
                         "cannot run on CPU %u, which user-stagger must to set when windows close: "
                         "%s; leave that CPU out (-C), or let csprof run there (taskset, cpuset)",
                         cpu, strerror(errno));
    else
        error = explain(stagger_here(resume, pause, period, phase, reached), cpu, diag);
    if (known)
        sched_setaffinity(0, size, before);
    CPU_FREE(here);
    CPU_FREE(before);
    return error;
}
