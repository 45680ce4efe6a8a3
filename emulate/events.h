/* What goes into csprof.data, on its way there: the records of the journal, the AUX records that
 * were made of the trace, and what faults add. */
#ifndef CSP_EMULATE_EVENTS_H
#define CSP_EMULATE_EVENTS_H

#include "base/arena.h"
#include "base/vec.h"
#include "emulate/journal.h"

/* Types beyond those of enum csp_journal_type. */
enum csp_event_type {
    CSP_EVENT_GONE = CSP_JOURNAL_TYPES, /* lost: not written */
    CSP_EVENT_WINDOW, /* the packets of one window; a, b: its first and last time, 0: none */
    CSP_EVENT_LOST,   /* a records were lost before this one */
    CSP_EVENT_THROTTLE,
    CSP_EVENT_UNTHROTTLE,
    CSP_EVENT_TYPES
};

/* Where a window's bytes end in those of a CSP_JOURNAL_TRACE event; it begins where the one before
 * ends. */
struct csp_stored_window {
    uint32_t cpu;
    uint64_t last_time;
    size_t end;
    size_t needed;     /* bytes of it that tell of its first branch */
    size_t before;     /* … in earlier records */
    bool begins, ends; /* its first byte is here, its last is: not in the record before, the next */
};

/* A record, as in emulate/journal.h. A CSP_JOURNAL_TRACE event becomes an AUX record: flags a,
 * in the ring of `cpu`; b: 1 when the record was lost and only its bytes are there. */
struct csp_event {
    uint16_t type;
    uint32_t tid, cpu, order; /* order: among those of the same time */
    uint64_t time, a, b, c;
    const void *tail;
    size_t tail_size;
    const void *aux; /* of a pause: trace that its sample carries */
    size_t aux_size;
    const struct csp_stored_window *windows; /* of trace that faults were applied to */
    size_t window_count;
};

struct csp_events {
    CSP_VEC(struct csp_event) list;
    struct csp_arena arena; /* what tails point to */
    uint32_t added;
};

void csp_events_add(struct csp_events *events, struct csp_event event);
/* Drops what is gone and sorts by time. */
void csp_events_sort(struct csp_events *events);
void *csp_events_keep(struct csp_events *events, const void *data, size_t size);
void csp_events_free(struct csp_events *events);

#endif
