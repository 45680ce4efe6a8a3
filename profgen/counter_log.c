#include "profgen/counter_log.h"

#include "base/alloc.h"
#include "base/saturate.h"

enum { DIGIT_BITS = 12, DIGITS = 1 << DIGIT_BITS }; /* what is sorted by at once */

/* By what the log is sorted: contexts, then spans. */
static uint64_t key_of(const struct csp_counted *counted, unsigned span_bits)
{
    return (uint64_t)counted->context << span_bits | counted->span;
}

static size_t digit_of(const struct csp_counted *counted, unsigned span_bits, unsigned shift)
{
    return key_of(counted, span_bits) >> shift & (DIGITS - 1);
}

/* Sorts by one digit of the keys; what is alike keeps its order. */
static void sort_by_digit(const struct csp_counted *from, struct csp_counted *to, size_t count,
                          unsigned span_bits, unsigned shift)
{
    size_t at[DIGITS] = {0}, next = 0;
    for (size_t i = 0; i < count; i++)
        at[digit_of(&from[i], span_bits, shift)]++;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        size_t first = next;
        next += at[digit];
        at[digit] = first;
    }
    for (size_t i = 0; i < count; i++)
        to[at[digit_of(&from[i], span_bits, shift)]++] = from[i];
}

static unsigned bits_of(uint32_t number)
{
    return number ? 32 - (unsigned)__builtin_clz(number) : 0;
}

static void sort(struct csp_counter_log *log)
{
    size_t count = log->list.len;
    struct csp_counted *from = log->list.data;
    struct csp_counted *to = csp_malloc((count + 1) * sizeof *to);
    uint32_t contexts = 0, spans = 0;
    for (size_t i = 0; i < count; i++) {
        contexts |= from[i].context;
        spans |= from[i].span;
    }
    unsigned span_bits = bits_of(spans), bits = span_bits + bits_of(contexts);
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        sort_by_digit(from, to, count, span_bits, shift);
        struct csp_counted *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != log->list.data)
        log->list.cap = count + 1;
    log->list.data = from;
    free(to);
}

static bool is_same(const struct csp_counted *a, const struct csp_counted *b)
{
    return a->context == b->context && a->span == b->span;
}

void csp_counter_log_settle(struct csp_counter_log *log)
{
    size_t kept = 0;
    if (log->sorted == log->list.len)
        return;
    sort(log);
    struct csp_counted *list = log->list.data;
    for (size_t i = 0; i < log->list.len; i++) {
        if (kept && is_same(&list[kept - 1], &list[i]))
            list[kept - 1].count = csp_add_saturating(list[kept - 1].count, list[i].count);
        else
            list[kept++] = list[i];
    }
    log->list.len = log->sorted = kept;
}

void csp_counter_log_take(struct csp_counter_log *log, const struct csp_counter_log *other,
                          const uint32_t *contexts, const uint32_t *spans)
{
    for (size_t i = 0; i < other->list.len; i++) {
        const struct csp_counted *counted = &other->list.data[i];
        csp_counter_log_add(log, contexts[counted->context], spans[counted->span], counted->count);
    }
}

void csp_counter_log_end(struct csp_counter_log *log, struct csp_counter_table *table)
{
    csp_counter_log_settle(log);
    csp_counters_add_many(table, log->list.data, log->list.len);
    csp_vec_free(&log->list);
    log->sorted = 0;
}
