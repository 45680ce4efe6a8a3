#include "collect/event_set.h"

#include <string.h>

enum { TYPE_HARDWARE = 0, TYPE_SOFTWARE = 1, TYPE_TRACEPOINT = 2 };
enum { HARDWARE_CYCLES = 0, SOFTWARE_CPU_CLOCK = 0, SOFTWARE_DUMMY = 9 };

#define FLAG(name) (UINT64_C(1) << CSP_ATTR_##name)

static struct csp_attr *add(struct csp_event_set *set, enum csp_event_role role, char *name)
{
    set->roles[set->count] = role;
    set->names[set->count] = name;
    return &set->attrs[set->count++];
}

static void add_callchain(const struct csp_target *target, struct csp_attr *attr)
{
    enum { LR = 30, SP = 31, PC = 32 }; /* arch/arm64/include/uapi/asm/perf_regs.h */
    attr->sample_type |= CSP_SAMPLE_CALLCHAIN;
    if (!strcmp(target->arch, "aarch64")) {
        attr->sample_type |= CSP_SAMPLE_REGS_USER;
        attr->sample_regs_user = UINT64_C(1) << LR | UINT64_C(1) << SP | UINT64_C(1) << PC;
    }
}

/* TRCCONFIGR as etm4_parse_event_config makes it (coresight-etm4x-core.c). */
static uint32_t configr_of(const struct csp_trace_pmu *trace)
{
    enum { CID = 1 << 6, VMID = 1 << 7, TS = 1 << 11, VMIDOPT = 1 << 15 };
    enum { CONTEXTID2_BIT = 15 }; /* of the attribute's config: CONTEXTIDR_EL2 */
    uint32_t configr = 0;
    if (trace->fields[CSP_ETM_FIELD_CONTEXTID].present)
        configr |=
            trace->fields[CSP_ETM_FIELD_CONTEXTID].low == CONTEXTID2_BIT ? VMID | VMIDOPT : CID;
    if (trace->fields[CSP_ETM_FIELD_TIMESTAMP].present)
        configr |= TS;
    return configr;
}

static void add_trace(struct csp_event_set *set, const struct csp_plan *plan,
                      const struct csp_target *target)
{
    const struct csp_trace_pmu *trace = &target->trace;
    bool strobe = plan->strategy == CSP_STRATEGY_STROBE;
    bool runs = strobe || plan->aux_sample; /* from the beginning */
    const struct csp_coresight_config *config = NULL;
    uint64_t words[4] = {0};
    if (strobe)
        config = csp_target_config(target, "autofdo");
    else if (plan->strategy == CSP_STRATEGY_PULSE)
        config = csp_target_pulse(target);
    if (trace->fields[CSP_ETM_FIELD_CONTEXTID].present)
        csp_pmu_format_set(&trace->fields[CSP_ETM_FIELD_CONTEXTID], words, 1);
    const struct csp_pmu_format *timestamp = &trace->fields[CSP_ETM_FIELD_TIMESTAMP];
    /* One bit, or (Linux 7.0) the sparseness: timestamps take most of a trace when dense. */
    if (timestamp->present)
        csp_pmu_format_set(timestamp, words, timestamp->high > timestamp->low ? 8 : 1);
    if (config)
        csp_pmu_format_set(&trace->fields[CSP_ETM_FIELD_CONFIGID], words, config->id);
    if (config)
        csp_pmu_format_set(&trace->fields[CSP_ETM_FIELD_PRESET], words, plan->preset);
    struct csp_attr *attr =
        add(set, CSP_EVENT_TRACE,
            csp_asprintf("cs_etm/%s%stimestamp,contextid/u", config ? config->name : "",
                         !runs ? config ? ",aux-action=start-paused," : "aux-action=start-paused,"
                         : config ? ","
                                  : ""));
    attr->type = trace->type;
    attr->config = words[0];
    attr->config1 = words[1];
    attr->config2 = words[2];
    attr->config3 = words[3];
    attr->sample_period = 1;
    attr->aux_action = runs ? 0 : CSP_AUX_START_PAUSED;
    attr->flags |= FLAG(PINNED); /* multiplexed, its windows would stay open */
    set->has_trace = true;
    set->configr = configr_of(trace);
}

static void add_windows(struct csp_event_set *set, const struct csp_plan *plan,
                        const struct csp_target *target)
{
    unsigned long long resume_period = plan->resume_period, pause_period = plan->pause_period;
    bool pulse = plan->strategy == CSP_STRATEGY_PULSE;
    struct csp_attr *resume =
        add(set, CSP_EVENT_RESUME,
            csp_asprintf("cycles/aux-action=resume,period=%llu/u", resume_period));
    resume->type = TYPE_HARDWARE;
    resume->config = HARDWARE_CYCLES;
    resume->sample_period = resume_period;
    resume->aux_action = CSP_AUX_RESUME;
    const struct csp_core_pmu *pmu = NULL;
    for (size_t i = 0; pulse && !pmu && i < target->pmus.len; i++)
        if (target->pmus.data[i].trcextout[1])
            pmu = &target->pmus.data[i];
    struct csp_attr *pause =
        add(set, CSP_EVENT_PAUSE,
            csp_asprintf("%s%s,period=%llu,call-graph=fp/u", pmu ? pmu->name : "cycles",
                         pmu ? "/trcextout1,aux-action=pause" : "/aux-action=pause", pause_period));
    pause->type = pmu ? pmu->type : TYPE_HARDWARE;
    pause->config = pmu ? pmu->trcextout_config[1] : HARDWARE_CYCLES;
    pause->sample_period = pause_period;
    pause->aux_action = CSP_AUX_PAUSE;
    add_callchain(target, pause);
}

