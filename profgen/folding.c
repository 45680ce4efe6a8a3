#include "profgen/folding.h"

#include "base/alloc.h"
#include "base/distinct.h"
#include "base/parallel.h"
#include "profgen/line_reading.h"

#include <pthread.h>
#include <xxhash.h>

enum {
    BATCH_SAMPLES = 8192,
    FEW_SAMPLES = 1024,    /* what a batch costs whatever is in it is felt */
    BATCH_BYTES = 4 << 20, /* of samples, that they stay in the processor's cache */
};

/* The samples of one thread. */
struct part {
    struct csp_sample_set set;
    struct csp_sample_checker *checker;
    struct csp_unwinding *unwinding; /* null until it is known whether there are contexts */
    size_t looked_at;                /* samples without callchains, so far */
    size_t wanted;                   /* branches whose debug information is */
    CSP_VEC(uint64_t) branch_keys;   /* to tell distinct samples, by number of the branch … */
    CSP_VEC(uint64_t) callers_keys;  /* … and of the callers */
    bool any;
};

struct csp_folding {
    struct csp_profgen *gen;
    unsigned threads;
    struct part *parts;
    struct csp_line_reading *lines; /* or null */
    pthread_mutex_t lock; /* of what follows, and of deciding the mode and looking at branches */
    struct csp_distinct distinct;
};

struct csp_folding *csp_folding_begin(struct csp_profgen *gen, unsigned threads)
{
    struct csp_folding *folding = csp_calloc(1, sizeof *folding);
    folding->gen = gen;
    folding->threads = threads;
    folding->parts = csp_calloc(threads, sizeof *folding->parts);
    pthread_mutex_init(&folding->lock, NULL);
    if (threads > 1 && csp_profgen_rebuilds_call_probes(gen))
        folding->lines = csp_line_reading_begin(&gen->program);
    for (unsigned i = 0; i < threads; i++) {
        struct part *part = &folding->parts[i];
        part->set = (struct csp_sample_set){.contexts = true, .keep_all = true};
        part->checker = csp_sample_checker_begin(&part->set, &gen->program, gen->options.rules);
    }
    return folding;
}

struct csp_sample_set *csp_folding_set(struct csp_folding *folding, unsigned thread)
{
    return &folding->parts[thread].set;
}

static bool has_new_callchains(struct part *part)
{
    for (; part->looked_at < part->set.counts.len; part->looked_at++)
        if (!(csp_sample_set_at(&part->set, part->looked_at)->leaf & CSP_LEAF_NO_CALLCHAIN))
            return true;
    return false;
}

/* Returns whether it is known if there are contexts. */
static bool decide(struct csp_folding *folding, struct part *part)
{
    if (part->unwinding)
        return true;
    if (!folding->gen->is_decided && has_new_callchains(part))
        csp_profgen_decide_mode(folding->gen, true);
    return folding->gen->is_decided;
}

/* What a set without contexts, or with contexts alone, takes of samples. */
static void leave_out(struct part *part, bool flat)
{
    struct csp_sample_set *set = &part->set;
    uint32_t no_callers = csp_intern(&set->callers, "", 0);
    for (size_t i = 0; i < set->counts.len; i++) {
        struct csp_flat_sample *sample = (void *)(uintptr_t)csp_sample_set_at(set, i);
        if (flat) {
            sample->leaf = 0;
            sample->callers = no_callers;
        } else if (sample->leaf & CSP_LEAF_NO_CALLCHAIN) {
            set->stats.rejected[CSP_REJECT_NO_CALLCHAIN] += set->counts.data[i];
            set->stats.used -= set->counts.data[i];
            set->counts.data[i] = 0;
        }
        part->any |= set->counts.data[i] != 0;
    }
}

static void make_keys(struct part *part)
{
    const struct csp_sample_set *set = &part->set;
    for (size_t i = part->branch_keys.len; i < set->branches.list.len; i++)
        csp_vec_push(&part->branch_keys,
                     XXH3_64bits(&set->branches.list.data[i], sizeof *set->branches.list.data));
    for (size_t i = part->callers_keys.len; i < set->callers.entries.len; i++)
        csp_vec_push(&part->callers_keys, XXH3_64bits(set->callers.entries.data[i].data,
                                                      set->callers.entries.data[i].size));
}

