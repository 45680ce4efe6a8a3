#include "emulate/fault_ledger.h"

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
        return left >= window->needed ? "cut" : "lost";
    }
    return front ? "beheaded" : "doubtful";
}

void csp_ledger_missing(struct csp_buf *ledger, const struct csp_event *trace, size_t first,
                        size_t last)
{
    size_t begin = 0;
    for (size_t i = 0; i < trace->window_count; i++) {
        const struct csp_stored_window *window = &trace->windows[i];
        const char *fate = fate_of(window, begin, first, last);
        if (fate)
            csp_ledger_window(ledger, window->cpu, window->last_time, fate);
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

void csp_ledger_end(struct csp_buf *ledger, const struct csp_events *events)
{
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
