/* Faults of samples, and of windows as a whole. */
#include "emulate/fault_ledger.h"

#include "perfdata/sample_record.h"

/* One for each ring. */
struct luck {
    struct csp_chance windows, samples, skid, throttle, ring;
    bool throttled;
    uint64_t lost; /* that no LOST record has told of */
};

static struct csp_chance chance_of(uint64_t seed)
{
    struct csp_chance chance = {.state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1};
    csp_chance_uniform(&chance); /* seeds that are alike begin alike */
    return chance;
}

static void begin(struct luck *luck, const struct csp_faults *faults)
{
    enum { CHANCES = 5 };
    for (uint64_t cpu = 0; cpu < CSP_EMULATE_CPUS; cpu++) {
        uint64_t seed = (faults->seed * CSP_EMULATE_CPUS + cpu) * CHANCES;
        luck[cpu] = (struct luck){.windows = chance_of(seed),
                                  .samples = chance_of(seed + 1),
                                  .skid = chance_of(seed + 2),
                                  .throttle = chance_of(seed + 3),
                                  .ring = chance_of(seed + 4)};
    }
}

static unsigned ring_of(const struct csp_event *event)
{
    return event->cpu < CSP_EMULATE_CPUS ? event->cpu : 0;
}

static void add_like(struct csp_events *events, const struct csp_event *event,
                     enum csp_event_type type, uint64_t value)
{
    csp_events_add(events, (struct csp_event){.type = (uint16_t)type,
                                              .tid = event->tid,
                                              .cpu = event->cpu,
                                              .time = event->time,
                                              .a = value});
}

/* Takes the event away and says so. */
static void lose(struct csp_event *event, struct csp_buf *ledger, const char *fate)
{
    if (event->type == CSP_JOURNAL_PAUSE)
        csp_ledger_sample(ledger, event, fate);
    if (event->type == CSP_EVENT_WINDOW)
        csp_ledger_window(ledger, event->cpu, event->b, "lost");
    event->type = CSP_EVENT_GONE;
}

/* Begins and ends at a resume, so that no window is half in it. */
static void throttle(const struct csp_faults *faults, struct csp_events *events, size_t i,
                     struct luck *luck, struct csp_buf *ledger)
{
    struct csp_event event = events->list.data[i];
    if (event.type == CSP_JOURNAL_RESUME) {
        bool hit = csp_chance_in_burst(&luck->throttle, faults->value[CSP_FAULT_THROTTLING]);
        if (hit != luck->throttled)
            add_like(events, &event, hit ? CSP_EVENT_THROTTLE : CSP_EVENT_UNTHROTTLE, 0);
        luck->throttled = hit;
    }
    if (luck->throttled)
        lose(&events->list.data[i], ledger, "throttled");
}

/* The kernel tells of what it lost when there is room again, before the event that finds it. */
static void tell_lost(struct csp_events *events, const struct csp_event *event, struct luck *luck)
{
    struct csp_event before = *event;
    before.time--;
    if (luck->lost)
        add_like(events, &before, CSP_EVENT_LOST, luck->lost);
    luck->lost = 0;
}

static void lose_sample(const struct csp_faults *faults, struct csp_events *events, size_t i,
                        struct luck *luck, struct csp_buf *ledger)
{
    struct csp_event event = events->list.data[i];
    if (csp_chance_in_burst(&luck->samples, faults->value[CSP_FAULT_LOST_SAMPLES])) {
        lose(&events->list.data[i], ledger, "lost");
        luck->lost++;
        return;
    }
    tell_lost(events, &event, luck);
}

static void skid(const struct csp_faults *faults, struct csp_events *events, size_t i,
                 struct luck *luck, struct csp_buf *ledger)
{
    const double share = 0.1;
    struct csp_event *event = &events->list.data[i];
    size_t count = event->tail_size / sizeof(uint64_t), frame = 0;
    if (csp_chance_uniform(&luck->skid) >= share)
        return;
    uint64_t *chain = csp_events_keep(events, event->tail, event->tail_size);
    while (frame < count && chain[frame] != CSP_CONTEXT_USER)
        frame++;
    if (++frame >= count)
        return;
    double most = faults->value[CSP_FAULT_SKID];
    uint64_t late = 4 * (1 + (uint64_t)(csp_chance_uniform(&luck->skid) * most));
    event->a += event->a == chain[frame] ? late : 0;
    chain[frame] += late;
    event->tail = chain;
    csp_ledger_sample(ledger, event, "skidded");
}

void csp_fault_samples(const struct csp_faults *faults, struct csp_events *events,
                       struct csp_buf *ledger)
{
    struct luck luck[CSP_EMULATE_CPUS];
    begin(luck, faults);
    for (size_t i = 0, count = events->list.len; i < count; i++) {
        unsigned ring = ring_of(&events->list.data[i]);
        uint16_t type = events->list.data[i].type;
        if (type != CSP_JOURNAL_PAUSE && type != CSP_JOURNAL_RESUME && type != CSP_EVENT_WINDOW)
            continue;
        if (faults->on[CSP_FAULT_THROTTLING])
            throttle(faults, events, i, &luck[ring], ledger);
        if (type == CSP_EVENT_WINDOW && events->list.data[i].type == type &&
            csp_chance_in_burst(&luck[ring].windows, faults->on[CSP_FAULT_LOST_WINDOWS]
                                                         ? faults->value[CSP_FAULT_LOST_WINDOWS]
                                                         : 0))
            lose(&events->list.data[i], ledger, "lost");
        if (type != CSP_EVENT_WINDOW && events->list.data[i].type == type &&
            faults->on[CSP_FAULT_LOST_SAMPLES])
            lose_sample(faults, events, i, &luck[ring], ledger);
        if (events->list.data[i].type == CSP_JOURNAL_PAUSE && faults->on[CSP_FAULT_SKID])
            skid(faults, events, i, &luck[ring], ledger);
    }
    csp_events_sort(events);
}

/* An AUX record that is lost leaves its bytes behind, unannounced. */
static void lose_from_ring(struct csp_event *event, struct csp_buf *ledger)
{
    if (event->type != CSP_JOURNAL_TRACE) {
        lose(event, ledger, "lost");
        return;
    }
    csp_ledger_missing(ledger, event, 0, event->tail_size);
    event->b = 1;
}

void csp_fault_full_ring(const struct csp_faults *faults, struct csp_events *events,
                         struct csp_buf *ledger)
{
    struct luck luck[CSP_EMULATE_CPUS];
    if (!faults->on[CSP_FAULT_FULL_RING])
        return;
    begin(luck, faults);
    csp_events_sort(events);
    for (size_t i = 0, count = events->list.len; i < count; i++) {
        struct csp_event *event = &events->list.data[i];
        struct luck *ring = &luck[ring_of(event)];
        if (event->type != CSP_JOURNAL_PAUSE && event->type != CSP_JOURNAL_RESUME &&
            event->type != CSP_JOURNAL_TRACE)
            continue;
        if (csp_chance_in_burst(&ring->ring, faults->value[CSP_FAULT_FULL_RING])) {
            lose_from_ring(event, ledger);
            ring->lost++;
            continue;
        }
        struct csp_event room = *event;
        tell_lost(events, &room, ring);
    }
}