/* The same of equal samples, whichever set they are in. */
static uint64_t key_of(const struct part *part, const struct csp_flat_sample *sample)
{
    const uint64_t ends[] = {sample->start, sample->end, sample->leaf, sample->branch_len,
                             part->callers_keys.data[sample->callers]};
    uint64_t key = XXH3_64bits(ends, sizeof ends);
    for (uint32_t i = 0; i < sample->branch_len; i++)
        key = (key ^ part->branch_keys.data[csp_flat_number(sample, i)]) *
              UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

static void tell_apart(struct csp_folding *folding, struct part *part)
{
    make_keys(part);
    for (size_t i = 0; i < part->set.counts.len; i++)
        if (part->set.counts.data[i])
            csp_distinct_add(&folding->distinct, key_of(part, csp_sample_set_at(&part->set, i)));
}

static void fold(struct csp_folding *folding, struct part *part)
{
    struct csp_profgen *gen = folding->gen;
    leave_out(part, gen->flat);
    pthread_mutex_lock(&folding->lock);
    if (gen->options.tell_distinct)
        tell_apart(folding, part);
    csp_sample_checker_learn(part->checker);
    pthread_mutex_unlock(&folding->lock);
    csp_line_reading_want(folding->lines, &part->set.branches, part->wanted);
    part->wanted = part->set.branches.list.len;
    if (!part->unwinding) {
        const struct csp_unwind_options how = csp_profgen_unwind_options(gen);
        part->unwinding = csp_unwinding_begin(&gen->program, &part->set, &how,
                                              part == folding->parts ? &gen->counters : NULL);
    }
    csp_unwinding_samples(part->unwinding, part->checker);
    csp_sample_set_clear(&part->set);
    part->set.repeats = true;
    part->looked_at = 0;
}

static void fold_if_decided(struct csp_folding *folding, struct part *part)
{
    pthread_mutex_lock(&folding->lock);
    bool known = decide(folding, part);
    pthread_mutex_unlock(&folding->lock);
    if (known)
        fold(folding, part);
}

void csp_folding_added(struct csp_folding *folding, unsigned thread)
{
    struct part *part = &folding->parts[thread];
    if (part->set.counts.len >= BATCH_SAMPLES ||
        csp_arena_used(&part->set.samples.arena) >= BATCH_BYTES)
        fold_if_decided(folding, part);
}

void csp_folding_pause(struct csp_folding *folding, unsigned thread)
{
    struct part *part = &folding->parts[thread];
    if (part->set.counts.len >= FEW_SAMPLES)
        fold_if_decided(folding, part);
}

void csp_folding_decide(struct csp_folding *folding)
{
    for (unsigned i = 0; i < folding->threads; i++)
        decide(folding, &folding->parts[i]);
    csp_profgen_decide_mode(folding->gen, false);
}

static void fold_rest(void *user, unsigned thread)
{
    struct csp_folding *folding = user;
    fold(folding, &folding->parts[thread]);
    csp_unwinding_pause(folding->parts[thread].unwinding);
}

bool csp_folding_end(struct csp_folding *folding)
{
    struct csp_profgen *gen = folding->gen;
    struct csp_unwinding **unwindings = csp_calloc(folding->threads, sizeof *unwindings);
    bool any = false;
    csp_parallel(folding->threads, fold_rest, folding);
    for (unsigned i = 0; i < folding->threads; i++) {
        struct part *part = &folding->parts[i];
        gen->set.saturated += part->set.saturated;
        csp_sample_set_merge_stats(&gen->set, &part->set.stats, 1);
        csp_sample_checker_end(part->checker, &gen->stats.checks);
        unwindings[i] = part->unwinding;
        part->checker = NULL;
        part->unwinding = NULL;
        /* A text's take more memory than all that was made of them. */
        csp_sample_set_free(&part->set);
        any |= part->any;
    }
    csp_unwinding_end(unwindings, folding->threads, &gen->stats.unwind);
    free(unwindings);
    csp_line_reading_end(folding->lines);
    folding->lines = NULL;
    gen->stats.distinct_samples = csp_distinct_count(&folding->distinct);
    gen->stats.distinct_samples_is_estimate = folding->distinct.skipped_bits != 0;
    return any;
}

void csp_folding_free(struct csp_folding *folding)
{
    if (!folding)
        return;
    csp_line_reading_end(folding->lines);
    for (unsigned i = 0; i < folding->threads; i++) {
        struct part *part = &folding->parts[i];
        if (part->checker)
            csp_sample_checker_end(part->checker, &folding->gen->stats.checks);
        if (part->unwinding)
            csp_unwinding_end(&part->unwinding, 1, &folding->gen->stats.unwind);
        csp_sample_set_free(&part->set);
        csp_vec_free(&part->branch_keys);
        csp_vec_free(&part->callers_keys);
    }
    pthread_mutex_destroy(&folding->lock);
    csp_distinct_free(&folding->distinct);
    free(folding->parts);
    free(folding);
}
