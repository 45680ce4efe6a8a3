#include "profgen/counters.h"

#include "base/alloc.h"
#include "base/saturate.h"

/* How many frames of a context are those of the one that was looked up last. */
static size_t same_frames(const struct csp_counters *counters, const uint64_t *calls, size_t count)
{
    size_t most = count < counters->last.len ? count : counters->last.len, same = 0;
    while (same < most && counters->last.data[same] == calls[same])
        same++;
    return same;
}

uint32_t csp_counters_frame_in(struct csp_counters *counters, uint32_t caller, uint64_t call)
{
    return csp_pairs_at(&counters->frames, caller, call) + 1;
}

uint32_t csp_counters_frame(struct csp_counters *counters, const uint64_t *calls, size_t count)
{
    size_t same = same_frames(counters, calls, count);
    uint32_t frame = same ? counters->last_frames.data[same - 1] : 0;
    counters->last.len = counters->last_frames.len = same;
    for (size_t i = same; i < count; i++) {
        frame = csp_counters_frame_in(counters, frame, calls[i]);
        csp_vec_push(&counters->last, calls[i]);
        csp_vec_push(&counters->last_frames, frame);
    }
    return frame;
}

uint32_t csp_counters_context_at(struct csp_counters *counters, uint32_t frame)
{
    while (counters->by_frame.len <= counters->frames.list.len)
        csp_vec_push(&counters->by_frame, 0);
    uint32_t *context = &counters->by_frame.data[frame];
    if (!*context) {
        csp_vec_push(&counters->contexts, frame);
        *context = (uint32_t)counters->contexts.len;
    }
    return *context - 1;
}

uint32_t csp_counters_context(struct csp_counters *counters, const uint64_t *calls, size_t count)
{
    return csp_counters_context_at(counters, csp_counters_frame(counters, calls, count));
}

void csp_counters_calls(const struct csp_counters *counters, uint32_t context, csp_calls *calls)
{
    size_t depth = 0;
    uint32_t innermost = counters->contexts.data[context];
    const struct csp_pair *frames = counters->frames.list.data;
    for (uint32_t frame = innermost; frame; frame = (uint32_t)frames[frame - 1].first)
        depth++;
    calls->len = 0;
    csp_vec_reserve(calls, depth);
    calls->len = depth;
    for (uint32_t frame = innermost; frame; frame = (uint32_t)frames[frame - 1].first)
        calls->data[--depth] = frames[frame - 1].second;
}

void csp_counters_add_span(struct csp_counter_table *table, uint32_t context, uint32_t span,
                           uint64_t count)
{
    uint32_t id = csp_numbers_at(&table->keys, (uint64_t)context << 32 | span);
    if (id == table->counts.len)
        csp_vec_push(&table->counts, 0);
    table->counts.data[id] = csp_add_saturating(table->counts.data[id], count);
}

uint32_t csp_counters_span(struct csp_counter_table *table, uint64_t from, uint64_t to)
{
    return csp_pairs_at(&table->spans, from, to);
}

void csp_counters_add(struct csp_counter_table *table, uint32_t context, uint64_t from, uint64_t to,
                      uint64_t count)
{
    csp_counters_add_span(table, context, csp_counters_span(table, from, to), count);
}

static uint64_t key_of(const struct csp_counted *counted)
{
    return (uint64_t)counted->context << 32 | counted->span;
}

/* Those of a table without any: they are distinct. */
static void put(struct csp_counter_table *table, const struct csp_counted *counted, size_t count)
{
    csp_vec_reserve(&table->keys.list, count);
    csp_vec_reserve(&table->counts, count);
    for (size_t i = 0; i < count; i++) {
        csp_vec_push(&table->keys.list, key_of(&counted[i]));
        csp_vec_push(&table->counts, counted[i].count);
    }
}

/* They are fetched together: a table is larger than the processor's cache. */
static void add_some(struct csp_counter_table *table, const struct csp_counted *counted,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        csp_numbers_fetch(&table->keys, key_of(&counted[i]));
    for (size_t i = 0; i < count; i++) {
        uint32_t id = csp_numbers_fetch_number(&table->keys, key_of(&counted[i]));
        if (id != CSP_NUMBERS_NONE)
            __builtin_prefetch(&table->counts.data[id], 1);
    }
    for (size_t i = 0; i < count; i++)
        csp_counters_add_span(table, counted[i].context, counted[i].span, counted[i].count);
}

void csp_counters_add_many(struct csp_counter_table *table, const struct csp_counted *counted,
                           size_t count)
{
    enum { AT_ONCE = 32 };
    if (!table->counts.len) {
        put(table, counted, count);
        return;
    }
    for (size_t i = 0; i < count; i += AT_ONCE)
        add_some(table, counted + i, count - i < AT_ONCE ? count - i : AT_ONCE);
}

