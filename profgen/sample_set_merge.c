#include "profgen/sample_set.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/saturate.h"

#include <string.h>

/* The numbers that the branches and callers of one set have in another. */
struct renumbering {
    uint32_t *branches, *callers;
};

static struct renumbering renumber(struct csp_sample_set *set, const struct csp_sample_set *other)
{
    struct renumbering to;
    to.branches = csp_malloc((other->branches.list.len + 1) * sizeof *to.branches);
    for (size_t i = 0; i < other->branches.list.len; i++) {
        const struct csp_pair *branch = &other->branches.list.data[i];
        to.branches[i] = csp_pairs_at(&set->branches, branch->first, branch->second);
        if (to.branches[i] == set->branch_infos.len)
            csp_vec_push(&set->branch_infos, other->branch_infos.data[i]);
    }
    to.callers = csp_malloc((other->callers.entries.len + 1) * sizeof *to.callers);
    for (size_t i = 0; i < other->callers.entries.len; i++)
        to.callers[i] = csp_intern(&set->callers, other->callers.entries.data[i].data,
                                   other->callers.entries.data[i].size);
    return to;
}

/* The branches of a sample with their numbers in the other set. */
static void renumber_branches(const struct csp_flat_sample *sample, const struct renumbering *to,
                              uint32_t *numbers)
{
    for (uint32_t i = 0; i < sample->branch_len; i++)
        numbers[i] = to->branches[csp_flat_number(sample, i)];
}

/* A copy of a sample for a set, in its scratch memory. */
static struct csp_flat_sample *renumbered(struct csp_sample_set *set,
                                          const struct csp_flat_sample *sample,
                                          const struct renumbering *to)
{
    set->numbers.len = 0;
    csp_vec_reserve(&set->numbers, sample->branch_len);
    renumber_branches(sample, to, set->numbers.data);
    struct csp_flat_sample *copy =
        csp_sample_set_scratch(set, set->numbers.data, sample->branch_len);
    copy->start = sample->start;
    copy->end = sample->end;
    copy->leaf = sample->leaf;
    copy->callers = to->callers[sample->callers];
    return copy;
}

static void add(uint64_t *sum, uint64_t count, uint64_t weight)
{
    *sum = csp_add_saturating(*sum, csp_multiply_saturating(count, weight));
}

void csp_sample_set_merge_stats(struct csp_sample_set *set,
                                const struct csp_sample_set_stats *other, uint64_t weight)
{
    struct csp_sample_set_stats *stats = &set->stats;
    add(&stats->samples, other->samples, weight);
    add(&stats->used, other->used, weight);
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        add(&stats->rejected[i], other->rejected[i], weight);
    add(&stats->truncated_callchains, set->contexts ? other->truncated_callchains : 0, weight);
    add(&stats->branches, other->branches, weight);
    add(&stats->impossible_branches, other->impossible_branches, weight);
    add(&stats->external_branches, other->external_branches, weight);
}

void csp_sample_set_merge(struct csp_sample_set *set, const struct csp_sample_set *other,
                          uint64_t weight)
{
    struct renumbering to = renumber(set, other);
    bool take_all = !set->contexts || set->keep_all;
    uint32_t no_callers = set->contexts ? 0 : csp_intern(&set->callers, "", 0);
    csp_sample_set_merge_stats(set, &other->stats, weight);
    for (size_t i = 0; i < other->counts.len; i++) {
        const struct csp_flat_sample *sample = csp_sample_set_at(other, i);
        uint64_t count = csp_sample_set_times(set, other->counts.data[i], weight);
        if ((sample->leaf & CSP_LEAF_NO_CALLCHAIN) && !take_all) {
            add(&set->stats.rejected[CSP_REJECT_NO_CALLCHAIN], count, 1);
            set->stats.used -= count < set->stats.used ? count : set->stats.used;
            continue;
        }
        struct csp_flat_sample *copy = renumbered(set, sample, &to);
        copy->leaf = set->contexts ? sample->leaf : 0;
        if (!set->contexts)
            copy->callers = no_callers;
        csp_sample_set_count(set, copy, count);
    }
    set->saturated += other->saturated;
    free(to.branches);
    free(to.callers);
}

