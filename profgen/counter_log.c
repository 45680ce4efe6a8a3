#include "profgen/counter_log.h"

#include "base/alloc.h"
#include "base/saturate.h"
#include "base/sort.h"

#include <string.h>

enum {
    DIGIT_BITS = 10, /* what is sorted by at once */
    DIGITS = 1 << DIGIT_BITS,
    FEW = 24, /* that are sorted one by one */
};

/* By what the log is sorted: contexts, then spans. */
static uint64_t key_of(const struct csp_counted *counted, unsigned span_bits)
{
    return (uint64_t)counted->context << span_bits | counted->span;
}

static size_t digit_of(const struct csp_counted *counted, unsigned span_bits, unsigned shift)
{
    return key_of(counted, span_bits) >> shift & (DIGITS - 1);
}

/* Sorts by one digit of the keys; what is alike keeps its order. `ends` tells where in `to` those
 * with each digit end. */
static void sort_by_digit(const struct csp_counted *from, struct csp_counted *to, size_t count,
                          unsigned span_bits, unsigned shift, size_t ends[DIGITS])
{
    size_t next = 0;
    memset(ends, 0, DIGITS * sizeof *ends);
    for (size_t i = 0; i < count; i++)
        ends[digit_of(&from[i], span_bits, shift)]++;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        size_t first = next;
        next += ends[digit];
        ends[digit] = first;
    }
    for (size_t i = 0; i < count; i++)
        to[ends[digit_of(&from[i], span_bits, shift)]++] = from[i];
}

static void sort_few(struct csp_counted *list, size_t count, unsigned span_bits)
{
    for (size_t i = 1; i < count; i++) {
        struct csp_counted counted = list[i];
        uint64_t key = key_of(&counted, span_bits);
        size_t at = i;
        for (; at && key < key_of(&list[at - 1], span_bits); at--)
            list[at] = list[at - 1];
        list[at] = counted;
    }
}

/* Sorts by the lower `bits` of the keys. Returns which of the two arrays has them then. */
static struct csp_counted *sort_by_bits(struct csp_counted *list, struct csp_counted *other,
                                        size_t count, unsigned span_bits, unsigned bits)
{
    size_t ends[DIGITS];
    for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
        sort_by_digit(list, other, count, span_bits, shift, ends);
        struct csp_counted *sorted = other;
        other = list;
        list = sorted;
    }
    return list;
}

static unsigned bits_of(uint32_t number)
{
    return number ? 32 - (unsigned)__builtin_clz(number) : 0;
}

/* By the first digit, then those with the same one by the others: they are in the processor's
 * cache, and the whole log is not. */
static void sort(struct csp_counter_log *log)
{
    size_t count = log->list.len, ends[DIGITS];
    struct csp_counted *list = log->list.data;
    struct csp_counted *other = csp_malloc((count + 1) * sizeof *other);
    uint32_t contexts = 0, spans = 0;
    for (size_t i = 0; i < count; i++) {
        contexts |= list[i].context;
        spans |= list[i].span;
    }
    unsigned span_bits = bits_of(spans), bits = span_bits + bits_of(contexts);
    unsigned lower = bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
    sort_by_digit(list, other, count, span_bits, lower, ends);
    for (size_t digit = 0, first = 0; digit < DIGITS; first = ends[digit++]) {
        size_t len = ends[digit] - first;
        struct csp_counted *sorted = other + first;
        if (len <= FEW)
            sort_few(sorted, len, span_bits);
        else
            sorted = sort_by_bits(sorted, list + first, len, span_bits, lower);
        if (sorted != list + first)
            memcpy(list + first, sorted, len * sizeof *sorted);
    }
    free(other);
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

static bool has_earlier_span(const void *a, const void *b)
{
    return ((const struct csp_counted *)a)->span < ((const struct csp_counted *)b)->span;
}

/* What one log takes of another. */
struct taking {
    const struct csp_counter_log *other;
    struct csp_context_numbers numbers;
    const uint32_t *spans; /* of the other's: what they are of this one's */
};

static size_t group_end(const struct csp_counter_log *log, size_t first)
{
    size_t end = first + 1;
    while (end < log->list.len && log->list.data[end].context == log->list.data[first].context)
        end++;
    return end;
}

/* Appends those of the other's whose contexts are new, which come behind all others of this log in
 * the order that they have; or the rest of them. What this log ends with does not tell which are
 * new: a context may be known by what another log counts in it. */
static void append(const struct taking *taking, bool is_new, struct csp_counter_log *to)
{
    const struct csp_counter_log *other = taking->other;
    for (size_t i = 0, end; i < other->list.len; i = end) {
        uint32_t context = taking->numbers.contexts[other->list.data[i].context];
        end = group_end(other, i);
        if ((context >= taking->numbers.known) != is_new)
            continue;
        csp_vec_reserve(&to->list, end - i);
        for (size_t at = i; at < end; at++)
            csp_vec_push(&to->list, (struct csp_counted){other->list.data[at].count, context,
                                                         taking->spans[other->list.data[at].span]});
        csp_sort(to->list.data + to->list.len - (end - i), end - i, sizeof *to->list.data,
                 has_earlier_span);
    }
}

static bool is_before(const struct csp_counted *a, const struct csp_counted *b)
{
    return a->context != b->context ? a->context < b->context : a->span < b->span;
}

/* Adds to what a log has already, and leaves the others. Both are in order. */
static void add_to_known(struct csp_counter_log *log, struct csp_counter_log *others)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < others->list.len; i++) {
        const struct csp_counted *other = &others->list.data[i];
        while (at < log->list.len && is_before(&log->list.data[at], other))
            at++;
        struct csp_counted *known = log->list.data + at;
        if (at < log->list.len && is_same(known, other))
            known->count = csp_add_saturating(known->count, other->count);
        else
            others->list.data[kept++] = *other;
    }
    others->list.len = kept;
}

/* Puts in what a log has not. Both are in order. */
static void insert(struct csp_counter_log *log, const struct csp_counter_log *others)
{
    size_t left = log->list.len, others_left = others->list.len;
    csp_vec_reserve(&log->list, others_left);
    struct csp_counted *list = log->list.data;
    log->list.len += others_left;
    while (others_left) {
        const struct csp_counted *other = &others->list.data[others_left - 1];
        bool before = left && is_before(other, &list[left - 1]);
        list[left + others_left - 1] = before ? list[left - 1] : *other;
        *(before ? &left : &others_left) -= 1;
    }
}

void csp_counter_log_take(struct csp_counter_log *log, struct csp_counter_log *other,
                          struct csp_context_numbers numbers, const uint32_t *spans)
{
    const struct taking taking = {other, numbers, spans};
    struct csp_counter_log rest = {0};
    csp_counter_log_settle(log);
    csp_counter_log_settle(other);
    append(&taking, false, &rest);
    csp_counter_log_settle(&rest);
    add_to_known(log, &rest);
    insert(log, &rest);
    append(&taking, true, log);
    log->sorted = log->list.len;
    csp_vec_free(&rest.list);
    csp_vec_free(&other->list);
    other->sorted = 0;
}

void csp_counter_log_end(struct csp_counter_log *log, struct csp_counter_table *table)
{
    csp_counter_log_settle(log);
    csp_counters_add_many(table, log->list.data, log->list.len);
    csp_vec_free(&log->list);
    log->sorted = 0;
}
