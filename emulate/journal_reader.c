#include "emulate/journal_reader.h"

#include "base/file.h"
#include "base/vec.h"
#include "emulate/binary.h"
#include "emulate/pmu.h"
#include "emulate/trace_core.h"
#include "perfdata/sample_record.h"
#include "perfdata/writer.h"

#include <string.h>

enum event { EVENT_TRACE, EVENT_RESUME, EVENT_PAUSE, EVENT_DUMMY, EVENTS };

/* Numbers of PMUs, as a kernel would have given them out. */
enum { PMU_ARMV8 = 8, PMU_CS_ETM = 10 };

/* perf reads AUXTRACE in one piece and looks for AUX records in all of them: few large ones. */
enum { AUXTRACE_CHUNK = 1 << 20 };

struct conversion {
    struct csp_emulated_recording *recording;
    struct csp_writer *writer;
    struct csp_events events;
    bool raw; /* a TRBE's bytes, without frames */
    struct csp_attr attrs[EVENTS];
    char *names[EVENTS];
    CSP_VEC(uint64_t) ids[EVENTS];
    uint32_t pid;
    unsigned cpus;
    struct {
        struct csp_buf pending; /* announced, not yet in an AUXTRACE record */
        uint64_t stored, announced;
    } rings[CSP_EMULATE_CPUS];
    uint64_t reference;
};

/* A thread for which there was no processor shares the first one's rings: it has no trace, but it
 * maps files like the others. */
static unsigned cpu_of(const struct csp_journal_record *record)
{
    return record->cpu < CSP_EMULATE_CPUS ? record->cpu : 0;
}

static int take_settings(struct csp_emulated_recording *recording,
                         const struct csp_journal_record *record, struct csp_diag *diag)
{
    struct csp_emulate_settings *settings = &recording->settings;
    if (!record || record->type != CSP_JOURNAL_SETTINGS ||
        csp_journal_tail_size(record) != sizeof *settings)
        return csp_fail(diag, CSP_ERR_INPUT, "the journal is not one of this build of csprof");
    memcpy(settings, csp_journal_tail(record), sizeof *settings);
    return 0;
}

static int read_journal(struct conversion *conversion, struct csp_diag *diag)
{
    struct csp_emulated_recording *recording = conversion->recording;
    const struct csp_journal_record *record;
    size_t offset = 0;
    record = csp_journal_next(recording->journal, recording->journal_size, &offset);
    int error = take_settings(recording, record, diag);
    if (error)
        return error;
    while ((record = csp_journal_next(recording->journal, recording->journal_size, &offset))) {
        if (record->type == CSP_JOURNAL_TOTALS) {
            memcpy(&recording->totals, csp_journal_tail(record), sizeof recording->totals);
            recording->complete = true;
            continue;
        }
        if (cpu_of(record) >= conversion->cpus)
            conversion->cpus = cpu_of(record) + 1;
        csp_events_add(&conversion->events,
                       (struct csp_event){
                           .type = record->type,
                           .tid = record->tid,
                           .cpu = cpu_of(record),
                           .time = record->time,
                           .a = record->a,
                           .b = record->type == CSP_JOURNAL_TRACE ? 0 : record->b,
                           .c = record->c,
                           .tail = csp_journal_tail(record),
                           .tail_size = csp_journal_tail_size(record),
                       });
    }
    recording->cut_off = recording->journal_size - offset;
    if (conversion->events.list.len)
        conversion->pid = conversion->events.list.data[0].tid; /* the main thread comes first */
    csp_events_sort(&conversion->events);
    return 0;
}

/* The kernel's number of `event` on `cpu`. */
static uint64_t event_id(enum event event, unsigned cpu)
{
    return 1000 + 100 * (uint64_t)event + cpu;
}

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

