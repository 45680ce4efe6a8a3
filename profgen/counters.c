#include "profgen/counters.h"

#include "base/alloc.h"
#include "base/saturate.h"

uint32_t csp_counters_context(struct csp_counters *counters, const uint64_t *calls, size_t count)
{
    return csp_intern(&counters->contexts, count ? (const void *)calls : "", count * sizeof *calls);
}

void csp_counters_add(struct csp_counter_table *table, uint32_t context, uint64_t from, uint64_t to,
                      uint64_t count)
{
    struct csp_counter_key key = {.from = from, .to = to, .context = context};
    uint32_t id = csp_intern(&table->keys, &key, sizeof key);
    if (id == table->counts.len)
        csp_vec_push(&table->counts, 0);
    table->counts.data[id] = csp_add_saturating(table->counts.data[id], count);
}

static void merge_table(struct csp_counter_table *table, const struct csp_counter_table *other,
                        const uint32_t *contexts)
{
    for (size_t i = 0; i < other->counts.len; i++) {
        const struct csp_counter_key *key = other->keys.entries.data[i].data;
        csp_counters_add(table, contexts[key->context], key->from, key->to, other->counts.data[i]);
    }
}

void csp_counters_merge(struct csp_counters *counters, const struct csp_counters *other)
{
    size_t count = other->contexts.entries.len;
    uint32_t *contexts = csp_malloc((count + 1) * sizeof *contexts);
    for (size_t i = 0; i < count; i++) {
        const struct csp_intern_entry *entry = &other->contexts.entries.data[i];
        contexts[i] = csp_intern(&counters->contexts, entry->data, entry->size);
        if (csp_map_find(&other->called_contexts, i))
            *csp_map_at(&counters->called_contexts, contexts[i]) = 1;
    }
    merge_table(&counters->ranges, &other->ranges, contexts);
    merge_table(&counters->branches, &other->branches, contexts);
    free(contexts);
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
    for (size_t i = 0; i < count; i++) {
        const struct csp_counter_key *key = table->keys.entries.data[i].data;
        sorted[i] = (struct csp_counter){key->from, key->to, table->counts.data[i], key->context};
    }
    qsort(sorted, count, sizeof *sorted, by_key);
    return sorted;
}

static void free_table(struct csp_counter_table *table)
{
    csp_intern_free(&table->keys);
    csp_vec_free(&table->counts);
}

void csp_counters_free(struct csp_counters *counters)
{
    csp_intern_free(&counters->contexts);
    csp_map_free(&counters->called_contexts);
    free_table(&counters->ranges);
    free_table(&counters->branches);
}
