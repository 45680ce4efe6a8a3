#include "profgen/aggregate.h"

#include "base/alloc.h"
#include "profgen/aggregate_format.h"

#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* The same set in an order that its contents alone decide. */
struct order {
    const struct csp_sample_set *set;
    uint32_t *branches, *callers, *samples; /* numbers, sorted */
    uint32_t *branch_ranks, *caller_ranks;  /* where in that order a number is */
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_branch(const void *a, const void *b, void *user)
{
    const struct csp_pair *list = ((const struct order *)user)->set->branches.list.data;
    const struct csp_pair *x = &list[*(const uint32_t *)a], *y = &list[*(const uint32_t *)b];
    int order = compare(x->first, y->first);
    return order ? order : compare(x->second, y->second);
}

static int by_calls(const void *a, const void *b, void *user)
{
    const struct csp_intern_entry *list = ((const struct order *)user)->set->callers.entries.data;
    const struct csp_intern_entry *x = &list[*(const uint32_t *)a];
    const struct csp_intern_entry *y = &list[*(const uint32_t *)b];
    const uint64_t *calls = x->data, *others = y->data;
    int order = compare(x->size, y->size);
    for (size_t i = 0; !order && i < x->size / sizeof *calls; i++)
        order = compare(calls[i], others[i]);
    return order;
}

static int by_sample(const void *a, const void *b, void *user)
{
    const struct order *ranks = user;
    const struct csp_flat_sample *x = csp_sample_set_at(ranks->set, *(const uint32_t *)a);
    const struct csp_flat_sample *y = csp_sample_set_at(ranks->set, *(const uint32_t *)b);
    int order = compare(ranks->caller_ranks[x->callers], ranks->caller_ranks[y->callers]);
    if (!order)
        order = compare(x->branch_len, y->branch_len);
    for (uint32_t i = 0; !order && i < x->branch_len; i++)
        order = compare(ranks->branch_ranks[x->branches[i]], ranks->branch_ranks[y->branches[i]]);
    if (!order)
        order = compare(x->leaf, y->leaf);
    if (!order)
        order = compare(x->start, y->start);
    return order ? order : compare(x->end, y->end);
}

static uint32_t *sorted(size_t count, int (*less)(const void *, const void *, void *),
                        struct order *order)
{
    uint32_t *numbers = csp_malloc((count + 1) * sizeof *numbers);
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = i;
    qsort_r(numbers, count, sizeof *numbers, less, order);
    return numbers;
}

static uint32_t *ranks_of(const uint32_t *numbers, size_t count)
{
    uint32_t *ranks = csp_malloc((count + 1) * sizeof *ranks);
    for (uint32_t i = 0; i < count; i++)
        ranks[numbers[i]] = i;
    return ranks;
}

static void add_uleb(struct csp_buf *out, uint64_t value)
{
    uint8_t *at = (uint8_t *)csp_buf_reserve(out, 10);
    size_t size = 0;
    for (; value > 0x7f; value >>= 7)
        at[size++] = (uint8_t)(value | 0x80);
    at[size++] = (uint8_t)value;
    out->len += size;
}

static void add_sleb(struct csp_buf *out, uint64_t difference)
{
    int64_t value = (int64_t)difference;
    uint8_t *at = (uint8_t *)csp_buf_reserve(out, 10);
    size_t size = 0;
    for (; value < -64 || value > 63; value >>= 7)
        at[size++] = (uint8_t)((value & 0x7f) | 0x80);
    at[size++] = (uint8_t)(value & 0x7f);
    out->len += size;
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct csp_digest));
}

static void add_identity(struct csp_aggregate *aggregate, struct csp_buf *out)
{
    add_uleb(out, aggregate->build_id.size);
    csp_buf_add(out, aggregate->build_id.bytes, aggregate->build_id.size);
    csp_buf_add_u64(out, aggregate->code);
    add_uleb(out, strlen(aggregate->name));
    csp_buf_add_string(out, aggregate->name);
    if (aggregate->inputs.len)
        qsort(aggregate->inputs.data, aggregate->inputs.len, sizeof *aggregate->inputs.data,
              by_digest);
    add_uleb(out, aggregate->inputs.len);
    for (size_t i = 0; i < aggregate->inputs.len; i++)
        csp_buf_add(out, aggregate->inputs.data[i].bytes, sizeof aggregate->inputs.data[i].bytes);
    add_uleb(out, aggregate->callchains);
}

