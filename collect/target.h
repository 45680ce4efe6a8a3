/* What a machine has to record with, as its kernel tells in sysfs and procfs. */
#ifndef CSP_COLLECT_TARGET_H
#define CSP_COLLECT_TARGET_H

#include "base/diag.h"
#include "collect/host_tree.h"
#include "collect/pulse.h"

/* Where a PMU's format file puts a field: config, config1, … and its lowest and highest bit. */
struct csp_pmu_format {
    bool present;
    uint8_t word, low, high;
};

struct csp_core_pmu { /* a CPU's own PMU: one for each type of core */
    char *name;
    uint32_t type;
    struct csp_cpu_list cpus;
    bool cycles;       /* can count cycles */
    bool trcextout[4]; /* event trcextoutN is offered */
    uint64_t trcextout_config[4];
    int64_t branch_records; /* caps/branches: BRBE or LBR entries; 0: none */
    uint32_t counters;      /* programmable ones; 0: not known */
};

struct csp_core_group { /* CPUs of one kind */
    uint64_t midr;      /* 0: not told */
    char *name;
    struct csp_cpu_list cpus;
};

enum csp_sink_kind { CSP_SINK_ETR, CSP_SINK_TRBE, CSP_SINK_OTHER };

struct csp_sink {
    char *name;
    enum csp_sink_kind kind;
    bool enabled_by_sysfs; /* somebody else collects by hand */
};

struct csp_coresight_config { /* a CoreSight configuration of cs_etm/events */
    char *name;
    uint64_t id;
};

/* Fields of cs_etm's attributes. */
enum csp_etm_field {
    CSP_ETM_FIELD_CONTEXTID, /* traces context IDs, whichever register the kernel keeps them in */
    CSP_ETM_FIELD_TIMESTAMP,
    CSP_ETM_FIELD_PRESET,
    CSP_ETM_FIELD_SINKID,
    CSP_ETM_FIELD_CONFIGID,
    CSP_ETM_FIELDS,
};

/* Whether the kernel can put a running unit's newest trace into a sample (PERF_SAMPLE_AUX). */
enum csp_snapshots { CSP_SNAPSHOTS_NOT_TOLD, CSP_SNAPSHOTS_NO, CSP_SNAPSHOTS_YES };

struct csp_trace_pmu { /* cs_etm */
    bool present;
    uint32_t type;
    struct csp_pmu_format fields[CSP_ETM_FIELDS];
    struct csp_cpu_list cpus; /* with a trace unit */
    uint32_t ete_count;       /* how many of them are ETE */
    CSP_VEC(struct csp_sink) sinks;
    CSP_VEC(struct csp_coresight_config) configs;
    const struct csp_pulse *pulse; /* the one to use for the strategy of that name */
    int64_t ts_source;             /* the same for all CPUs; 0 when not told, -2 when they differ */
    uint32_t busy_units;           /* enabled by hand through sysfs */
    bool hidden_by_firmware;       /* drivers are there, devices are not */
    enum csp_snapshots snapshots;  /* of its trace for samples */
};

enum csp_cloud { CSP_CLOUD_NONE, CSP_CLOUD_AWS, CSP_CLOUD_GCP, CSP_CLOUD_AZURE };

struct csp_target {
    char *root;
    bool live;  /* this machine, now: things may be tried */
    char *arch; /* "aarch64", "x86_64", or "unknown" */
    char *release;
    uint32_t kernel_major, kernel_minor; /* 0: not told */
    bool has_sysfs;
    struct csp_cpu_list online;
    CSP_VEC(struct csp_core_group) groups;
    CSP_VEC(struct csp_core_pmu) pmus;
    struct csp_trace_pmu trace;
    bool spe;
    bool config_known, pid_in_contextidr;
    /* Limits; those not told are -100. */
    int64_t paranoid, mlock_kb, cpu_time_max_percent, max_sample_rate;
    bool privileged_known, privileged; /* CAP_PERFMON or CAP_SYS_ADMIN */
    bool other_pid_namespace;          /* not the first one: the driver drops context IDs */
    bool perf_blocked;                 /* perf_event_open itself is refused (seccomp) */
    bool virtual_machine, container;
    enum csp_cloud cloud;
    char *product; /* "c7g.metal"; "" when not told */
};

#define CSP_NOT_TOLD INT64_C(-100)

static inline bool csp_target_kernel(const struct csp_target *target, uint32_t major,
                                     uint32_t minor)
{
    return target->kernel_major > major ||
           (target->kernel_major == major && target->kernel_minor >= minor);
}

/* Reads the tree at `root`: "" is this machine; else a directory with copies of sys/ and proc/,
 * and, where somebody put it there, the kernel's log in `dmesg`. Never fails: what is absent is
 * said to be. */
void csp_target_read(struct csp_target *target, const char *root);
void csp_target_free(struct csp_target *target);
/* Sets a field of an attribute's config words (config, config1, config2, config3). */
void csp_pmu_format_set(const struct csp_pmu_format *format, uint64_t words[4], uint64_t value);

#endif
