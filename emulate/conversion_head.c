#include "emulate/conversion.h"
#include "emulate/trace_core.h"

/* Numbers of PMUs, as a kernel would have given them out. */
enum { PMU_ARMV8 = 8, PMU_CS_ETM = 10 };

/* TRCCONFIGR. */
static uint32_t configr(const struct csp_emulated_recording *recording)
{
    const bool *on = recording->faults.on;
    uint32_t left_out = (on[CSP_FAULT_NO_CONTEXT] ? CSP_CONFIGR_CONTEXT_ID : 0) |
                        (on[CSP_FAULT_NO_TIME] ? CSP_CONFIGR_TIMESTAMP : 0);
    return recording->settings.configr & ~left_out;
}

/* TRCCONFIGR in the format of cs_etm's config: each bit has its own place there. */
static uint64_t config_of(uint32_t configr)
{
    static const struct {
        uint32_t configr;
        uint8_t bit;
    } places[] = {
        {CSP_CONFIGR_BRANCH_BROADCAST, 8}, {CSP_CONFIGR_CYCLE_COUNT, 12},
        {CSP_CONFIGR_CONTEXT_ID, 14},      {CSP_CONFIGR_TIMESTAMP, 28},
        {CSP_CONFIGR_RETURN_STACK, 29},
    };
    uint64_t config = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (configr & places[i].configr)
            config |= UINT64_C(1) << places[i].bit;
    return config;
}

void csp_conversion_describe_events(struct csp_conversion *conversion)
{
    const struct csp_emulate_settings *settings = &conversion->recording->settings;
    const uint64_t fields = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID |
                            CSP_SAMPLE_TIME | CSP_SAMPLE_PERIOD;
    const uint64_t flags = 1ull << CSP_ATTR_INHERIT | 1ull << CSP_ATTR_EXCLUDE_KERNEL |
                           1ull << CSP_ATTR_EXCLUDE_HV | 1ull << CSP_ATTR_SAMPLE_ID_ALL;
    enum { TRCEXTOUT1 = 0x4011, SOFTWARE_DUMMY = 9, TYPE_SOFTWARE = 1 };
    enum { LR = 30, SP = 31, PC = 32 }; /* arch/arm64/include/uapi/asm/perf_regs.h */
    struct csp_attr *trace = &conversion->attrs[CSP_EMULATED_TRACE];
    struct csp_attr *resume = &conversion->attrs[CSP_EMULATED_RESUME];
    struct csp_attr *pause = &conversion->attrs[CSP_EMULATED_PAUSE];
    struct csp_attr *dummy = &conversion->attrs[CSP_EMULATED_DUMMY];
    bool pulse = settings->strategy == CSP_PMU_PULSE;
    unsigned long long window = settings->window, period = settings->period;

    *trace = (struct csp_attr){
        .type = PMU_CS_ETM,
        .config = config_of(configr(conversion->recording)),
        .sample_period = 1,
        .flags = flags | 1ull << CSP_ATTR_ENABLE_ON_EXEC | 1ull << CSP_ATTR_DISABLED,
        .aux_action = CSP_AUX_START_PAUSED,
    };
    *resume = (struct csp_attr){
        .sample_period = period, /* PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES: both 0 */
        .flags = flags,
        .aux_action = CSP_AUX_RESUME,
    };
    *pause = (struct csp_attr){
        .type = pulse ? PMU_ARMV8 : 0,
        .config = pulse ? TRCEXTOUT1 : 0,
        .sample_period = window,
        .sample_type = CSP_SAMPLE_CALLCHAIN | CSP_SAMPLE_REGS_USER,
        .sample_regs_user = 1ull << LR | 1ull << SP | 1ull << PC,
        .flags = flags,
        .aux_action = CSP_AUX_PAUSE,
    };
    if (conversion->recording->faults.on[CSP_FAULT_AUX_SAMPLES]) {
        pause->sample_type |= CSP_SAMPLE_AUX;
        pause->aux_sample_size =
            (uint32_t)conversion->recording->faults.value[CSP_FAULT_AUX_SAMPLES];
    }
    *dummy = (struct csp_attr){
        .type = TYPE_SOFTWARE,
        .config = SOFTWARE_DUMMY,
        .sample_period = 1,
        .flags = flags | 1ull << CSP_ATTR_MMAP | 1ull << CSP_ATTR_MMAP2 | 1ull << CSP_ATTR_COMM |
                 1ull << CSP_ATTR_TASK | 1ull << CSP_ATTR_COMM_EXEC | 1ull << CSP_ATTR_BUILD_ID |
                 1ull << CSP_ATTR_ENABLE_ON_EXEC | 1ull << CSP_ATTR_DISABLED,
    };
    char **names = conversion->names;
    names[CSP_EMULATED_TRACE] =
        csp_asprintf("cs_etm/aux-action=start-paused,timestamp,contextid1%s%s%s/u",
                     settings->configr & CSP_CONFIGR_RETURN_STACK ? ",retstack" : "",
                     settings->configr & CSP_CONFIGR_CYCLE_COUNT ? ",cycacc" : "",
                     settings->configr & CSP_CONFIGR_BRANCH_BROADCAST ? ",branch_broadcast" : "");
    names[CSP_EMULATED_RESUME] = csp_asprintf("cpu_cycles/aux-action=resume,period=%llu/u", period);
    names[CSP_EMULATED_PAUSE] = csp_asprintf("%s,period=%llu,call-graph=fp/u",
                                             pulse ? "armv8_pmuv3_0/trcextout1,aux-action=pause"
                                                   : "cpu_cycles/aux-action=pause",
                                             window);
    names[CSP_EMULATED_DUMMY] = csp_strdup("dummy:u");
    for (int event = 0; event < CSP_EMULATED_EVENTS; event++) {
        for (unsigned cpu = 0; cpu < conversion->cpus; cpu++)
            csp_vec_push(&conversion->ids[event], csp_emulated_event_id(event, cpu));
        conversion->attrs[event].sample_type |= fields;
        if (event == CSP_EMULATED_TRACE || event == CSP_EMULATED_DUMMY)
            conversion->attrs[event].sample_type |= CSP_SAMPLE_CPU; /* as perf asks for it */
        conversion->attrs[event].name = names[event];
        conversion->attrs[event].ids = conversion->ids[event].data;
        conversion->attrs[event].id_count = conversion->ids[event].len;
    }
}

