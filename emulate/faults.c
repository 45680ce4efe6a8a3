#include "emulate/faults.h"

#include "base/parse.h"
#include "emulate/fault_ledger.h"
#include "emulate/packets.h"
#include "emulate/trace_core.h"

#include <stdlib.h>
#include <string.h>

static const struct kind {
    const char *name;
    double usual, least, most;
} kinds[CSP_FAULTS] = {
    [CSP_FAULT_LOST_SAMPLES] = {"lost-samples", 0.05, 0, 1},
    [CSP_FAULT_FULL_RING] = {"full-ring", 0.05, 0, 1},
    [CSP_FAULT_THROTTLING] = {"throttling", 0.05, 0, 1},
    [CSP_FAULT_LOST_WINDOWS] = {"lost-windows", 0.05, 0, 1},
    [CSP_FAULT_LOST_AUX] = {"lost-aux", 0.02, 0, 1},
    [CSP_FAULT_TRUNCATED] = {"truncated", 0.02, 0, 1},
    [CSP_FAULT_COLLISION] = {"collision", 0.02, 0, 1},
    [CSP_FAULT_UNDRAINED] = {"undrained", 300, 1, 1e9},
    [CSP_FAULT_OVERWRITTEN] = {"overwritten", 16384, 16, 1e9},
    [CSP_FAULT_TRBE] = {"trbe", 65536, 64, 1e9},
    [CSP_FAULT_MID_PACKET] = {"mid-packet", 4096, 64, 1e9},
    [CSP_FAULT_AUX_SAMPLES] = {"aux-samples", 2048, 64, 32768},
    [CSP_FAULT_SKID] = {"skid", 4, 1, 1000},
    [CSP_FAULT_CLOCK_OFFSET] = {"clock-offset", 1e6, -1e12, 1e12},
    [CSP_FAULT_CLOCK_DRIFT] = {"clock-drift", 100, -1e4, 1e4},
    [CSP_FAULT_UNKNOWN_CLOCK] = {"unknown-clock", 1, 1, 1},
    [CSP_FAULT_NO_TIME] = {"no-time", 1, 1, 1},
    [CSP_FAULT_NO_CONTEXT] = {"no-context", 1, 1, 1},
    [CSP_FAULT_INFO_VERSION] = {"info-version", 2, 0, 2},
    [CSP_FAULT_REPEATED_IDS] = {"repeated-ids", 2, 1, CSP_EMULATE_CPUS},
};

const char *csp_fault_name(enum csp_fault fault)
{
    return kinds[fault].name;
}

static int unknown_kind(const char *text, struct csp_diag *diag)
{
    struct csp_buf names = {0};
    for (int i = 0; i < CSP_FAULTS; i++)
        csp_buf_printf(&names, "%s%s", i ? ", " : "", kinds[i].name);
    int error =
        csp_fail(diag, CSP_ERR_USAGE, "--fault: there is no '%s'; there are %s", text, names.data);
    csp_buf_free(&names);
    return error;
}

int csp_faults_parse(struct csp_faults *faults, const char *text, struct csp_diag *diag)
{
    size_t length = strcspn(text, "=");
    int i = 0;
    while (i < CSP_FAULTS &&
           (strncmp(kinds[i].name, text, length) != 0 || kinds[i].name[length] != '\0'))
        i++;
    if (i == CSP_FAULTS)
        return unknown_kind(text, diag);
    faults->on[i] = true;
    faults->value[i] = kinds[i].usual;
    if (text[length] &&
        !csp_parse_real(text + length + 1, kinds[i].least, kinds[i].most, &faults->value[i]))
        return csp_fail(diag, CSP_ERR_USAGE, "--fault %s: a number from %g to %g was expected",
                        text, kinds[i].least, kinds[i].most);
    return 0;
}

bool csp_faults_any(const struct csp_faults *faults)
{
    for (int i = 0; i < CSP_FAULTS; i++)
        if (faults->on[i])
            return true;
    return false;
}

double csp_chance_uniform(struct csp_chance *chance)
{
    uint64_t x = chance->state;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27; /* xorshift64* (Marsaglia, Vigna) */
    chance->state = x;
    return (double)(x * UINT64_C(0x2545f4914f6cdd1d) >> 11) / 9007199254740992.0;
}

bool csp_chance_in_burst(struct csp_chance *chance, double share)
{
    enum { MEAN = 10 };
    double go_on = chance->burst ? 1 - 1.0 / MEAN : share / MEAN;
    chance->burst = csp_chance_uniform(chance) < go_on;
    return chance->burst;
}

uint64_t csp_faults_clock(const struct csp_faults *faults, uint64_t time)
{
    double since = (double)(int64_t)(time - CSP_CLOCK_START), shift = 0;
    if (faults->on[CSP_FAULT_CLOCK_OFFSET])
        shift += faults->value[CSP_FAULT_CLOCK_OFFSET];
    if (faults->on[CSP_FAULT_CLOCK_DRIFT])
        shift += since * faults->value[CSP_FAULT_CLOCK_DRIFT] / 1e6;
    return time + (uint64_t)(int64_t)shift;
}

bool csp_faults_raw(const struct csp_faults *faults, const struct csp_emulate_settings *settings)
{
    return settings->protocol == CSP_EMULATE_ETE || faults->on[CSP_FAULT_TRBE] ||
           faults->on[CSP_FAULT_MID_PACKET];
}

