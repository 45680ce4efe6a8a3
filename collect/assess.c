#include "collect/assess.h"

#include "base/counted.h"
#include "collect/cores.h"

#include <stdio.h>
#include <string.h>

static const char *const names[CSP_STRATEGIES] = {
    [CSP_STRATEGY_BRANCH_STACK] = "branch-stack", [CSP_STRATEGY_PULSE] = "pulse",
    [CSP_STRATEGY_USER_STAGGER] = "user-stagger", [CSP_STRATEGY_FREE_RUNNING] = "free-running",
    [CSP_STRATEGY_AUX_SAMPLE] = "aux-sample",     [CSP_STRATEGY_STROBE] = "strobe",
    [CSP_STRATEGY_TRACEPOINT] = "tracepoint",     [CSP_STRATEGY_CLOCK] = "clock",
};

static const char *const gives[CSP_STRATEGIES] = {
    [CSP_STRATEGY_BRANCH_STACK] =
        "branch records and a callchain with each sample, from the core's own buffer",
    [CSP_STRATEGY_PULSE] = "trace windows of equal length, each closed by a callchain",
    [CSP_STRATEGY_USER_STAGGER] =
        "trace windows of equal length, each closed by a callchain; of whole CPUs alone",
    [CSP_STRATEGY_FREE_RUNNING] =
        "trace windows, each closed by a callchain; most callchains come without a window",
    [CSP_STRATEGY_AUX_SAMPLE] = "callchains, each with the newest trace of a unit that always runs",
    [CSP_STRATEGY_STROBE] =
        "trace windows without callchains: flat profiles (AutoFDO, BOLT), no contexts",
    [CSP_STRATEGY_TRACEPOINT] =
        "trace windows between places in the kernel that you name (--resume-at, --pause-at)",
    [CSP_STRATEGY_CLOCK] = "callchains alone, no history of branches: not enough for `csprof gen`",
};

const char *csp_strategy_name(enum csp_strategy strategy)
{
    return names[strategy];
}

bool csp_strategy_parse(const char *name, enum csp_strategy *strategy)
{
    if (!strcmp(name, "brbe") || !strcmp(name, "lbr")) /* what Arm and Intel call theirs */
        name = names[CSP_STRATEGY_BRANCH_STACK];
    for (int i = 0; i < CSP_STRATEGIES; i++)
        if (!strcmp(name, names[i])) {
            *strategy = (enum csp_strategy)i;
            return true;
        }
    return false;
}

static void lack(struct csp_strategy_verdict *verdict, const char *what, const char *fix)
{
    csp_vec_push(&verdict->lacks, (struct csp_lack){csp_strdup(what), csp_strdup(fix)});
}

static void common_lack(struct csp_assessment *assessment, const char *what, const char *fix)
{
    csp_vec_push(&assessment->common, (struct csp_lack){csp_strdup(what), csp_strdup(fix)});
}

static void caution(struct csp_strategy_verdict *verdict, const char *text)
{
    csp_vec_push(&verdict->cautions, csp_strdup(text));
}

const struct csp_coresight_config *csp_target_config(const struct csp_target *target,
                                                     const char *name)
{
    for (size_t i = 0; i < target->trace.configs.len; i++)
        if (!strcmp(target->trace.configs.data[i].name, name))
            return &target->trace.configs.data[i];
    return NULL;
}

const struct csp_coresight_config *csp_target_pulse(const struct csp_target *target)
{
    return csp_target_config(target, target->trace.pulse->config);
}

static bool is_arm(const struct csp_target *target)
{
    return !strcmp(target->arch, "aarch64");
}

static const char *bigger_machine(const struct csp_target *target)
{
    switch (target->cloud) {
    case CSP_CLOUD_AWS:
        return "use a .metal instance, whose firmware may describe the trace units; virtual "
               "instances never have them";
    case CSP_CLOUD_GCP:
        return "use a bare-metal machine type; virtual ones show neither the PMU nor the trace "
               "units";
    case CSP_CLOUD_AZURE:
        return "Azure offers no Arm machine with trace units: record on a machine of your own "
               "with the same core (Neoverse N2)";
    case CSP_CLOUD_NONE:
        break;
    }
    return target->virtual_machine
               ? "record on the machine itself, not in a virtual machine"
               : "ask the machine's maker for firmware that describes CoreSight (ACPI or device "
                 "tree), and load the modules coresight-etm4x and coresight-tmc or coresight-trbe";
}

