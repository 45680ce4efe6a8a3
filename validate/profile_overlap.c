#include "validate/profile_overlap.h"

#include <stdlib.h>
#include <string.h>

struct counted {
    const struct csp_profile_table *table;
    const struct csp_intern *keys;
    const uint64_t *counts;
    double total;
};

/* Appends what a key stands for. */
typedef void name_fn(const struct counted *a, const struct counted *b, const void *key, size_t size,
                     struct csp_buf *out);

struct candidate {
    const void *key;
    uint32_t size;
    double a, b;
};

typedef CSP_VEC(struct candidate) candidates;

static double difference_of(const struct candidate *candidate)
{
    return candidate->a < candidate->b ? candidate->b - candidate->a : candidate->a - candidate->b;
}

static int by_difference(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    double first = difference_of(a), second = difference_of(b);
    if (first != second)
        return first > second ? -1 : 1;
    int order = memcmp(a->key, b->key, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static double share_of(const struct counted *side, const void *key, size_t size)
{
    uint32_t id = csp_intern_find(side->keys, key, size);
    return id == CSP_INTERN_NONE ? 0 : (double)side->counts[id] / side->total;
}

/* Both shares of everything that `side` has; of what is only in the other when `alone`. */
static void collect(const struct counted *side, const struct counted *other, bool swapped,
                    candidates *all)
{
    for (size_t i = 0; i < side->keys->entries.len; i++) {
        const struct csp_intern_entry *entry = &side->keys->entries.data[i];
        double own = (double)side->counts[i] / side->total;
        double others = share_of(other, entry->data, entry->size);
        if (swapped && csp_intern_find(other->keys, entry->data, entry->size) != CSP_INTERN_NONE)
            continue; /* it came with the other side */
        csp_vec_push(all, (struct candidate){entry->data, entry->size, swapped ? others : own,
                                             swapped ? own : others});
    }
}

static void count_alone(const candidates *all, struct csp_one_sided *only_a,
                        struct csp_one_sided *only_b)
{
    for (size_t i = 0; i < all->len; i++) {
        const struct candidate *one = &all->data[i];
        if (one->a > 0 && one->b == 0) {
            only_a->number++;
            only_a->share += one->a;
        } else if (one->b > 0 && one->a == 0) {
            only_b->number++;
            only_b->share += one->b;
        }
    }
}

/* The overlap; `largest` gets the largest differences. */
static double compare(const struct counted *a, const struct counted *b, name_fn *name, size_t most,
                      csp_differences *largest, struct csp_one_sided *only_a,
                      struct csp_one_sided *only_b)
{
    candidates all = {0};
    double overlap = 0;
    collect(a, b, false, &all);
    collect(b, a, true, &all);
    if (all.len)
        qsort(all.data, all.len, sizeof *all.data, by_difference); /* sums in one order, too */
    for (size_t i = 0; i < all.len; i++)
        overlap += all.data[i].a < all.data[i].b ? all.data[i].a : all.data[i].b;
    for (size_t i = 0; i < all.len && i < most && difference_of(&all.data[i]) > 0; i++) {
        struct csp_buf text = {0};
        name(a, b, all.data[i].key, all.data[i].size, &text);
        csp_vec_push(largest, (struct csp_difference){text.data, all.data[i].a, all.data[i].b});
    }
    if (only_a)
        count_alone(&all, only_a, only_b);
    csp_vec_free(&all);
    return overlap;
}

static void name_function(const struct counted *a, const struct counted *b, const void *key,
                          size_t size, struct csp_buf *out)
{
    uint64_t guid;
    (void)size;
    memcpy(&guid, key, sizeof guid);
    csp_profile_table_name(a->table, b->table, guid, out);
}

static void add_place(struct csp_buf *out, uint32_t probe, uint32_t discriminator)
{
    csp_buf_printf(out, ":%u", probe);
    if (discriminator)
        csp_buf_printf(out, ".%u", discriminator);
}

static void name_block(const struct counted *a, const struct counted *b, const void *key,
                       size_t size, struct csp_buf *out)
{
    const struct csp_block_key *block = key;
    name_function(a, b, &block->guid, size, out);
    add_place(out, block->probe, block->discriminator);
}

static void name_context(const struct counted *a, const struct counted *b, const void *key,
                         size_t size, struct csp_buf *out)
{
    const struct csp_context_step *steps = key;
    for (size_t i = 0; i < size / sizeof *steps; i++) {
        if (i) {
            add_place(out, steps[i].callsite, steps[i].discriminator);
            csp_buf_add_string(out, " @ ");
        }
        csp_profile_table_name(a->table, b->table, steps[i].guid, out);
    }
}

static double compare_functions(struct csp_profile_overlap *overlap,
                                const struct csp_profile_table *a,
                                const struct csp_profile_table *b, size_t most)
{
    uint64_t *counts[2];
    const struct csp_profile_table *tables[] = {a, b};
    for (int k = 0; k < 2; k++) {
        counts[k] = csp_calloc(tables[k]->functions.len + 1, sizeof *counts[k]);
        for (size_t i = 0; i < tables[k]->functions.len; i++)
            counts[k][i] = tables[k]->functions.data[i].count;
    }
    const struct counted of_a = {a, &a->guids, counts[0], (double)a->total};
    const struct counted of_b = {b, &b->guids, counts[1], (double)b->total};
    double result = compare(&of_a, &of_b, name_function, most, &overlap->functions,
                            &overlap->spurious_functions, &overlap->missing_functions);
    free(counts[0]);
    free(counts[1]);
    return result;
}

/* Each function's blocks on their own: how good the profile is where the compiler looks at one
 * function. What A does not know at all counts as no overlap. */
static double compare_in_functions(const struct csp_profile_table *a,
                                   const struct csp_profile_table *b)
{
    double sum = 0;
    for (size_t i = 0; i < b->block_counts.len; i++) {
        const struct csp_block_key *key = b->blocks.entries.data[i].data;
        uint32_t in_a = csp_intern_find(&a->blocks, key, sizeof *key);
        uint32_t function_a = csp_profile_table_function(a, key->guid);
        uint32_t function_b = csp_profile_table_function(b, key->guid);
        if (in_a == CSP_INTERN_NONE || !a->functions.data[function_a].count)
            continue;
        double weight = (double)b->functions.data[function_b].count;
        double ours = (double)a->block_counts.data[in_a] /
                      (double)a->functions.data[function_a].count * weight;
        double theirs = (double)b->block_counts.data[i];
        sum += ours < theirs ? ours : theirs;
    }
    return sum / (double)b->total;
}

static void count_changed(struct csp_profile_overlap *overlap, const struct csp_profile_table *a,
                          const struct csp_profile_table *b)
{
    for (size_t i = 0; i < a->functions.len; i++) {
        const struct csp_profile_function *ours = &a->functions.data[i];
        uint32_t id = csp_profile_table_function(b, ours->guid);
        uint64_t theirs = id == CSP_INTERN_NONE ? 0 : b->functions.data[id].hash;
        if (!theirs || !ours->hash || theirs == ours->hash)
            continue;
        overlap->changed_functions.number++;
        overlap->changed_functions.share += (double)ours->count / (double)a->total;
    }
}

int csp_profile_overlap(struct csp_profile_overlap *overlap, const struct csp_profile_table *a,
                        const struct csp_profile_table *b, size_t most, struct csp_diag *diag)
{
    *overlap = (struct csp_profile_overlap){0};
    if (a->by_lines != b->by_lines)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "one profile is by pseudo-probes and the other by lines: their places have "
                        "nothing to do with each other");
    const struct counted blocks_a = {a, &a->blocks, a->block_counts.data, (double)a->total};
    const struct counted blocks_b = {b, &b->blocks, b->block_counts.data, (double)b->total};
    const struct counted contexts_a = {a, &a->contexts, a->context_counts.data, (double)a->total};
    const struct counted contexts_b = {b, &b->contexts, b->context_counts.data, (double)b->total};
    overlap->function = compare_functions(overlap, a, b, most);
    overlap->block = compare(&blocks_a, &blocks_b, name_block, most, &overlap->blocks, NULL, NULL);
    overlap->block_in_functions = compare_in_functions(a, b);
    overlap->context = compare(&contexts_a, &contexts_b, name_context, most, &overlap->contexts,
                               &overlap->spurious_contexts, &overlap->missing_contexts);
    count_changed(overlap, a, b);
    return 0;
}

static void free_differences(csp_differences *list)
{
    for (size_t i = 0; i < list->len; i++)
        free(list->data[i].name);
    csp_vec_free(list);
}

void csp_profile_overlap_free(struct csp_profile_overlap *overlap)
{
    free_differences(&overlap->functions);
    free_differences(&overlap->blocks);
    free_differences(&overlap->contexts);
}
