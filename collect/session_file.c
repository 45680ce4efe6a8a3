#include "collect/session_private.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { TYPE_SOFTWARE = 1, TYPE_TRACEPOINT = 2, SOFTWARE_DUMMY = 9 };
#define UNIT "sys/bus/event_source/devices/cs_etm/cpu%u/"

/* A trace unit's registers as the kernel shows them; what tools/perf/arch/arm/util/cs-etm.c stores.
 */
static void add_trace_unit(struct csp_session *session, uint32_t cpu)
{
    static const struct {
        uint32_t param;
        const char *file;
    } registers[] = {
        {CSP_ETM_IDR0, "trcidr/trcidr0"},           {CSP_ETM_IDR1, "trcidr/trcidr1"},
        {CSP_ETM_IDR2, "trcidr/trcidr2"},           {CSP_ETM_IDR8, "trcidr/trcidr8"},
        {CSP_ETM_AUTHSTATUS, "mgmt/trcauthstatus"},
    };
    const char *root = session->options->target->root;
    int64_t value = 0, devarch = 0;
    struct csp_cs_etm_cpu unit = {.cpu = cpu};
    csp_tree_number(root, &devarch, UNIT "mgmt/trcdevarch", cpu);
    bool ete = (devarch >> 12 & 0xf) == 5 && (devarch & 0xfff) == 0xa13;
    unit.magic = ete ? CSP_CS_ETM_MAGIC_ETE : CSP_CS_ETM_MAGIC_ETMV4;
    unit.param_count = (ete ? CSP_ETE_TS_SOURCE : CSP_ETM_TS_SOURCE) + 1;
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
        if (csp_tree_number(root, &value, UNIT "%s", cpu, registers[i].file))
            unit.params[registers[i].param] = (uint64_t)value;
    unit.params[CSP_ETM_CONFIGR] = session->set.configr;
    /* What kernels before 6.1, which do not tell, gave out; others tell better when they run. */
    unit.params[CSP_ETM_TRACEIDR] = 0x10 + 2 * (uint64_t)(cpu % 48);
    if (ete)
        unit.params[CSP_ETE_DEVARCH] = (uint64_t)devarch;
    if (csp_tree_number(root, &value, UNIT "ts_source", cpu))
        unit.params[ete ? CSP_ETE_TS_SOURCE : CSP_ETM_TS_SOURCE] = (uint64_t)value;
    csp_vec_push(&session->trace_info.cpus, unit);
}

static void write_trace_info(struct csp_session *session)
{
    struct csp_time_conv_event conv;
    session->trace_info.version = 1; /* 2 is not read by perf before 6.3 */
    session->trace_info.pmu_type = session->options->target->trace.type;
    if (!session->trace_info.cpus.len)
        for (size_t i = 0; i < session->result->rings; i++)
            add_trace_unit(session, session->rings.data[i].cpu);
    if (csp_ring_time_conv(&session->rings.data[0], &conv))
        csp_write_time_conv(session->writer, &conv);
    csp_write_auxtrace_info(session->writer, &session->trace_info);
}

void csp_session_hw_id(void *user, uint32_t cpu, const struct csp_hw_id_event *event)
{
    struct csp_session *session = user;
    for (size_t i = 0; i < session->trace_info.cpus.len; i++) {
        struct csp_cs_etm_cpu *unit = &session->trace_info.cpus.data[i];
        if (unit->cpu != cpu) {
            session->sinks_share_ids |= unit->hw_id_seen && unit->trace_id == event->trace_id &&
                                        unit->sink_id != event->sink_id;
            continue;
        }
        unit->hw_id_seen = true;
        unit->trace_id = event->trace_id;
        unit->sink_id = event->sink_id;
        unit->params[CSP_ETM_TRACEIDR] = event->trace_id;
    }
}

static void write_id_index(struct csp_session *session)
{
    CSP_VEC(struct csp_id_index_event) entries = {0};
    for (size_t i = 0; i < session->events.len; i++) {
        const struct csp_session_event *event = &session->events.data[i];
        csp_vec_push(&entries, (struct csp_id_index_event){
                                   .id = event->id,
                                   .idx = event->ring,
                                   .cpu = event->cpu,
                                   .tid = event->tid < 0 ? CSP_NO_TID : (uint32_t)event->tid,
                               });
        /* A record holds at most 65,528 bytes. */
        if (entries.len == 2000 || i + 1 == session->events.len) {
            csp_write_id_index(session->writer, entries.data, entries.len);
            entries.len = 0;
        }
    }
    csp_vec_free(&entries);
}