static void describe_events(struct conversion *conversion)
{
    const struct csp_emulate_settings *settings = &conversion->recording->settings;
    const uint64_t fields = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID |
                            CSP_SAMPLE_TIME | CSP_SAMPLE_PERIOD;
    const uint64_t flags = 1ull << CSP_ATTR_INHERIT | 1ull << CSP_ATTR_EXCLUDE_KERNEL |
                           1ull << CSP_ATTR_EXCLUDE_HV | 1ull << CSP_ATTR_SAMPLE_ID_ALL;
    enum { TRCEXTOUT1 = 0x4011, SOFTWARE_DUMMY = 9, TYPE_SOFTWARE = 1 };
    enum { LR = 30, SP = 31, PC = 32 }; /* arch/arm64/include/uapi/asm/perf_regs.h */
    struct csp_attr *trace = &conversion->attrs[EVENT_TRACE];
    struct csp_attr *resume = &conversion->attrs[EVENT_RESUME];
    struct csp_attr *pause = &conversion->attrs[EVENT_PAUSE];
    struct csp_attr *dummy = &conversion->attrs[EVENT_DUMMY];
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
    names[EVENT_TRACE] =
        csp_asprintf("cs_etm/aux-action=start-paused,timestamp,contextid1%s%s%s/u",
                     settings->configr & CSP_CONFIGR_RETURN_STACK ? ",retstack" : "",
                     settings->configr & CSP_CONFIGR_CYCLE_COUNT ? ",cycacc" : "",
                     settings->configr & CSP_CONFIGR_BRANCH_BROADCAST ? ",branch_broadcast" : "");
    names[EVENT_RESUME] = csp_asprintf("cpu_cycles/aux-action=resume,period=%llu/u", period);
    names[EVENT_PAUSE] = csp_asprintf("%s,period=%llu,call-graph=fp/u",
                                      pulse ? "armv8_pmuv3_0/trcextout1,aux-action=pause"
                                            : "cpu_cycles/aux-action=pause",
                                      window);
    names[EVENT_DUMMY] = csp_strdup("dummy:u");
    for (int event = 0; event < EVENTS; event++) {
        for (unsigned cpu = 0; cpu < conversion->cpus; cpu++)
            csp_vec_push(&conversion->ids[event], event_id(event, cpu));
        conversion->attrs[event].sample_type |= fields;
        if (event == EVENT_TRACE || event == EVENT_DUMMY)
            conversion->attrs[event].sample_type |= CSP_SAMPLE_CPU; /* as perf asks for it */
        conversion->attrs[event].name = names[event];
        conversion->attrs[event].ids = conversion->ids[event].data;
        conversion->attrs[event].id_count = conversion->ids[event].len;
    }
}

static void write_header_texts(struct conversion *conversion)
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

static uint64_t info_version(const struct csp_faults *faults)
{
    if (faults->on[CSP_FAULT_INFO_VERSION])
        return (uint64_t)faults->value[CSP_FAULT_INFO_VERSION];
    return faults->on[CSP_FAULT_REPEATED_IDS] ? 2 : 1;
}

static void write_trace_info(struct conversion *conversion)
{
    bool ete = conversion->raw;
    const struct csp_faults *faults = &conversion->recording->faults;
    struct csp_cs_etm_info info = {.version = info_version(faults), .pmu_type = PMU_CS_ETM};
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

static void write_preamble(struct conversion *conversion)
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
    for (int event = 0; event < EVENTS; event++)
        for (unsigned cpu = 0; cpu < conversion->cpus; cpu++)
            csp_vec_push(&entries, (struct csp_id_index_event){.id = event_id(event, cpu),
                                                               .idx = cpu,
                                                               .cpu = cpu,
                                                               .tid = conversion->pid});
    csp_write_id_index(conversion->writer, entries.data, entries.len);
    csp_vec_free(&entries);
    write_trace_info(conversion);
}

static struct csp_writer_id id_of(const struct conversion *conversion,
                                  const struct csp_event *record, enum event event)
{
    return (struct csp_writer_id){
        .attr = event,
        .pid = conversion->pid,
        .tid = record->tid,
        .cpu = record->cpu,
        .time = record->time,
        .id = event_id(event, record->cpu),
    };
}

/* Told when an event gets a trace ID. */
static void write_trace_id(struct conversion *conversion, const struct csp_event *record)
{
    const struct csp_faults *faults = &conversion->recording->faults;
    struct csp_writer_id id = id_of(conversion, record, EVENT_TRACE);
    uint32_t sink = csp_faults_sink(faults, record->cpu);
    struct csp_hw_id_event event = {
        .minor = sink ? 1 : 0,
        .trace_id = csp_faults_trace_id(faults, record->cpu),
        .sink_id = sink,
    };
    if (info_version(faults) == 2)
        csp_write_hw_id(conversion->writer, &id, &event);
}

