#include "emulate/fault_ledger.h"

#include "perfdata/record.h"

#include <string.h>

void csp_ledger_begin(struct csp_buf *ledger, const struct csp_faults *faults)
{
    csp_buf_add_string(ledger, "csprof-ledger 1\n");
    for (int i = 0; i < CSP_FAULTS; i++)
        if (faults->on[i])
            csp_buf_printf(ledger, "fault %s %.17g\n", csp_fault_name((enum csp_fault)i),
                           faults->value[i]);
}

void csp_ledger_sample(struct csp_buf *ledger, const struct csp_event *pause, const char *fate)
{
    csp_buf_printf(ledger, "sample %u %u %llu %s\n", pause->cpu, pause->tid,
                   (unsigned long long)pause->time, fate);
}

void csp_ledger_window(struct csp_buf *ledger, uint32_t cpu, uint64_t last_time, const char *fate)
{
    csp_buf_printf(ledger, "window %u %llu %s\n", cpu, (unsigned long long)last_time, fate);
}

/* The part [begin, end) of a window, of which [first, last) is missing. The rest of it in the next
 * record is of no use: a decoder does not go on there. */
static const char *fate_of(const struct csp_stored_window *window, size_t begin, size_t first,
                           size_t last)
{
    if (last <= begin || first >= window->end)
        return NULL;
    bool front = first <= begin, back = last >= window->end;
    if (front && back && window->begins)
        return window->ends ? "lost" : "beheaded";
    if (back || (front && !window->begins)) {
        size_t left = window->before + (first > begin ? first - begin : 0);
        if (left >= window->needed)
            return "cut";
        return left ? "begun" : "lost";
    }
    return front ? "beheaded" : "doubtful";
}

/* Where nothing is left of a window, or not enough, the one before seems to have been interrupted.
 */
static bool leaves_nothing(const char *fate)
{
    return !strcmp(fate, "lost") || !strcmp(fate, "begun") || !strcmp(fate, "beheaded");
}

void csp_ledger_missing(struct csp_buf *ledger, const struct csp_event *trace, size_t first,
                        size_t last)
{
    size_t begin = 0;
    const struct csp_stored_window *whole = NULL; /* the one before */
    for (size_t i = 0; i < trace->window_count; i++) {
        const struct csp_stored_window *window = &trace->windows[i];
        const char *fate = fate_of(window, begin, first, last);
        if (fate)
            csp_ledger_window(ledger, window->cpu, window->last_time, fate);
        if (fate && whole && leaves_nothing(fate))
            csp_ledger_window(ledger, whole->cpu, whole->last_time, "unproven");
        whole = fate ? NULL : window;
        begin = window->end;
    }
}

/* Bytes of the pause's snapshot, unless it is the CPU's last one again. */
static size_t fresh_bytes(const struct csp_event *pause, const struct csp_event **last)
{
    if (!pause->aux_size || pause->cpu >= CSP_EMULATE_CPUS)
        return 0;
    const struct csp_event *before = last[pause->cpu];
    last[pause->cpu] = pause;
    bool same = before && before->aux_size == pause->aux_size &&
                memcmp(before->aux, pause->aux, pause->aux_size) == 0;
    return same ? 0 : pause->aux_size;
}

/* The last window, and the one before it as long as nothing of the last can be decoded: a decoder
 * waits for its first branch before it tells that it began. */
static void doubt_end(struct csp_buf *ledger, const struct csp_event *trace)
{
    if (!trace || !trace->window_count)
        return;
    size_t number = trace->window_count - 1;
    const struct csp_stored_window *last = &trace->windows[number];
    csp_ledger_window(ledger, last->cpu, last->last_time, "unproven");
    size_t begin = number ? last[-1].end : 0;
    if (number && !last->ends && last->before + last->end - begin < last->needed)
        csp_ledger_window(ledger, last[-1].cpu, last[-1].last_time, "unproven");
}

/* Whether something of its first window can be decoded, with what is in the records before. */
static bool tells_anything(const struct csp_event *trace)
{
    return trace->tail_size &&
           (!trace->window_count ||
            trace->windows[0].before + trace->tail_size >= trace->windows[0].needed);
}

/* What a TRBE's ring holds goes on from record to record. Where one is missing between two, or may
 * be, a window that reaches up to there is not known to be whole. */
static void doubt_seams(struct csp_buf *ledger, const struct csp_events *events)
{
    const struct csp_event *before[CSP_EMULATE_CPUS] = {0};
    bool doubt[CSP_EMULATE_CPUS] = {0};
    for (size_t i = 0; i < events->list.len; i++) {
        const struct csp_event *event = &events->list.data[i];
        if (event->cpu >= CSP_EMULATE_CPUS ||
            (event->type != CSP_JOURNAL_TRACE && event->type != CSP_EVENT_LOST))
            continue;
        bool trace = event->type == CSP_JOURNAL_TRACE && !event->b && tells_anything(event);
        doubt[event->cpu] |= !trace;
        if (!trace)
            continue;
        /* A collision's hole may be at the very beginning. */
        if (doubt[event->cpu] || (event->a & CSP_AUX_COLLISION))
            doubt_end(ledger, before[event->cpu]);
        before[event->cpu] = event;
        doubt[event->cpu] = false;
    }
    for (unsigned cpu = 0; cpu < CSP_EMULATE_CPUS; cpu++)
        if (doubt[cpu])
            doubt_end(ledger, before[cpu]);
}

void csp_ledger_end(struct csp_buf *ledger, const struct csp_events *events, bool raw)
{
    if (raw)
        doubt_seams(ledger, events);
    unsigned long long pauses = 0, lost = 0, bytes = 0, unannounced = 0;
    const struct csp_event *last[CSP_EMULATE_CPUS] = {0};
    for (size_t i = 0; i < events->list.len; i++) {
        const struct csp_event *event = &events->list.data[i];
        bytes += event->type == CSP_JOURNAL_PAUSE ? fresh_bytes(event, last) : 0;
        pauses += event->type == CSP_JOURNAL_PAUSE;
        if (event->type == CSP_EVENT_LOST)
            lost += event->a;
        if (event->type == CSP_JOURNAL_TRACE)
            *(event->b ? &unannounced : &bytes) += event->tail_size;
    }
    csp_buf_printf(ledger,
                   "total pauses %llu\ntotal lost %llu\ntotal bytes %llu\ntotal unannounced %llu\n"
                   "done\n",
                   pauses, lost, bytes, unannounced);
}