static void write_header_texts(struct csp_conversion *conversion)
{
    static const char *const pmu_names[] = {"armv8_pmuv3_0", "cs_etm"};
    static const uint32_t pmu_types[] = {PMU_ARMV8, PMU_CS_ETM};
    struct csp_writer_info info = {
        .hostname = "emulated",
        .os_release = "6.16.0-emulated",
        /* No `arch`: told that this is aarch64, perf on another machine tries to unwind leaf
         * functions with a libunwind that it does not have, and complains about each file. */
        .perf_version = "csprof",
        .command = conversion->recording->command,
        .cpus_available = conversion->cpus,
        .cpus_online = conversion->cpus,
        .pmu_names = pmu_names,
        .pmu_types = pmu_types,
        .pmu_count = 2,
    };
    csp_writer_info(conversion->writer, &info);
}

static void write_trace_info(struct csp_conversion *conversion)
{
    bool ete = conversion->raw;
    const struct csp_faults *faults = &conversion->recording->faults;
    struct csp_cs_etm_info info = {.version = csp_emulated_info_version(faults),
                                   .pmu_type = PMU_CS_ETM};
    bool told = info.version != 2; /* else AUX_OUTPUT_HW_ID records tell */
    bool time_known = !faults->on[CSP_FAULT_UNKNOWN_CLOCK] && !faults->on[CSP_FAULT_NO_TIME];
    for (unsigned cpu = 0; cpu < conversion->cpus; cpu++) {
        struct csp_cs_etm_cpu unit = {
            .magic = ete ? CSP_CS_ETM_MAGIC_ETE : CSP_CS_ETM_MAGIC_ETMV4,
            .cpu = cpu,
            .param_count = ete ? CSP_ETE_TS_SOURCE + 1 : CSP_ETM_TS_SOURCE + (info.version > 0),
            .trace_id = told ? csp_faults_trace_id(faults, cpu) : 0,
        };
        unit.params[CSP_ETM_CONFIGR] = configr(conversion->recording);
        unit.params[CSP_ETM_TRACEIDR] = unit.trace_id;
        unit.params[CSP_ETM_IDR0] = CSP_CORE_IDR0;
        unit.params[CSP_ETM_IDR1] = ete ? CSP_CORE_IDR1_ETE : CSP_CORE_IDR1_ETMV4;
        unit.params[CSP_ETM_IDR2] = CSP_CORE_IDR2;
        unit.params[CSP_ETM_IDR8] = CSP_CORE_IDR8;
        unit.params[CSP_ETM_AUTHSTATUS] = CSP_CORE_AUTHSTATUS;
        if (ete)
            unit.params[CSP_ETE_DEVARCH] = CSP_CORE_DEVARCH_ETE;
        unit.params[ete ? CSP_ETE_TS_SOURCE : CSP_ETM_TS_SOURCE] =
            time_known ? 1 : UINT64_MAX; /* the virtual counter; none */
        csp_vec_push(&info.cpus, unit);
    }
    csp_write_auxtrace_info(conversion->writer, &info);
    csp_vec_free(&info.cpus);
}

static void write_preamble(struct csp_conversion *conversion)
{
    struct csp_time_conv_event conv = {
        .time_mult = 1,
        .time_zero = CSP_CLOCK_START - CSP_COUNTER_START,
        .time_mask = UINT64_MAX >> 8, /* a 56-bit counter, as the architecture promises */
        .time_cycles = CSP_COUNTER_START,
        .cap_user_time_zero = true,
        .cap_user_time_short = true,
    };
    if (!conversion->recording->faults.on[CSP_FAULT_UNKNOWN_CLOCK])
        csp_write_time_conv(conversion->writer, &conv);
    CSP_VEC(struct csp_id_index_event) entries = {0};
    for (int event = 0; event < CSP_EMULATED_EVENTS; event++)
        for (unsigned cpu = 0; cpu < conversion->cpus; cpu++)
            csp_vec_push(&entries,
                         (struct csp_id_index_event){.id = csp_emulated_event_id(event, cpu),
                                                     .idx = cpu,
                                                     .cpu = cpu,
                                                     .tid = conversion->pid});
    csp_write_id_index(conversion->writer, entries.data, entries.len);
    csp_vec_free(&entries);
    write_trace_info(conversion);
}

void csp_conversion_write_head(struct csp_conversion *conversion)
{
    write_header_texts(conversion);
    write_preamble(conversion);
}