static void add_tracepoint(struct csp_event_set *set, enum csp_event_role role,
                           const struct csp_tracepoint *point, enum csp_aux_action action)
{
    const char *text = action == CSP_AUX_RESUME ? "resume" : "pause,call-graph=fp";
    struct csp_attr *attr = add(set, role, csp_asprintf("%s/aux-action=%s/", point->name, text));
    attr->type = TYPE_TRACEPOINT;
    attr->config = point->id;
    attr->sample_period = 1;
    attr->aux_action = action;
}

static void add_samples(struct csp_event_set *set, const struct csp_plan *plan,
                        const struct csp_target *target)
{
    enum { BRANCH_USER = 1 << 0, BRANCH_ANY = 1 << 3 }; /* enum perf_branch_sample_type */
    bool clock = plan->strategy == CSP_STRATEGY_CLOCK;
    struct csp_attr *attr =
        add(set, CSP_EVENT_SAMPLE, csp_strdup(clock ? "cpu-clock:u" : "cycles:u"));
    attr->type = clock ? TYPE_SOFTWARE : TYPE_HARDWARE;
    attr->config = clock ? SOFTWARE_CPU_CLOCK : HARDWARE_CYCLES;
    attr->sample_period = plan->resume_period;
    add_callchain(target, attr);
    if (plan->aux_sample) {
        attr->sample_type |= CSP_SAMPLE_AUX;
        attr->aux_sample_size = plan->aux_sample;
    } else if (!clock) {
        attr->sample_type |= CSP_SAMPLE_BRANCH_STACK;
        attr->branch_sample_type = BRANCH_USER | BRANCH_ANY;
    }
}

static void add_tracker(struct csp_event_set *set)
{
    struct csp_attr *attr = add(set, CSP_EVENT_TRACKER, csp_strdup("dummy:u"));
    attr->type = TYPE_SOFTWARE;
    attr->config = SOFTWARE_DUMMY;
    attr->sample_period = 1;
    attr->flags |=
        FLAG(MMAP) | FLAG(MMAP2) | FLAG(COMM) | FLAG(COMM_EXEC) | FLAG(TASK) | FLAG(BUILD_ID);
    /* Who ran when: where the trace lacks context IDs, nothing else tells. */
    if (set->has_trace)
        attr->flags |= FLAG(CONTEXT_SWITCH);
}

static void choose_cpus(struct csp_event_set *set, const struct csp_plan *plan,
                        const struct csp_target *target)
{
    for (size_t i = 0; i < target->online.cpus.len; i++) {
        uint32_t cpu = target->online.cpus.data[i];
        bool usable = !set->has_trace || csp_cpu_list_has(&target->trace.cpus, cpu);
        bool on_one_pmu =
            plan->strategy == CSP_STRATEGY_PULSE && set->attrs[2].type != TYPE_HARDWARE;
        for (size_t j = 0; on_one_pmu && j < target->pmus.len; j++)
            if (csp_cpu_list_has(&target->pmus.data[j].cpus, cpu))
                usable &= target->pmus.data[j].type == set->attrs[2].type;
        if (usable)
            csp_vec_push(&set->cpus.cpus, cpu);
    }
}

void csp_event_set_make(struct csp_event_set *set, const struct csp_plan *plan,
                        const struct csp_target *target, bool inherit, enum csp_event_start start)
{
    *set = (struct csp_event_set){0};
    switch (plan->strategy) {
    case CSP_STRATEGY_PULSE:
    case CSP_STRATEGY_USER_STAGGER:
    case CSP_STRATEGY_FREE_RUNNING:
        add_trace(set, plan, target);
        add_windows(set, plan, target);
        break;
    case CSP_STRATEGY_TRACEPOINT:
        add_trace(set, plan, target);
        add_tracepoint(set, CSP_EVENT_RESUME, &plan->resume_at, CSP_AUX_RESUME);
        add_tracepoint(set, CSP_EVENT_PAUSE, &plan->pause_at, CSP_AUX_PAUSE);
        add_callchain(target, &set->attrs[set->count - 1]);
        break;
    case CSP_STRATEGY_STROBE:
        add_trace(set, plan, target);
        break;
    case CSP_STRATEGY_AUX_SAMPLE:
        add_trace(set, plan, target);
        add_samples(set, plan, target);
        break;
    default:
        add_samples(set, plan, target);
        break;
    }
    add_tracker(set);
    for (uint32_t i = 0; i < set->count; i++) {
        struct csp_attr *attr = &set->attrs[i];
        attr->name = set->names[i];
        attr->sample_type |= CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID |
                             CSP_SAMPLE_TIME | CSP_SAMPLE_CPU | CSP_SAMPLE_PERIOD;
        attr->read_format = CSP_READ_TIME_ENABLED | CSP_READ_TIME_RUNNING;
        attr->flags |= FLAG(SAMPLE_ID_ALL);
        if (attr->type != TYPE_TRACEPOINT) /* is in the kernel, and would never come */
            attr->flags |= FLAG(EXCLUDE_KERNEL) | FLAG(EXCLUDE_HV);
        if (inherit)
            attr->flags |= FLAG(INHERIT);
        if (i == 0 || set->roles[i] == CSP_EVENT_TRACKER)
            attr->flags |= FLAG(DISABLED) | (start == CSP_START_ON_EXEC ? FLAG(ENABLE_ON_EXEC) : 0);
    }
    choose_cpus(set, plan, target);
}

void csp_event_set_without_build_ids(struct csp_event_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        set->attrs[i].flags &= ~FLAG(BUILD_ID);
}

void csp_event_set_free(struct csp_event_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        free(set->names[i]);
    csp_cpu_list_free(&set->cpus);
}