uint32_t *csp_counters_merge_spans(struct csp_counter_table *table,
                                   const struct csp_counter_table *other)
{
    size_t count = other->spans.list.len;
    uint32_t *spans = csp_malloc((count + 1) * sizeof *spans);
    for (size_t i = 0; i < count; i++)
        spans[i] = csp_pairs_at(&table->spans, other->spans.list.data[i].first,
                                other->spans.list.data[i].second);
    return spans;
}

/* Fetches where a frame after one will be looked for, if its caller's frame is known already. */
static void fetch_frame(const struct csp_counters *counters, const struct csp_counters *other,
                        size_t at, const uint32_t *frames)
{
    enum { AHEAD = 12 };
    if (at + AHEAD >= other->frames.list.len)
        return;
    const struct csp_pair *frame = &other->frames.list.data[at + AHEAD];
    if (frame->first <= at)
        csp_pairs_fetch(&counters->frames, frames[frame->first], frame->second);
}

uint32_t *csp_counters_merge_contexts(struct csp_counters *counters,
                                      const struct csp_counters *other)
{
    size_t frame_len = other->frames.list.len, count = other->contexts.len;
    uint32_t *frames = csp_malloc((frame_len + 1) * sizeof *frames);
    uint32_t *contexts = csp_malloc((count + 1) * sizeof *contexts);
    frames[0] = 0;
    for (size_t i = 0; i < frame_len; i++) { /* callers come before those that they call */
        const struct csp_pair *frame = &other->frames.list.data[i];
        fetch_frame(counters, other, i, frames);
        frames[i + 1] = csp_pairs_at(&counters->frames, frames[frame->first], frame->second) + 1;
    }
    for (size_t i = 0; i < count; i++) {
        contexts[i] = csp_counters_context_at(counters, frames[other->contexts.data[i]]);
        if (csp_map_find(&other->called_contexts, i))
            *csp_map_at(&counters->called_contexts, contexts[i]) = 1;
    }
    free(frames);
    return contexts;
}

static int by_key(const void *a, const void *b)
{
    const struct csp_counter *x = a, *y = b;
    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

struct csp_counter *csp_counters_sorted(const struct csp_counter_table *table)
{
    size_t count = table->counts.len;
    struct csp_counter *sorted = csp_malloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = csp_counters_at(table, i);
    qsort(sorted, count, sizeof *sorted, by_key);
    return sorted;
}

/* Depth first: each frame is followed by what it calls. */
uint32_t *csp_counters_by_callers(const struct csp_counters *counters)
{
    size_t count = counters->frames.list.len;
    const struct csp_pair *frames = counters->frames.list.data;
    uint32_t *sizes = csp_calloc(count + 1, sizeof *sizes); /* of a frame with all below it */
    uint32_t *next = csp_calloc(count + 1, sizeof *next);   /* place for what a frame calls */
    uint32_t *at = csp_calloc(count + 2, sizeof *at);       /* by place: the context + 1 */
    uint32_t *order = csp_malloc((counters->contexts.len + 1) * sizeof *order);
    for (size_t frame = count; frame; frame--) /* callers come before those that they call */
        sizes[frames[frame - 1].first] += ++sizes[frame];
    next[0] = 1;
    for (size_t frame = 0; frame <= count; frame++) {
        uint32_t place = 0;
        if (frame) {
            place = next[frames[frame - 1].first];
            next[frames[frame - 1].first] += sizes[frame];
            next[frame] = place + 1;
        }
        if (frame < counters->by_frame.len)
            at[place] = counters->by_frame.data[frame];
    }
    size_t len = 0;
    for (size_t place = 0; place <= count; place++)
        if (at[place])
            order[len++] = at[place] - 1;
    free(sizes);
    free(next);
    free(at);
    return order;
}

static void close_numbers(struct csp_numbers *numbers)
{
    free(numbers->slots);
    numbers->slots = NULL;
}

static void close_pairs(struct csp_pairs *pairs)
{
    free(pairs->slots);
    pairs->slots = NULL;
}

void csp_counters_close(struct csp_counters *counters)
{
    close_pairs(&counters->frames);
    close_pairs(&counters->ranges.spans);
    close_numbers(&counters->ranges.keys);
    close_pairs(&counters->branches.spans);
    close_numbers(&counters->branches.keys);
}

static void forget_counts(struct csp_counter_table *table)
{
    csp_numbers_free(&table->keys);
    csp_vec_free(&table->counts);
}

void csp_counters_forget_counts(struct csp_counters *counters)
{
    forget_counts(&counters->ranges);
    forget_counts(&counters->branches);
}

static void free_table(struct csp_counter_table *table)
{
    csp_pairs_free(&table->spans);
    forget_counts(table);
}

void csp_counters_free(struct csp_counters *counters)
{
    csp_pairs_free(&counters->frames);
    csp_vec_free(&counters->contexts);
    csp_vec_free(&counters->by_frame);
    csp_map_free(&counters->called_contexts);
    free_table(&counters->ranges);
    free_table(&counters->branches);
    csp_vec_free(&counters->last);
    csp_vec_free(&counters->last_frames);
}