static void add_stats(const struct csp_sample_set_stats *stats, struct csp_buf *out)
{
    add_uleb(out, stats->samples);
    add_uleb(out, stats->used);
    add_uleb(out, CSP_REJECT_COUNT);
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        add_uleb(out, stats->rejected[i]);
    add_uleb(out, stats->truncated_callchains);
    add_uleb(out, stats->branches);
    add_uleb(out, stats->impossible_branches);
    add_uleb(out, stats->external_branches);
}

static void add_branches(const struct order *order, struct csp_buf *out)
{
    uint64_t before = 0;
    add_uleb(out, order->set->branches.list.len);
    for (size_t i = 0; i < order->set->branches.list.len; i++) {
        const struct csp_pair *branch = &order->set->branches.list.data[order->branches[i]];
        add_uleb(out, branch->first - before);
        add_sleb(out, branch->second - branch->first);
        before = branch->first;
    }
}

static void add_callers(const struct order *order, struct csp_buf *out)
{
    add_uleb(out, order->set->callers.entries.len);
    for (size_t i = 0; i < order->set->callers.entries.len; i++) {
        const struct csp_intern_entry *entry = &order->set->callers.entries.data[order->callers[i]];
        const uint64_t *calls = entry->data;
        uint64_t before = 0;
        add_uleb(out, entry->size / sizeof *calls);
        for (size_t c = 0; c < entry->size / sizeof *calls; c++) {
            add_sleb(out, calls[c] - before);
            before = calls[c];
        }
    }
}

static void add_samples(const struct order *order, struct csp_buf *out)
{
    uint32_t before = 0;
    add_uleb(out, order->set->counts.len);
    for (size_t i = 0; i < order->set->counts.len; i++) {
        const struct csp_flat_sample *sample = csp_sample_set_at(order->set, order->samples[i]);
        uint32_t callers = order->caller_ranks[sample->callers];
        add_uleb(out, callers - before);
        before = callers;
        add_uleb(out, sample->leaf);
        add_uleb(out, sample->start);
        add_uleb(out, sample->end);
        add_uleb(out, sample->branch_len);
        for (uint32_t b = 0; b < sample->branch_len; b++)
            add_uleb(out, order->branch_ranks[sample->branches[b]]);
        add_uleb(out, order->set->counts.data[order->samples[i]]);
    }
}

static void add_contents(struct csp_aggregate *aggregate, struct csp_buf *out)
{
    const struct csp_sample_set *set = &aggregate->set;
    struct order order = {.set = set};
    order.branches = sorted(set->branches.list.len, by_branch, &order);
    order.branch_ranks = ranks_of(order.branches, set->branches.list.len);
    order.callers = sorted(set->callers.entries.len, by_calls, &order);
    order.caller_ranks = ranks_of(order.callers, set->callers.entries.len);
    order.samples = sorted(set->counts.len, by_sample, &order);
    add_identity(aggregate, out);
    add_stats(&set->stats, out);
    add_branches(&order, out);
    add_callers(&order, out);
    add_samples(&order, out);
    free(order.branches);
    free(order.branch_ranks);
    free(order.callers);
    free(order.caller_ranks);
    free(order.samples);
}

void csp_aggregate_write(struct csp_aggregate *aggregate, struct csp_buf *out)
{
    struct csp_buf contents = {0}, stored = {0};
    add_contents(aggregate, &contents);
    size_t bound = ZSTD_compressBound(contents.len);
    size_t size = ZSTD_compress(csp_buf_reserve(&stored, bound), bound, contents.data, contents.len,
                                ZSTD_CLEVEL_DEFAULT);
    bool plain = ZSTD_isError(size) || contents.len / CSP_AGGREGATE_LARGEST_RATIO > size;
    stored.len = plain ? 0 : size;
    size_t header = out->len;
    csp_buf_add(out, CSP_AGGREGATE_MAGIC, 8);
    csp_buf_add_u32(out, CSP_AGGREGATE_VERSION);
    csp_buf_add_u32(out, plain ? CSP_AGGREGATE_PLAIN : CSP_AGGREGATE_ZSTD);
    csp_buf_add_u64(out, contents.len);
    csp_buf_add_u64(out, XXH3_64bits(contents.data, contents.len));
    csp_buf_add_u64(out, plain ? contents.len : stored.len);
    csp_buf_add_u64(out, XXH3_64bits(out->data + header, CSP_AGGREGATE_HEADER - 8));
    if (plain)
        csp_buf_add(out, contents.data, contents.len);
    else
        csp_buf_add(out, stored.data, stored.len);
    csp_buf_free(&contents);
    csp_buf_free(&stored);
}
