/* The trace sink, and its faults: from windows to AUX records. */
#include "emulate/fault_ledger.h"

#include "emulate/frame.h"
#include "emulate/packets.h"
#include "perfdata/record.h"

#include <string.h>

/* perf stores trace in words of 8 bytes, so sizes are multiples of that. */
enum { FRAME_SIZE = 16, TRBE_ALIGNMENT = 32, IGNORE_PACKET = 0x70, WORD = 8 };

/* What is stored and not announced yet. */
struct sink {
    struct csp_buf bytes;
    CSP_VEC(struct csp_stored_window) windows;
    bool continued; /* its first window began in the record before */
};

struct storing {
    const struct csp_faults *faults;
    struct csp_events *events;
    struct csp_buf *ledger;
    bool raw;
    struct csp_chance chance;
    struct sink sinks[CSP_EMULATE_CPUS]; /* of a CPU, or shared by several */
};

/* Drops the oldest bytes that a ring of this size has no room for. */
static uint64_t overwrite(struct storing *storing, struct csp_event *trace, size_t room)
{
    room -= room % FRAME_SIZE;
    if (trace->tail_size <= room)
        return 0;
    size_t gone = trace->tail_size - room;
    csp_ledger_missing(storing->ledger, trace, 0, gone);
    trace->tail = (const uint8_t *)trace->tail + gone;
    trace->tail_size = room;
    struct csp_stored_window *windows = csp_events_keep(
        storing->events, trace->windows, trace->window_count * sizeof *trace->windows);
    size_t kept = 0;
    for (size_t i = 0; i < trace->window_count; i++) {
        if (windows[i].end <= gone)
            continue;
        windows[kept] = windows[i];
        windows[kept++].end -= gone;
    }
    trace->windows = windows;
    trace->window_count = kept;
    return CSP_AUX_TRUNCATED;
}

static bool hit(struct storing *storing, enum csp_fault fault)
{
    return storing->faults->on[fault] &&
           csp_chance_uniform(&storing->chance) < storing->faults->value[fault];
}

/* Some room, but not enough. */
static void truncate_trace(struct storing *storing, struct csp_event *trace)
{
    size_t room = (size_t)(csp_chance_uniform(&storing->chance) * (double)trace->tail_size);
    if (!storing->raw) {
        trace->a |= overwrite(storing, trace, room);
        return;
    }
    room -= room % WORD;
    csp_ledger_missing(storing->ledger, trace, room, trace->tail_size);
    trace->tail_size = room;
    trace->a |= CSP_AUX_TRUNCATED;
}

static void doubt_all(struct storing *storing, const struct csp_event *trace)
{
    for (size_t i = 0; i < trace->window_count; i++)
        csp_ledger_window(storing->ledger, trace->windows[i].cpu, trace->windows[i].last_time,
                          "doubtful");
}

static void collide(struct storing *storing, struct csp_event *trace)
{
    enum { MOST = 25 };
    size_t first = (size_t)(csp_chance_uniform(&storing->chance) * (double)trace->tail_size);
    size_t hole = WORD * (1 + (size_t)(csp_chance_uniform(&storing->chance) * MOST));
    first -= first % WORD;
    if (hole > trace->tail_size - first)
        hole = trace->tail_size - first;
    uint8_t *bytes = csp_events_keep(storing->events, trace->tail, trace->tail_size);
    memmove(bytes + first, bytes + first + hole, trace->tail_size - first - hole);
    doubt_all(storing, trace);
    trace->tail = bytes;
    trace->tail_size -= hole;
    trace->a |= CSP_AUX_COLLISION;
}

/* An AUX record announces the first `size` bytes of sink `number`, in the ring of the CPU of that
 * number. */
static void announce(struct storing *storing, unsigned number, uint32_t tid, uint64_t time,
                     size_t size)
{
    struct sink *sink = &storing->sinks[number];
    CSP_VEC(struct csp_stored_window) windows = {0};
    size_t whole = 0;
    while (whole < sink->windows.len && sink->windows.data[whole].end <= size)
        csp_vec_push(&windows, sink->windows.data[whole++]);
    size_t end = whole ? windows.data[whole - 1].end : 0;
    bool goes_on = end < size && whole < sink->windows.len;
    if (goes_on) {
        csp_vec_push(&windows, sink->windows.data[whole]);
        windows.data[whole].end = size;
        windows.data[whole].ends = false;
        sink->windows.data[whole].begins = false;
        sink->windows.data[whole].before += size - end;
    }
    struct csp_event trace = {.type = CSP_JOURNAL_TRACE,
                              .tid = tid,
                              .cpu = number,
                              .time = time,
                              .tail_size = size,
                              .window_count = windows.len};
    trace.tail = csp_events_keep(storing->events, sink->bytes.data, size);
    trace.windows =
        csp_events_keep(storing->events, windows.data, windows.len * sizeof *windows.data);
    csp_vec_free(&windows);
    if (storing->faults->on[CSP_FAULT_OVERWRITTEN])
        trace.a |=
            overwrite(storing, &trace, (size_t)storing->faults->value[CSP_FAULT_OVERWRITTEN]);
    if (storing->raw && hit(storing, CSP_FAULT_COLLISION))
        collide(storing, &trace);
    else if (hit(storing, CSP_FAULT_TRUNCATED))
        truncate_trace(storing, &trace);
    else if (hit(storing, CSP_FAULT_LOST_AUX)) {
        csp_ledger_missing(storing->ledger, &trace, 0, trace.tail_size);
        trace.tail_size = 0;
        trace.a |= CSP_AUX_TRUNCATED;
    }
    csp_events_add(storing->events, trace);

    size_t left = sink->windows.len - whole;
    for (size_t i = 0; i < left; i++) {
        sink->windows.data[i] = sink->windows.data[whole + i];
        sink->windows.data[i].end -= size;
    }
    sink->windows.len = left;
    memmove(sink->bytes.data, sink->bytes.data + size, sink->bytes.len - size);
    sink->bytes.len -= size;
}

