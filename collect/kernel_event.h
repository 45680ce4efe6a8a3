/* The system call. */
#ifndef CSP_COLLECT_KERNEL_EVENT_H
#define CSP_COLLECT_KERNEL_EVENT_H

#include "perfdata/attr.h"

/* perf_event_open: a file descriptor, or -1 with errno. `cpu` or `tid` -1: any. */
int csp_kernel_event_open(const struct csp_attr *attr, int64_t tid, int64_t cpu, int group);
/* The same for what runs on a CPU in a control group, whose folder is open as `folder`. */
int csp_kernel_event_open_cgroup(const struct csp_attr *attr, int folder, int64_t cpu, int group);
/* How many events fit beside a cycle counter in one group on a PMU: its programmable counters. 0
 * when that cannot be found out. */
uint32_t csp_kernel_counters(uint32_t pmu_type, uint32_t cpu, uint64_t cycles_config);
/* Whether samples can carry trace of a PMU: enum csp_snapshots. */
int csp_kernel_snapshots(uint32_t pmu_type);
/* Whether this process may open a software event on itself at all. */
bool csp_kernel_event_allowed(void);

#endif
