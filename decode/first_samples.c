#include "decode/first_samples.h"

#include "base/alloc.h"
#include "base/nth.h"

#include <stdlib.h>

/* Samples are thrown away once there are this many. */
enum { MOST = 2 * CSP_FIRST_SAMPLES };

/* csp_nth compares signed numbers. */
static int64_t as_signed(uint64_t time)
{
    return (int64_t)(time ^ UINT64_C(1) << 63);
}

static uint64_t find_bound(const struct csp_first_samples *samples)
{
    size_t count = samples->list.len;
    int64_t *times = csp_malloc(count * sizeof *times);
    for (size_t i = 0; i < count; i++)
        times[i] = as_signed(samples->list.data[i].time);
    int64_t bound = csp_nth(times, count, CSP_FIRST_SAMPLES - 1);
    free(times);
    return (uint64_t)bound ^ UINT64_C(1) << 63;
}

/* Keeps the first ones: of those at the bound itself, as many as there is room for. */
static void cut(struct csp_first_samples *samples)
{
    size_t older = 0, kept = 0;
    if (samples->list.len <= CSP_FIRST_SAMPLES)
        return;
    samples->bound = find_bound(samples);
    samples->is_bounded = true;
    for (size_t i = 0; i < samples->list.len; i++)
        older += samples->list.data[i].time < samples->bound;
    size_t room = CSP_FIRST_SAMPLES - older;
    for (size_t i = 0; i < samples->list.len; i++) {
        uint64_t time = samples->list.data[i].time;
        if (time > samples->bound || (time == samples->bound && !room))
            continue;
        room -= time == samples->bound;
        samples->list.data[kept++] = samples->list.data[i];
    }
    samples->list.len = kept;
}

static void add(struct csp_first_samples *samples, const struct csp_first_sample *sample)
{
    if (samples->is_bounded && sample->time >= samples->bound)
        return;
    csp_vec_push(&samples->list, *sample);
    if (samples->list.len == MOST)
        cut(samples);
}

void csp_first_samples_take(struct csp_first_samples *samples, const struct csp_record *record)
{
    add(samples, &(struct csp_first_sample){.time = record->time,
                                            .ordinal = record->ordinal,
                                            .body = record->body,
                                            .body_size = (uint32_t)record->body_size,
                                            .attr = record->attr});
}

void csp_first_samples_append(struct csp_first_samples *samples, struct csp_first_samples *more)
{
    for (size_t i = 0; i < more->list.len; i++)
        add(samples, &more->list.data[i]);
    more->list.len = 0;
    more->is_bounded = samples->is_bounded;
    more->bound = samples->bound;
}

static int by_time(const void *left, const void *right)
{
    const struct csp_first_sample *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static bool is_in_order(const struct csp_first_samples *samples)
{
    size_t sorted = 1;
    while (sorted < samples->list.len &&
           by_time(&samples->list.data[sorted - 1], &samples->list.data[sorted]) < 0)
        sorted++;
    return sorted >= samples->list.len;
}

void csp_first_samples_finish(struct csp_first_samples *samples)
{
    cut(samples);
    if (!is_in_order(samples))
        qsort(samples->list.data, samples->list.len, sizeof *samples->list.data, by_time);
}

void csp_first_samples_free(struct csp_first_samples *samples)
{
    csp_vec_free(&samples->list);
    *samples = (struct csp_first_samples){0};
}