static void need_access(const struct csp_target *target, struct csp_assessment *assessment)
{
    if (!target->has_sysfs)
        common_lack(assessment, "sysfs is not visible: nothing can be learnt about this machine",
                    "mount it (in a container: start it with /sys), or run csprof outside");
    if (target->perf_blocked)
        common_lack(
            assessment, "perf_event_open is refused to this process",
            "in a container allow it in the seccomp profile, or add the capability PERFMON; else "
            "sysctl kernel.perf_event_paranoid=2");
    else if (target->privileged_known && !target->privileged && target->paranoid > 2)
        common_lack(assessment, "kernel.perf_event_paranoid forbids users to record",
                    "sysctl kernel.perf_event_paranoid=2, or run with the capability CAP_PERFMON");
}

static void need_cycles(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    for (size_t i = 0; i < target->pmus.len; i++)
        if (target->pmus.data[i].cycles)
            return;
    if (target->has_sysfs)
        lack(verdict, "there is no PMU: nothing counts cycles",
             target->cloud == CSP_CLOUD_GCP
                 ? "enable the PMU of the machine type where it is offered, or use bare metal"
             : target->virtual_machine ? "give the virtual machine a PMU, or use a metal instance"
                                       : "load the driver arm_pmuv3, or fix the firmware");
}

/* The trace unit, the sink, and who else uses them. */
static void need_trace(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    const struct csp_trace_pmu *trace = &target->trace;
    if (!target->has_sysfs)
        return;
    if (!is_arm(target)) {
        lack(verdict, "this is not an Arm machine: it has no ETM or ETE",
             "none here; branch-stack is the way on x86, where the CPU has branch records");
        return;
    }
    if (!trace->present) {
        lack(verdict,
             trace->hidden_by_firmware
                 ? "the CoreSight drivers are loaded but found no trace unit (no cs_etm)"
                 : "the kernel offers no trace unit (no cs_etm)",
             bigger_machine(target));
        return;
    }
    if (!trace->sinks.len)
        lack(verdict, "there is a trace unit but no sink to keep its trace in",
             "load coresight-tmc (ETR) or coresight-trbe");
    for (size_t i = 0; i < trace->sinks.len; i++)
        if (trace->sinks.data[i].enabled_by_sysfs) {
            char *what = csp_asprintf("sink %s is in use: somebody enabled it through sysfs",
                                      trace->sinks.data[i].name);
            char *fix = csp_asprintf("echo 0 > /sys/bus/coresight/devices/%s/enable_sink",
                                     trace->sinks.data[i].name);
            lack(verdict, what, fix);
            free(what);
            free(fix);
        }
    if (trace->busy_units)
        lack(verdict, "trace units are in use: somebody enabled them through sysfs",
             "echo 0 > /sys/bus/coresight/devices/etm*/enable_source");
}

static void need_aux_pause(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    if (!is_arm(target) || !target->kernel_major || csp_target_kernel(target, 6, 16))
        return;
    char *what = csp_asprintf("Linux %s cannot pause and resume a trace unit from a PMU event",
                              target->release);
    lack(verdict, what, "Linux 6.16 or newer");
    free(what);
}

/* The sum of what each window's two interrupts and its counters need. */
static void need_counters(const struct csp_target *target, struct csp_strategy_verdict *verdict,
                          uint32_t wanted)
{
    for (size_t i = 0; i < target->pmus.len; i++) {
        const struct csp_core_pmu *pmu = &target->pmus.data[i];
        if (!pmu->counters || pmu->counters >= wanted)
            continue;
        char *what = csp_asprintf("%s has %s, and %u %s needed", pmu->name,
                                  CSP_COUNTED(pmu->counters, "programmable counter"), wanted,
                                  csp_by_count(wanted, "is", "are"));
        lack(verdict, what,
             target->virtual_machine ? "a larger or a metal instance has all counters"
                                     : "end other users of the PMU (perf list, watchdogs)");
        free(what);
    }
}