static unsigned sinks(const struct csp_faults *faults)
{
    return faults->on[CSP_FAULT_REPEATED_IDS] ? (unsigned)faults->value[CSP_FAULT_REPEATED_IDS] : 1;
}

uint8_t csp_faults_trace_id(const struct csp_faults *faults, unsigned cpu)
{
    return (uint8_t)(CSP_EMULATE_TRACE_ID + cpu / sinks(faults));
}

uint32_t csp_faults_sink(const struct csp_faults *faults, unsigned cpu)
{
    return faults->on[CSP_FAULT_REPEATED_IDS] ? 1 + cpu % sinks(faults) : 0;
}

/* ---- from the sink's bytes back to windows ---- */

/* Of the core's counter, in nanoseconds of the samples' clock. */
static uint64_t clock_of(uint64_t counter)
{
    return counter ? counter - CSP_COUNTER_START + CSP_CLOCK_START : 0;
}

static void end_window(struct csp_events *events, struct csp_event *window, const uint8_t *end)
{
    enum { DRAIN_COST = 100 };
    if (!window->tail)
        return;
    window->tail_size = (size_t)(end - (const uint8_t *)window->tail);
    window->time = window->b ? window->b + DRAIN_COST : window->time;
    csp_events_add(events, *window);
    window->tail = NULL;
}

/* A window begins with A-Sync, Trace Info, Trace On. What an overwritten buffer begins with, before
 * the first, is of no window. */
static void find_windows(struct csp_events *events, const struct csp_event *trace, uint32_t cpu,
                         const uint8_t *bytes, size_t size)
{
    struct csp_packet_walk walk = {.at = bytes, .end = bytes + size};
    struct csp_event window = {.type = CSP_EVENT_WINDOW, .cpu = cpu, .tid = trace->tid};
    enum csp_packet_kind kind, before[2] = {CSP_PACKET_OF_CORE, CSP_PACKET_OF_CORE};
    const uint8_t *sync = NULL;
    while (csp_packet_walk(&walk, &kind)) {
        if (kind == CSP_PACKET_A_SYNC)
            sync = walk.packet;
        if (kind == CSP_PACKET_ON && before[0] == CSP_PACKET_INFO &&
            before[1] == CSP_PACKET_A_SYNC) {
            end_window(events, &window, sync);
            window.tail = sync;
            window.time = trace->time;
            window.a = window.b = 0;
        }
        if (kind == CSP_PACKET_TIME && window.tail) {
            window.b = clock_of(walk.time);
            window.a = window.a ? window.a : window.b;
        }
        if (kind == CSP_PACKET_CONTEXT && walk.has_context_id)
            window.tid = walk.context_id;
        before[1] = before[0];
        before[0] = kind;
    }
    end_window(events, &window, walk.packet);
}

/* A TRBE pads with Ignore packets, which are no packets of the core. */
static void drop_padding(struct csp_buf *out, const uint8_t *bytes, size_t size)
{
    struct csp_packet_walk walk = {.at = bytes, .end = bytes + size};
    enum csp_packet_kind kind;
    while (walk.at < walk.end) {
        const uint8_t *first = walk.at;
        while (csp_packet_walk(&walk, &kind))
            ;
        csp_buf_add(out, first, (size_t)(walk.at - first));
        walk.at++;
    }
}

static void take_apart(struct csp_events *events, const struct csp_event *trace,
                       const struct csp_emulate_settings *settings)
{
    static const struct csp_buf none;
    struct csp_buf sources[128];
    for (unsigned id = 0; id < 128; id++)
        sources[id] = none;
    uint32_t first = CSP_EMULATE_TRACE_ID;
    if (settings->protocol == CSP_EMULATE_ETE)
        drop_padding(&sources[first + trace->cpu], trace->tail, trace->tail_size);
    else
        csp_frame_unpack(sources, trace->tail, trace->tail_size);
    for (uint32_t id = 0; id < 128; id++) {
        if (sources[id].len && id >= first && id < first + CSP_EMULATE_CPUS) {
            const uint8_t *kept = csp_events_keep(events, sources[id].data, sources[id].len);
            find_windows(events, trace, id - first, kept, sources[id].len);
        }
        csp_buf_free(&sources[id]);
    }
}

static void find_all_windows(struct csp_events *events, const struct csp_emulate_settings *settings)
{
    for (size_t i = 0, count = events->list.len; i < count; i++) {
        if (events->list.data[i].type != CSP_JOURNAL_TRACE)
            continue;
        struct csp_event trace = events->list.data[i];
        take_apart(events, &trace, settings);
        events->list.data[i].type = CSP_EVENT_GONE;
    }
    csp_events_sort(events);
}

void csp_faults_apply(const struct csp_faults *faults, const struct csp_emulate_settings *settings,
                      struct csp_events *events, struct csp_buf *ledger)
{
    csp_ledger_begin(ledger, faults);
    find_all_windows(events, settings);
    csp_fault_samples(faults, events, ledger);
    csp_fault_trace(faults, csp_faults_raw(faults, settings), events, ledger);
    csp_fault_full_ring(faults, events, ledger);
    csp_events_sort(events);
    csp_ledger_end(ledger, events, csp_faults_raw(faults, settings));
    for (size_t i = 0; i < events->list.len; i++)
        events->list.data[i].time = csp_faults_clock(faults, events->list.data[i].time);
}