typedef CSP_VEC(uint32_t) branch_numbers;

/* Samples of one set that go to another. */
struct taking {
    struct csp_sample_set *other;
    struct renumbering to;
    uint32_t *hashes; /* of the samples, renumbered … */
    bool *grown;      /* … but for those that take more memory then */
    unsigned threads;
};

static struct csp_flat_sample *taken_sample(const struct taking *taking, size_t i)
{
    return (void *)(uintptr_t)csp_sample_set_at(taking->other, i);
}

static void renumber_sample(const struct taking *taking, size_t i, branch_numbers *numbers)
{
    struct csp_flat_sample *sample = taken_sample(taking, i);
    numbers->len = 0;
    csp_vec_reserve(numbers, sample->branch_len);
    renumber_branches(sample, &taking->to, numbers->data);
    taking->grown[i] = !sample->wide && csp_flat_is_wide(numbers->data, sample->branch_len);
    if (taking->grown[i])
        return;
    sample->callers = taking->to.callers[sample->callers];
    csp_flat_pack(sample, numbers->data);
    taking->hashes[i] = csp_intern_hash(sample, csp_flat_size(sample));
}

/* Renumbers one thread's part of the samples. */
static void renumber_samples(void *user, unsigned worker)
{
    const struct taking *taking = user;
    size_t count = taking->other->counts.len;
    size_t end = count * (worker + 1) / taking->threads;
    branch_numbers numbers = {0};
    for (size_t i = count * worker / taking->threads; i < end; i++)
        renumber_sample(taking, i, &numbers);
    csp_vec_free(&numbers);
}

/* The number of a sample in the set that it was taken to. */
static uint32_t take_sample(struct csp_sample_set *set, const struct taking *taking, size_t i)
{
    const struct csp_flat_sample *sample = taken_sample(taking, i);
    if (!taking->grown[i])
        return csp_intern_kept_hashed(&set->samples, sample, csp_flat_size(sample),
                                      taking->hashes[i]);
    sample = renumbered(set, sample, &taking->to);
    return csp_intern(&set->samples, sample, csp_flat_size(sample));
}

/* Fetches what looking up the samples after one will need: some are in each step. */
static void fetch_ahead(const struct csp_sample_set *set, const struct taking *taking, size_t i)
{
    enum { AHEAD = 6 };
    size_t count = taking->other->counts.len;
    if (i + 3 * AHEAD < count)
        csp_intern_fetch_slot(&set->samples, taking->hashes[i + 3 * AHEAD]);
    if (i + 2 * AHEAD < count)
        csp_intern_fetch_entry(&set->samples, taking->hashes[i + 2 * AHEAD]);
    if (i + AHEAD < count)
        csp_intern_fetch_data(&set->samples, taking->hashes[i + AHEAD]);
}

void csp_sample_set_take(struct csp_sample_set *set, struct csp_sample_set *other, unsigned threads)
{
    size_t count = other->counts.len;
    struct taking taking = {.other = other, .to = renumber(set, other)};
    taking.threads = csp_parallel_worth(threads, count, CSP_SAMPLES_WORTH_A_THREAD);
    taking.hashes = csp_calloc(count + 1, sizeof *taking.hashes);
    taking.grown = csp_calloc(count + 1, sizeof *taking.grown);
    csp_parallel(taking.threads, renumber_samples, &taking);
    csp_sample_set_merge_stats(set, &other->stats, 1);
    for (size_t i = 0; i < count; i++) {
        fetch_ahead(set, &taking, i);
        csp_sample_set_count_at(set, take_sample(set, &taking, i), other->counts.data[i]);
    }
    csp_arena_take(&set->samples.arena, &other->samples.arena);
    set->saturated += other->saturated;
    free(taking.to.branches);
    free(taking.to.callers);
    free(taking.hashes);
    free(taking.grown);
    csp_sample_set_free(other);
    *other = csp_sample_set_like(set);
}
