/* The kernel events that a plan needs, as attributes: one group for each CPU (and task). */
#ifndef CSP_COLLECT_EVENT_SET_H
#define CSP_COLLECT_EVENT_SET_H

#include "collect/plan.h"
#include "perfdata/attr.h"

enum csp_event_role {
    CSP_EVENT_TRACE,   /* cs_etm, the group's leader */
    CSP_EVENT_RESUME,  /* starts the trace unit */
    CSP_EVENT_PAUSE,   /* stops it, with a callchain */
    CSP_EVENT_SAMPLE,  /* the only event of strategies without trace */
    CSP_EVENT_TRACKER, /* a dummy: mappings, names, forks, exits, switches */
};

enum { CSP_EVENTS_MAX = 4 };

struct csp_event_set {
    uint32_t count;
    enum csp_event_role roles[CSP_EVENTS_MAX];
    struct csp_attr attrs[CSP_EVENTS_MAX]; /* the group's leader first, the tracker last */
    char *names[CSP_EVENTS_MAX];           /* as perf writes them */
    bool has_trace;
    uint32_t configr;         /* TRCCONFIGR that the driver will make of cs_etm's attribute */
    struct csp_cpu_list cpus; /* where these events can be opened */
};

enum csp_event_start { CSP_START_ON_EXEC, CSP_START_BY_HAND };

/* `inherit`: tasks with their future children; not for whole CPUs. */
void csp_event_set_make(struct csp_event_set *set, const struct csp_plan *plan,
                        const struct csp_target *target, bool inherit, enum csp_event_start start);
void csp_event_set_free(struct csp_event_set *set);
/* For kernels before 5.12, which do not put build-ids into MMAP2 records. */
void csp_event_set_without_build_ids(struct csp_event_set *set);

#endif
