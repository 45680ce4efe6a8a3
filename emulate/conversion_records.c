#include "emulate/binary.h"
#include "emulate/conversion.h"
#include "perfdata/sample_record.h"

/* perf reads AUXTRACE in one piece and looks for AUX records in all of them: few large ones. */
enum { AUXTRACE_CHUNK = 1 << 20 };

static struct csp_writer_id id_of(const struct csp_conversion *conversion,
                                  const struct csp_event *record, enum csp_emulated_event event)
{
    return (struct csp_writer_id){
        .attr = event,
        .pid = conversion->pid,
        .tid = record->tid,
        .cpu = record->cpu,
        .time = record->time,
        .id = csp_emulated_event_id(event, record->cpu),
    };
}

/* Told when an event gets a trace ID. */
static void write_trace_id(struct csp_conversion *conversion, const struct csp_event *record)
{
    const struct csp_faults *faults = &conversion->recording->faults;
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_TRACE);
    uint32_t sink = csp_faults_sink(faults, record->cpu);
    struct csp_hw_id_event event = {
        .minor = sink ? 1 : 0,
        .trace_id = csp_faults_trace_id(faults, record->cpu),
        .sink_id = sink,
    };
    if (csp_emulated_info_version(faults) == 2)
        csp_write_hw_id(conversion->writer, &id, &event);
}

static struct csp_task_event task_of(const struct csp_conversion *conversion,
                                     const struct csp_event *record)
{
    return (struct csp_task_event){
        .pid = conversion->pid,
        .parent_pid = conversion->pid,
        .tid = record->tid,
        .parent_tid = conversion->pid,
        .time = record->time,
    };
}

static void write_thread(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id dummy = id_of(conversion, record, CSP_EMULATED_DUMMY);
    struct csp_task_event task = task_of(conversion, record);
    if (record->tid != conversion->pid)
        csp_write_fork(conversion->writer, &dummy, &task);
    write_trace_id(conversion, record);
    conversion->recording->threads++;
}

/* The kernel tells it each time that the event is scheduled in. */
static void write_switch_in(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_TRACE);
    struct csp_itrace_start_event start = {conversion->pid, record->tid};
    csp_write_itrace_start(conversion->writer, &id, &start);
}

static void write_exit(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_DUMMY);
    struct csp_task_event task = task_of(conversion, record);
    csp_write_exit(conversion->writer, &id, &task);
}

static char *tail_text(const struct csp_event *record)
{
    return csp_strndup(record->tail, record->tail_size);
}

static void write_comm(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_DUMMY);
    char *name = tail_text(record);
    struct csp_comm_event event = {conversion->pid, record->tid, name,
                                   .exec = !conversion->recording->maps};
    csp_write_comm(conversion->writer, &id, &event);
    free(name);
}

static void write_map(struct csp_conversion *conversion, const struct csp_event *record)
{
    enum { READ_EXECUTE = 5, PRIVATE = 2 }; /* PROT_READ | PROT_EXEC, MAP_PRIVATE */
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_DUMMY);
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

static void store_ring(struct csp_conversion *conversion, unsigned cpu)
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

static void write_trace(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_TRACE);
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

static void write_resume(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_RESUME);
    struct csp_writer_sample sample = {
        .misc = mode_of(record),
        .ip = record->a,
        .period = conversion->recording->settings.period,
    };
    csp_write_sample(conversion->writer, &id, &sample);
    conversion->recording->resume_samples++;
}

static void write_pause(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_PAUSE);
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

static void write_lost(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_DUMMY);
    struct csp_lost_event event = {.id = id.id, .lost = record->a};
    csp_write_lost(conversion->writer, &id, &event);
}

static void write_throttle(struct csp_conversion *conversion, const struct csp_event *record)
{
    struct csp_writer_id id = id_of(conversion, record, CSP_EMULATED_RESUME);
    struct csp_throttle_event event = {.time = record->time, .id = id.id, .stream_id = id.id};
    csp_write_throttle(conversion->writer, &id, record->type == CSP_EVENT_THROTTLE, &event);
}

void csp_conversion_write_records(struct csp_conversion *conversion)
{
    static void (*const writers[CSP_EVENT_TYPES])(struct csp_conversion *,
                                                  const struct csp_event *) = {
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