static void write_thread(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id dummy = id_of(conversion, record, EVENT_DUMMY);
    struct csp_task_event task = {
        .pid = conversion->pid,
        .parent_pid = conversion->pid,
        .tid = record->tid,
        .parent_tid = conversion->pid,
        .time = record->time,
    };
    if (record->tid != conversion->pid)
        csp_write_fork(conversion->writer, &dummy, &task);
    write_trace_id(conversion, record);
    conversion->recording->threads++;
}

/* The kernel tells it each time that the event is scheduled in. */
static void write_switch_in(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_TRACE);
    struct csp_itrace_start_event start = {conversion->pid, record->tid};
    csp_write_itrace_start(conversion->writer, &id, &start);
}

static void write_exit(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_DUMMY);
    struct csp_task_event task = {
        .pid = conversion->pid,
        .parent_pid = conversion->pid,
        .tid = record->tid,
        .parent_tid = conversion->pid,
        .time = record->time,
    };
    csp_write_exit(conversion->writer, &id, &task);
}

static char *tail_text(const struct csp_event *record)
{
    return csp_strndup(record->tail, record->tail_size);
}

static void write_comm(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_DUMMY);
    char *name = tail_text(record);
    struct csp_comm_event event = {conversion->pid, record->tid, name,
                                   .exec = !conversion->recording->maps};
    csp_write_comm(conversion->writer, &id, &event);
    free(name);
}

static void write_map(struct conversion *conversion, const struct csp_event *record)
{
    enum { READ_EXECUTE = 5, PRIVATE = 2 }; /* PROT_READ | PROT_EXEC, MAP_PRIVATE */
    struct csp_writer_id id = id_of(conversion, record, EVENT_DUMMY);
    char *path = tail_text(record);
    struct csp_mmap_event event = {
        .pid = conversion->pid,
        .tid = record->tid,
        .start = record->a,
        .length = record->b,
        .page_offset = record->c,
        .path = path,
        .build_id = csp_binary_build_id(path),
        .protection = READ_EXECUTE,
        .flags = PRIVATE,
    };
    event.has_build_id = event.build_id.size != 0;
    csp_write_mmap2(conversion->writer, &id, CSP_MISC_CPUMODE_USER, &event);
    if (event.has_build_id)
        csp_writer_build_id(conversion->writer, CSP_MISC_CPUMODE_USER, CSP_NO_TID, &event.build_id,
                            path);
    conversion->recording->maps++;
    free(path);
}

static void store_ring(struct conversion *conversion, unsigned cpu)
{
    struct csp_buf *pending = &conversion->rings[cpu].pending;
    if (!pending->len)
        return;
    struct csp_auxtrace_event event = {
        .size = pending->len,
        .aux_offset = conversion->rings[cpu].stored,
        .reference = ++conversion->reference,
        .idx = cpu,
        .tid = conversion->pid,
        .cpu = cpu,
    };
    csp_write_auxtrace(conversion->writer, &event, pending->data);
    conversion->rings[cpu].stored += pending->len;
    pending->len = 0;
}

static void write_trace(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_TRACE);
    size_t size = record->tail_size;
    struct csp_aux_event event = {
        .aux_offset = conversion->rings[record->cpu].announced,
        .aux_size = size,
        .flags = record->a | (conversion->raw ? CSP_AUX_FORMAT_RAW : 0),
    };
    if (!record->b)
        csp_write_aux(conversion->writer, &id, &event);
    conversion->rings[record->cpu].announced += size;
    conversion->recording->aux_bytes += size;
    csp_buf_add(&conversion->rings[record->cpu].pending, record->tail, size);
    if (conversion->rings[record->cpu].pending.len >= AUXTRACE_CHUNK)
        store_ring(conversion, record->cpu);
}

/* An interrupt in the kernel leaves an event that excludes it without an address. */
static uint16_t mode_of(const struct csp_event *record)
{
    return record->a ? CSP_MISC_CPUMODE_USER : CSP_MISC_CPUMODE_KERNEL;
}

/* The first user frame. */
static uint64_t user_pc(const struct csp_event *record)
{
    const uint64_t *chain = record->tail;
    size_t len = record->tail_size / sizeof *chain, i = 0;
    while (i < len && chain[i] != CSP_CONTEXT_USER)
        i++;
    return i + 1 < len ? chain[i + 1] : 0;
}

static void write_resume(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_RESUME);
    struct csp_writer_sample sample = {
        .misc = mode_of(record),
        .ip = record->a,
        .period = conversion->recording->settings.period,
    };
    csp_write_sample(conversion->writer, &id, &sample);
    conversion->recording->resume_samples++;
}