static void write_texts(struct csp_session *session)
{
    const struct csp_target *target = session->options->target;
    struct utsname name = {0};
    CSP_VEC(const char *) pmu_names = {0};
    CSP_VEC(uint32_t) pmu_types = {0};
    uname(&name);
    for (size_t i = 0; i < target->pmus.len; i++) {
        csp_vec_push(&pmu_names, target->pmus.data[i].name);
        csp_vec_push(&pmu_types, target->pmus.data[i].type);
    }
    if (target->trace.present) {
        csp_vec_push(&pmu_names, "cs_etm");
        csp_vec_push(&pmu_types, target->trace.type);
    }
    struct csp_writer_info info = {
        .hostname = name.nodename,
        .os_release = name.release,
        .arch = name.machine,
        .perf_version = "csprof",
        .command = session->options->recorder_command,
        .cpus_available = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
        .cpus_online = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
        .pmu_names = pmu_names.data,
        .pmu_types = pmu_types.data,
        .pmu_count = pmu_names.len,
    };
    csp_writer_info(session->writer, &info);
    csp_vec_free(&pmu_names);
    csp_vec_free(&pmu_types);
}

/* Processes that exist already; of a command, its own still unchanged copy of us is of no use. */
static void write_processes(struct csp_session *session)
{
    struct csp_process_writer out = {.writer = session->writer, .tracker = session->set.count - 1};
    struct csp_tids pids = {0};
    if (session->tasks.data[0] < 0)
        csp_processes_list(&pids);
    else if (!session->has_workload)
        for (size_t i = 0; i < session->watched.len; i++) {
            uint32_t pid = csp_thread_process(session->watched.data[i]);
            bool known = false;
            for (size_t j = 0; j < pids.tids.len; j++)
                known |= pids.tids.data[j] == pid;
            if (pid && !known)
                csp_vec_push(&pids.tids, pid);
        }
    for (size_t i = 0; i < pids.tids.len; i++)
        csp_process_write(&out, pids.tids.data[i]);
    session->result->mappings_at_start = out.mappings;
    session->result->not_readable = out.not_readable;
    csp_process_writer_free(&out);
    csp_vec_free(&pids.tids);
}

int csp_session_open_slice_file(struct csp_session *session)
{
    CSP_VEC(uint64_t) ids[CSP_EVENTS_MAX] = {0};
    for (size_t i = 0; i < session->events.len; i++)
        csp_vec_push(&ids[session->events.data[i].event], session->events.data[i].id);
    struct csp_attr attrs[CSP_EVENTS_MAX];
    for (uint32_t i = 0; i < session->set.count; i++) {
        attrs[i] = session->set.attrs[i];
        if (attrs[i].type == TYPE_TRACEPOINT) {
            /* perf reads no tracepoint whose format is not in the file, and no sample has data to
             * be formatted (evsel__prepare_tracepoint_event, tools/perf/util/header.c). */
            attrs[i].type = TYPE_SOFTWARE;
            attrs[i].config = SOFTWARE_DUMMY;
        }
        attrs[i].ids = ids[i].data;
        attrs[i].id_count = ids[i].len;
    }
    int error = csp_writer_open(&session->writer, session->output, attrs, session->set.count,
                                session->diag);
    for (uint32_t i = 0; i < session->set.count; i++)
        csp_vec_free(&ids[i]);
    if (error)
        return error;
    int level = session->options->compression;
    if (level && !csp_writer_compress(session->writer, level))
        return csp_fail(session->diag, CSP_ERR_FAILED,
                        "not enough memory to compress the recording");
    write_texts(session);
    write_id_index(session);
    if (session->set.has_trace)
        write_trace_info(session);
    return 0;
}

int csp_session_open_file(struct csp_session *session)
{
    int error = csp_session_open_slice_file(session);
    if (error)
        return error;
    write_processes(session);
    csp_writer_flush(session->writer);
    return 0;
}

static void count_bytes(struct csp_session *session)
{
    struct csp_session_result *result = session->result;
    uint64_t plain, packed;
    csp_writer_flush(session->writer);
    csp_writer_compression(session->writer, &plain, &packed);
    result->bytes += csp_writer_size(session->writer);
    result->plain_bytes += plain;
    result->packed_bytes += packed;
}

int csp_session_close_file(struct csp_session *session)
{
    if (session->set.has_trace && session->writer) {
        session->result->trace_units_seen = 0;
        for (size_t i = 0; i < session->trace_info.cpus.len; i++)
            session->result->trace_units_seen += session->trace_info.cpus.data[i].hw_id_seen;
        if (session->sinks_share_ids)
            session->trace_info.version = 2; /* IDs alone do not tell CPUs apart */
        csp_writer_update_auxtrace_info(session->writer, &session->trace_info);
    }
    if (session->writer)
        count_bytes(session);
    int error = csp_writer_close(session->writer, session->diag);
    session->writer = NULL;
    return error;
}