static void caution_of_trace(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    const struct csp_trace_pmu *trace = &target->trace;
    bool shared = trace->sinks.len == 1 && trace->sinks.data[0].kind != CSP_SINK_TRBE &&
                  target->online.cpus.len > 1;
    if (shared)
        caution(verdict,
                "all CPUs share one sink: with -a, or threads that run at the same time, "
                "the kernel does not drain it at each window and old trace is overwritten");
    if (trace->cpus.cpus.len < target->online.cpus.len)
        caution(verdict, "some CPUs have no trace unit: what runs there is not recorded");
    if (trace->ts_source != 1)
        caution(verdict, "the trace's timestamps are not those of the virtual counter on every CPU "
                         "(ts_source): windows are matched to samples without them");
    if (target->other_pid_namespace)
        caution(verdict, "in this PID namespace the driver leaves context IDs out of the trace: "
                         "record from the host, or one process at a time");
    else if (target->config_known && !target->pid_in_contextidr)
        caution(verdict, "this kernel is built without CONFIG_PID_IN_CONTEXTIDR: with -a the trace "
                         "does not tell which process ran");
}

static void assess_pulse(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    bool any = false, all = target->pmus.len > 0;
    for (size_t i = 0; i < target->pmus.len; i++) {
        any |= target->pmus.data[i].trcextout[1];
        all &= target->pmus.data[i].trcextout[1];
    }
    need_trace(target, verdict);
    if (!is_arm(target))
        return;
    need_aux_pause(target, verdict);
    need_cycles(target, verdict);
    if (target->pmus.len && !any)
        lack(verdict, "the PMU does not offer trcextout1",
             "a core that has it (Neoverse N2, V2, N3, V3), with a PMU that is not filtered by a "
             "hypervisor; or use free-running");
    else if (any && !all)
        caution(verdict, "only some of the core types offer trcextout1: pin the program to them");
    if (target->trace.present && !csp_target_pulse(target))
        lack(verdict, "no CoreSight configuration that pulses an external output is loaded",
             "load the kernel module csprof_pulse: `kmod/build` in csprof's sources makes it for "
             "the running kernel");
    if (any)
        need_counters(target, verdict, 1);
    caution_of_trace(target, verdict);
}

/* Windows that one cycle event opens and another one closes. False: these are no Arm cores. */
static bool need_two_cycle_events(const struct csp_target *target,
                                  struct csp_strategy_verdict *verdict)
{
    need_trace(target, verdict);
    if (!is_arm(target))
        return false;
    need_aux_pause(target, verdict);
    need_cycles(target, verdict);
    need_counters(target, verdict, 1); /* beside the cycle counter */
    caution_of_trace(target, verdict);
    return true;
}

static void assess_free_running(const struct csp_target *target,
                                struct csp_strategy_verdict *verdict)
{
    if (!need_two_cycle_events(target, verdict))
        return;
    if (target->cpu_time_max_percent > 0 && target->cpu_time_max_percent < 50)
        caution(verdict, "most of its samples open no window, and the kernel lowers their rate "
                         "early: sysctl kernel.perf_cpu_time_max_percent=60 lets it be");
}

/* Counters of a task would begin anew, both at once, in each thread that it starts; those of a CPU
 * go on for ever. */
static void assess_user_stagger(const struct csp_target *target,
                                struct csp_strategy_verdict *verdict)
{
    if (!need_two_cycle_events(target, verdict))
        return;
    if (target->privileged_known && !target->privileged && target->paranoid > 0)
        lack(verdict, "kernel.perf_event_paranoid lets users record no whole CPUs",
             "sysctl kernel.perf_event_paranoid=0, or run with the capability CAP_PERFMON");
    caution(verdict, "it records whole CPUs, also where one program is asked for: what else runs "
                     "meanwhile is in the recording, too");
}

static void assess_aux_sample(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    need_trace(target, verdict);
    if (!is_arm(target))
        return;
    need_cycles(target, verdict);
    if (target->trace.present && target->trace.snapshots != CSP_SNAPSHOTS_YES)
        lack(verdict,
             target->trace.snapshots == CSP_SNAPSHOTS_NO
                 ? "this kernel cannot put trace into samples (its cs_etm has no snapshots)"
                 : "whether the kernel can put trace into samples is not known; no release up to "
                   "Linux 7.3 can",
             "a kernel with the patches for it that were posted in September 2026");
    caution_of_trace(target, verdict);
    caution(verdict, "the trace unit always runs, which costs memory bandwidth, and its newest "
                     "kilobytes are copied with "
                     "each sample");
}

static void assess_strobe(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    need_trace(target, verdict);
    if (target->trace.present && !csp_target_config(target, "autofdo"))
        lack(verdict, "the configuration autofdo is not loaded",
             "a kernel with CONFIG_CORESIGHT (5.16 or newer), coresight module loaded");
    caution_of_trace(target, verdict);
}

