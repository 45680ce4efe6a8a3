#include "collect/kernel_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FLAG_PID_CGROUP = 4, FLAG_CLOEXEC = 8 }; /* PERF_FLAG_* */
enum { TYPE_SOFTWARE = 1, SOFTWARE_DUMMY = 9 };

static int open_event(const struct csp_attr *attr, int64_t tid, int64_t cpu, int group,
                      unsigned long flags)
{
    /* Kernels accept an attribute larger than their own as long as what they do not know is 0. */
    struct csp_buf raw = {0};
    csp_attr_encode(attr, attr->config3 ? CSP_ATTR_SIZE_CONFIG3 : CSP_ATTR_SIZE_SAFE, &raw);
    long fd =
        syscall(SYS_perf_event_open, raw.data, (pid_t)tid, (int)cpu, group, flags | FLAG_CLOEXEC);
    int error = errno;
    csp_buf_free(&raw);
    errno = error;
    return (int)fd;
}

int csp_kernel_event_open(const struct csp_attr *attr, int64_t tid, int64_t cpu, int group)
{
    return open_event(attr, tid, cpu, group, 0);
}

int csp_kernel_event_open_cgroup(const struct csp_attr *attr, int folder, int64_t cpu, int group)
{
    return open_event(attr, folder, cpu, group, FLAG_PID_CGROUP);
}

uint32_t csp_kernel_counters(uint32_t pmu_type, uint32_t cpu, uint64_t cycles_config)
{
    enum { MOST = 32, INST_RETIRED = 8 };
    const uint64_t flags = UINT64_C(1) << CSP_ATTR_DISABLED |
                           UINT64_C(1) << CSP_ATTR_EXCLUDE_KERNEL |
                           UINT64_C(1) << CSP_ATTR_EXCLUDE_HV;
    struct csp_attr attr = {.type = pmu_type, .config = cycles_config, .flags = flags};
    int fds[MOST + 1];
    uint32_t opened = 0;
    while (opened <= MOST) {
        /* The kernel checks at once whether a group could ever be scheduled: armpmu_event_init,
         * validate_group, drivers/perf/arm_pmu.c. */
        int fd = csp_kernel_event_open(&attr, 0, (int)cpu, opened ? fds[0] : -1);
        if (fd < 0)
            break;
        fds[opened++] = fd;
        attr.config = INST_RETIRED;
    }
    for (uint32_t i = 0; i < opened; i++)
        close(fds[i]);
    return opened && opened <= MOST ? opened - 1 : 0;
}

/* perf_get_aux_event (kernel/events/core.c) refuses it when the leader's PMU has no snapshot_aux.
 */
int csp_kernel_snapshots(uint32_t pmu_type)
{
    enum { NOT_TOLD, NO, YES };
    const uint64_t flags = UINT64_C(1) << CSP_ATTR_DISABLED |
                           UINT64_C(1) << CSP_ATTR_EXCLUDE_KERNEL |
                           UINT64_C(1) << CSP_ATTR_EXCLUDE_HV;
    struct csp_attr trace = {.type = pmu_type, .sample_period = 1, .flags = flags};
    struct csp_attr sampler = {.sample_period = UINT64_C(1) << 40,
                               .sample_type = CSP_SAMPLE_AUX,
                               .aux_sample_size = 4096,
                               .flags = flags};
    int leader = csp_kernel_event_open(&trace, 0, -1, -1);
    if (leader < 0)
        return NOT_TOLD; /* somebody else has it, for example */
    int member = csp_kernel_event_open(&sampler, 0, -1, leader);
    int answer = member >= 0 ? YES : errno == EINVAL ? NO : NOT_TOLD;
    if (member >= 0)
        close(member);
    close(leader);
    return answer;
}

bool csp_kernel_event_allowed(void)
{
    struct csp_attr attr = {
        .type = TYPE_SOFTWARE,
        .config = SOFTWARE_DUMMY,
        .flags = UINT64_C(1) << CSP_ATTR_DISABLED | UINT64_C(1) << CSP_ATTR_EXCLUDE_KERNEL |
                 UINT64_C(1) << CSP_ATTR_EXCLUDE_HV,
    };
    int fd = csp_kernel_event_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}
