#include "decode/stitch_delivery.h"

#include "base/alloc.h"
#include "base/ordered.h"
#include "base/parallel.h"

#include <stdlib.h>

enum { SHARD_PAUSES = 256 }; /* delivered by one thread at a time */

struct job {
    struct csp_deliverer *deliverer;
    const struct csp_delivery *delivery;
    size_t shards, begun;
};

void csp_deliverer_init(struct csp_deliverer *deliverer, const struct csp_stitcher_options *options)
{
    *deliverer = (struct csp_deliverer){.options = options};
    deliverer->makers = csp_calloc(options->threads, sizeof *deliverer->makers);
    for (unsigned i = 0; i < options->threads; i++)
        deliverer->makers[i] =
            (struct csp_stitched_maker){.reader = options->reader,
                                        .worker = i,
                                        .leaf = options->leaf,
                                        .stretch = options->stretch,
                                        .user = options->user,
                                        .recorded_stacks = options->recorded_stacks};
    deliverer->texts = csp_calloc(csp_ordered_slots(options->threads), sizeof *deliverer->texts);
}

/* The window of a pause, or null. */
static const struct csp_window *window_of(const struct csp_delivery *delivery, size_t number,
                                          const struct csp_windows **list)
{
    const struct csp_stitch_pair *pair = &delivery->pairs[number];
    if (pair->window == CSP_STITCH_NONE)
        return NULL;
    const struct csp_held_window *held = &delivery->windows[pair->window];
    *list = &held->part->lists[held->list];
    return &(*list)->windows.data[held->number];
}

static struct csp_sample make_sample(const struct csp_delivery *delivery, size_t number,
                                     struct csp_stitched_maker *maker)
{
    const struct csp_windows *list = NULL, *next_list;
    const struct csp_window *window = window_of(delivery, number, &list), *next;
    if (number + 1 < delivery->count && (next = window_of(delivery, number + 1, &next_list)))
        csp_stretch_fetch(next_list, next);
    return csp_stitched_sample(maker, delivery->stream, delivery->first + number,
                               &delivery->pairs[number], list, window);
}

static size_t shard_end(const struct csp_delivery *delivery, size_t shard)
{
    size_t end = (shard + 1) * SHARD_PAUSES;
    return end < delivery->count ? end : delivery->count;
}

static void print_shard(void *user, size_t shard, unsigned worker, unsigned slot)
{
    const struct job *job = user;
    const struct csp_stitcher_options *options = job->deliverer->options;
    struct csp_buf *text = &job->deliverer->texts[slot];
    text->len = 0;
    for (size_t j = shard * SHARD_PAUSES; j < shard_end(job->delivery, shard); j++) {
        struct csp_sample sample = make_sample(job->delivery, j, &job->deliverer->makers[worker]);
        if (options->print)
            options->print(options->user, &sample, text);
    }
}

static int take_shard(void *user, size_t shard, unsigned slot)
{
    const struct job *job = user;
    const struct csp_stitcher_options *options = job->deliverer->options;
    (void)shard;
    return options->print ? options->text(options->user, &job->deliverer->texts[slot]) : 0;
}

/* By several threads, in no order. */
static void deliver_shards(void *user, unsigned worker)
{
    struct job *job = user;
    const struct csp_stitcher_options *options = job->deliverer->options;
    size_t shard;
    while ((shard = __atomic_fetch_add(&job->begun, 1, __ATOMIC_RELAXED)) < job->shards)
        for (size_t j = shard * SHARD_PAUSES; j < shard_end(job->delivery, shard); j++) {
            struct csp_sample sample =
                make_sample(job->delivery, j, &job->deliverer->makers[worker]);
            options->any_sample(options->user, worker, &sample);
        }
    options->samples_end(options->user, worker);
}

static int deliver_samples(struct csp_deliverer *deliverer, const struct csp_delivery *delivery)
{
    const struct csp_stitcher_options *options = deliverer->options;
    for (size_t j = 0; j < delivery->count; j++) {
        struct csp_sample sample = make_sample(delivery, j, &deliverer->makers[0]);
        int error = options->sample(options->user, &sample);
        if (error < 0)
            return error;
    }
    return 0;
}

bool csp_delivers_nothing(const struct csp_stitcher_options *options)
{
    return !options->sample && !options->any_sample && !options->print && !options->all_stats;
}

int csp_deliver(struct csp_deliverer *deliverer, const struct csp_delivery *delivery,
                struct csp_stitch_stats *stats)
{
    const struct csp_stitcher_options *options = deliverer->options;
    for (size_t j = 0; j < delivery->count; j++) {
        stats->verdicts[delivery->pairs[j].verdict]++;
        stats->unstitched[delivery->pairs[j].reason]++;
        stats->start_agrees += delivery->pairs[j].start_agrees;
    }
    stats->pauses += delivery->count;
    if (options->sample)
        return deliver_samples(deliverer, delivery);
    if (csp_delivers_nothing(options))
        return 0;
    struct job job = {.deliverer = deliverer,
                      .delivery = delivery,
                      .shards = (delivery->count + SHARD_PAUSES - 1) / SHARD_PAUSES};
    if (options->any_sample) {
        csp_parallel(csp_parallel_worth(options->threads, job.shards, 1), deliver_shards, &job);
        return 0;
    }
    return csp_ordered_run(&(struct csp_ordered){.count = job.shards,
                                                 .threads = options->threads,
                                                 .work = print_shard,
                                                 .take = take_shard,
                                                 .user = &job});
}

struct csp_stitched_stats csp_deliverer_made(const struct csp_deliverer *deliverer)
{
    struct csp_stitched_stats made = {0};
    for (unsigned i = 0; i < deliverer->options->threads; i++) {
        const struct csp_stitched_stats *more = &deliverer->makers[i].stats;
        made.joined_runs += more->joined_runs;
        made.repaired_by_history += more->repaired_by_history;
        made.repaired_by_lr += more->repaired_by_lr;
        made.missing_callers += more->missing_callers;
    }
    return made;
}

void csp_deliverer_free(struct csp_deliverer *deliverer)
{
    for (unsigned i = 0; i < deliverer->options->threads; i++)
        csp_stitched_maker_free(&deliverer->makers[i]);
    for (unsigned i = 0; i < csp_ordered_slots(deliverer->options->threads); i++)
        csp_buf_free(&deliverer->texts[i]);
    free(deliverer->makers);
    free(deliverer->texts);
}
