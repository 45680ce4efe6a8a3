#include "emulate/events.h"

#include <string.h>

void csp_events_add(struct csp_events *events, struct csp_event event)
{
    event.order = events->added++;
    csp_vec_push(&events->list, event);
}

static int by_time(const void *a, const void *b)
{
    const struct csp_event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void csp_events_sort(struct csp_events *events)
{
    size_t kept = 0;
    for (size_t i = 0; i < events->list.len; i++)
        if (events->list.data[i].type != CSP_EVENT_GONE)
            events->list.data[kept++] = events->list.data[i];
    events->list.len = kept;
    if (kept)
        qsort(events->list.data, kept, sizeof *events->list.data, by_time);
}

void *csp_events_keep(struct csp_events *events, const void *data, size_t size)
{
    void *copy = csp_arena_alloc(&events->arena, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

void csp_events_free(struct csp_events *events)
{
    csp_vec_free(&events->list);
    csp_arena_free(&events->arena);
}