static void write_pause(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_PAUSE);
    const uint64_t registers[] = {record->b, record->c, user_pc(record)}; /* lr, sp, pc */
    struct csp_writer_sample sample = {
        .misc = mode_of(record),
        .ip = record->a,
        .period = conversion->recording->settings.window,
        .callchain = record->tail,
        .callchain_len = (uint32_t)(record->tail_size / sizeof(uint64_t)),
        .regs_user = registers,
        .aux = record->aux,
        .aux_size = record->aux_size,
    };
    csp_write_sample(conversion->writer, &id, &sample);
    conversion->recording->pause_samples++;
}

static void write_lost(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_DUMMY);
    struct csp_lost_event event = {.id = id.id, .lost = record->a};
    csp_write_lost(conversion->writer, &id, &event);
}

static void write_throttle(struct conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, EVENT_RESUME);
    struct csp_throttle_event event = {.time = record->time, .id = id.id, .stream_id = id.id};
    csp_write_throttle(conversion->writer, &id, record->type == CSP_EVENT_THROTTLE, &event);
}

static void write_records(struct conversion *conversion)
{
    static void (*const writers[CSP_EVENT_TYPES])(struct conversion *, const struct csp_event *) = {
        [CSP_JOURNAL_THREAD] = write_thread,       [CSP_JOURNAL_EXIT] = write_exit,
        [CSP_JOURNAL_COMM] = write_comm,           [CSP_JOURNAL_MAP] = write_map,
        [CSP_JOURNAL_TRACE] = write_trace,         [CSP_JOURNAL_RESUME] = write_resume,
        [CSP_JOURNAL_PAUSE] = write_pause,         [CSP_EVENT_LOST] = write_lost,
        [CSP_EVENT_THROTTLE] = write_throttle,     [CSP_EVENT_UNTHROTTLE] = write_throttle,
        [CSP_JOURNAL_SWITCH_IN] = write_switch_in,
    };
    for (size_t i = 0; i < conversion->events.list.len; i++)
        writers[conversion->events.list.data[i].type](conversion, &conversion->events.list.data[i]);
    for (unsigned cpu = 0; cpu < conversion->cpus; cpu++)
        store_ring(conversion, cpu);
    csp_write_finished_round(conversion->writer);
}

static void release(struct conversion *conversion)
{
    csp_events_free(&conversion->events);
    for (int event = 0; event < EVENTS; event++) {
        csp_vec_free(&conversion->ids[event]);
        free(conversion->names[event]);
    }
    for (unsigned cpu = 0; cpu < CSP_EMULATE_CPUS; cpu++)
        csp_buf_free(&conversion->rings[cpu].pending);
}

static int write_ledger(const char *path, const struct csp_buf *ledger, struct csp_diag *diag)
{
    struct csp_output output;
    int error = csp_output_open(&output, path, diag);
    if (error)
        return error;
    fwrite(ledger->data, 1, ledger->len, output.stream);
    return csp_output_commit(&output, diag);
}

static int damage(struct conversion *conversion, struct csp_diag *diag)
{
    struct csp_emulated_recording *recording = conversion->recording;
    struct csp_buf ledger = {0};
    int error = 0;
    conversion->raw = csp_faults_raw(&recording->faults, &recording->settings);
    if (!csp_faults_any(&recording->faults) && !recording->ledger)
        return 0;
    csp_faults_apply(&recording->faults, &recording->settings, &conversion->events, &ledger);
    if (recording->ledger)
        error = write_ledger(recording->ledger, &ledger, diag);
    csp_buf_free(&ledger);
    return error;
}

static int write_recording(struct conversion *conversion, const char *path, struct csp_diag *diag)
{
    describe_events(conversion);
    int error = csp_writer_open(&conversion->writer, path, conversion->attrs, EVENTS, diag);
    if (error)
        return error;
    write_header_texts(conversion);
    write_preamble(conversion);
    write_records(conversion);
    return csp_writer_close(conversion->writer, diag);
}

int csp_emulated_recording_write(struct csp_emulated_recording *recording, const char *path,
                                 struct csp_diag *diag)
{
    struct conversion conversion = {.recording = recording};
    int error = read_journal(&conversion, diag);
    if (!error)
        error = damage(&conversion, diag);
    if (!error)
        error = write_recording(&conversion, path, diag);
    release(&conversion);
    return error;
}