/* Not excluding the kernel is what perf_allow_kernel (linux/perf_event.h) asks permission for. */
static void assess_tracepoint(const struct csp_target *target, struct csp_strategy_verdict *verdict)
{
    need_trace(target, verdict);
    if (!is_arm(target))
        return;
    need_aux_pause(target, verdict);
    if (target->privileged_known && !target->privileged && target->paranoid > 1)
        lack(verdict, "kernel.perf_event_paranoid lets users sample nothing in the kernel",
             "sysctl kernel.perf_event_paranoid=1, or run with the capability CAP_PERFMON");
    caution_of_trace(target, verdict);
}

static void assess_branch_stack(const struct csp_target *target,
                                struct csp_strategy_verdict *verdict)
{
    bool any = false, capable = false;
    for (size_t i = 0; i < target->pmus.len; i++)
        any |= target->pmus.data[i].branch_records > 0;
    for (size_t i = 0; i < target->groups.len; i++) {
        const struct csp_core *core = csp_core_find(target->groups.data[i].midr);
        capable |= core && core->brbe == CSP_CORE_YES;
    }
    need_cycles(target, verdict);
    if (any || !target->has_sysfs)
        return;
    if (!is_arm(target))
        lack(verdict, "this CPU shows no branch records (LBR)",
             target->virtual_machine ? "most virtual machines hide them: record on the host"
                                     : "a CPU that has them");
    else if (capable && !csp_target_kernel(target, 6, 17))
        lack(verdict, "the core has branch records (BRBE), this kernel no driver for them",
             "Linux 6.17 or newer");
    else if (capable)
        lack(verdict, "the core has branch records (BRBE), but the kernel does not offer them",
             "firmware must let the kernel use them (MDCR_EL3.SBRBE), and the kernel needs "
             "CONFIG_ARM64_BRBE");
    else
        lack(verdict, "these cores have no branch records (BRBE)",
             "a core that has them (Neoverse V3, Cortex-A520, A720, X4 or newer)");
}

void csp_assess(struct csp_assessment *assessment, const struct csp_target *target)
{
    typedef void assess_fn(const struct csp_target *target, struct csp_strategy_verdict *verdict);
    static assess_fn *const rules[CSP_STRATEGIES] = {
        [CSP_STRATEGY_BRANCH_STACK] = assess_branch_stack,
        [CSP_STRATEGY_PULSE] = assess_pulse,
        [CSP_STRATEGY_USER_STAGGER] = assess_user_stagger,
        [CSP_STRATEGY_FREE_RUNNING] = assess_free_running,
        [CSP_STRATEGY_AUX_SAMPLE] = assess_aux_sample,
        [CSP_STRATEGY_STROBE] = assess_strobe,
        [CSP_STRATEGY_TRACEPOINT] = assess_tracepoint,
    };
    *assessment = (struct csp_assessment){.best = CSP_STRATEGIES, .best_of_cpus = CSP_STRATEGIES};
    need_access(target, assessment);
    for (int i = CSP_STRATEGIES - 1; i >= 0; i--) {
        struct csp_strategy_verdict *verdict = &assessment->of[i];
        verdict->gives = gives[i];
        if (rules[i])
            rules[i](target, verdict);
        verdict->ready = !verdict->lacks.len && !assessment->common.len;
        if (!verdict->ready || i == CSP_STRATEGY_TRACEPOINT)
            continue;
        assessment->best_of_cpus = (enum csp_strategy)i;
        if (i != CSP_STRATEGY_USER_STAGGER)
            assessment->best = (enum csp_strategy)i;
    }
}

void csp_assessment_free(struct csp_assessment *assessment)
{
    for (size_t i = 0; i < assessment->common.len; i++) {
        free(assessment->common.data[i].what);
        free(assessment->common.data[i].fix);
    }
    csp_vec_free(&assessment->common);
    for (int i = 0; i < CSP_STRATEGIES; i++) {
        struct csp_strategy_verdict *verdict = &assessment->of[i];
        for (size_t j = 0; j < verdict->lacks.len; j++) {
            free(verdict->lacks.data[j].what);
            free(verdict->lacks.data[j].fix);
        }
        for (size_t j = 0; j < verdict->cautions.len; j++)
            free(verdict->cautions.data[j]);
        csp_vec_free(&verdict->lacks);
        csp_vec_free(&verdict->cautions);
    }
}