static void store(struct storing *storing, struct sink *sink, const struct csp_event *window)
{
    const struct csp_faults *faults = storing->faults;
    struct csp_buf packets = {0};
    csp_packets_strip(&packets, window->tail, window->tail_size, faults->on[CSP_FAULT_NO_TIME],
                      faults->on[CSP_FAULT_NO_CONTEXT]);
    if (storing->raw) {
        csp_buf_add(&sink->bytes, packets.data, packets.len);
        while (sink->bytes.len % TRBE_ALIGNMENT)
            csp_buf_add_u8(&sink->bytes, IGNORE_PACKET);
    } else {
        csp_frame_pack(&sink->bytes, csp_faults_trace_id(faults, window->cpu), packets.data,
                       packets.len);
    }
    csp_vec_push(&sink->windows, (struct csp_stored_window){
                                     .cpu = window->cpu,
                                     .last_time = window->b,
                                     .end = sink->bytes.len,
                                     .needed = csp_packets_first_atom(packets.data, packets.len),
                                     .begins = true,
                                     .ends = true,
                                 });
    csp_buf_free(&packets);
}

static size_t watermark(const struct csp_faults *faults)
{
    enum { USUAL = 64 * 1024 };
    if (faults->on[CSP_FAULT_MID_PACKET])
        return (size_t)faults->value[CSP_FAULT_MID_PACKET] / WORD * WORD;
    return faults->on[CSP_FAULT_TRBE] ? (size_t)faults->value[CSP_FAULT_TRBE] : USUAL;
}

/* A TRBE interrupts when it is full, whatever the trace unit is doing. `before`: bytes that were
 * there when this window began. */
static void announce_raw(struct storing *storing, const struct csp_event *window, size_t before)
{
    const struct csp_faults *faults = storing->faults;
    struct sink *sink = &storing->sinks[window->cpu];
    size_t size = watermark(faults);
    if (sink->bytes.len < size)
        return;
    if (!faults->on[CSP_FAULT_MID_PACKET]) {
        announce(storing, window->cpu, window->tid, window->time, sink->bytes.len);
        return;
    }
    double span = (double)(window->b - window->a), length = (double)(sink->bytes.len - before);
    for (size_t done = 0; sink->bytes.len >= size; done += size) {
        double share = (double)(done + size - before) / length;
        announce(storing, window->cpu, window->tid, window->a + (uint64_t)(share * span), size);
    }
}

/* What is in the ring when a pause's sample is written. */
static void attach_snapshot(struct storing *storing, struct csp_event *pause)
{
    struct sink *sink = &storing->sinks[pause->cpu];
    size_t size = (size_t)storing->faults->value[CSP_FAULT_AUX_SAMPLES];
    size -= size % TRBE_ALIGNMENT;
    if (size > sink->bytes.len)
        size = sink->bytes.len;
    pause->aux = csp_events_keep(storing->events, sink->bytes.data + sink->bytes.len - size, size);
    pause->aux_size = size;
}

static void take_window(struct storing *storing, struct csp_event *window)
{
    const struct csp_faults *faults = storing->faults;
    bool undrained = faults->on[CSP_FAULT_UNDRAINED] || faults->on[CSP_FAULT_OVERWRITTEN];
    unsigned number = window->cpu;
    if (!storing->raw && undrained) {
        uint32_t shared = csp_faults_sink(faults, window->cpu);
        number = shared ? shared - 1 : 0;
    }
    struct sink *sink = &storing->sinks[number];
    size_t before = sink->bytes.len;
    store(storing, sink, window);
    if (faults->on[CSP_FAULT_AUX_SAMPLES])
        return;
    if (storing->raw) {
        announce_raw(storing, window, before);
        return;
    }
    double most = faults->on[CSP_FAULT_UNDRAINED] ? faults->value[CSP_FAULT_UNDRAINED] : 300;
    if (!undrained || (double)sink->windows.len >= most)
        announce(storing, number, window->tid, window->time, sink->bytes.len);
}

void csp_fault_trace(const struct csp_faults *faults, bool raw, struct csp_events *events,
                     struct csp_buf *ledger)
{
    struct storing *storing = csp_calloc(1, sizeof *storing);
    struct csp_event last = {0};
    *storing = (struct storing){.faults = faults,
                                .events = events,
                                .ledger = ledger,
                                .raw = raw,
                                .chance = {.state = (faults->seed * 2 + 1) * 0x9e3779b9}};
    for (size_t i = 0, count = events->list.len; i < count; i++) {
        struct csp_event event = events->list.data[i];
        last.time = event.time > last.time ? event.time : last.time;
        if (event.type == CSP_JOURNAL_PAUSE && faults->on[CSP_FAULT_AUX_SAMPLES])
            attach_snapshot(storing, &events->list.data[i]);
        if (event.type != CSP_EVENT_WINDOW)
            continue;
        last.tid = event.tid;
        take_window(storing, &event);
        events->list.data[i].type = CSP_EVENT_GONE;
    }
    for (unsigned i = 0; i < CSP_EMULATE_CPUS; i++) {
        struct sink *sink = &storing->sinks[i];
        if (sink->bytes.len && !faults->on[CSP_FAULT_AUX_SAMPLES])
            announce(storing, i, last.tid, last.time, sink->bytes.len);
        csp_buf_free(&sink->bytes);
        csp_vec_free(&sink->windows);
    }
    free(storing);
}
