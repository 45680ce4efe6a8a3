#include "profgen/unwind_join.h"

#include "base/alloc.h"
#include "base/parallel.h"

#include <stdlib.h>

/* What is counted. Neither has anything to do with the other, so that two threads can do the same
 * for both at once. */
enum { RANGES, BRANCHES, KINDS };

static struct csp_counter_log *log_of(struct csp_unwinder *unwinder, unsigned kind)
{
    return kind == RANGES ? &unwinder->ranges : &unwinder->branches;
}

static struct csp_counter_table *table_of(const struct csp_unwinder *unwinder, unsigned kind)
{
    struct csp_counters *counters = unwinder->counters;
    return kind == RANGES ? &counters->ranges : &counters->branches;
}

struct joining {
    struct csp_unwinder *const *unwinders;
    unsigned count;
    struct csp_context_numbers *numbers; /* of each but the first's contexts */
};

static void number_contexts(const struct joining *joining)
{
    struct csp_counters *counters = joining->unwinders[0]->counters;
    for (unsigned i = joining->count; --i;) {
        joining->numbers[i].known = (uint32_t)counters->contexts.len;
        joining->numbers[i].contexts =
            csp_counters_merge_contexts(counters, joining->unwinders[i]->counters);
    }
}

/* The first task numbers contexts, each of the others settles a log. */
static void prepare(void *user, unsigned task)
{
    const struct joining *joining = user;
    if (!task)
        number_contexts(joining);
    else
        csp_counter_log_settle(log_of(joining->unwinders[(task - 1) / KINDS], (task - 1) % KINDS));
}

/* What was numbered first is taken first. */
static void join_kind(void *user, unsigned kind)
{
    const struct joining *joining = user;
    struct csp_unwinder *first = joining->unwinders[0];
    for (unsigned i = joining->count; --i;) {
        struct csp_unwinder *other = joining->unwinders[i];
        uint32_t *spans = csp_counters_merge_spans(table_of(first, kind), table_of(other, kind));
        csp_counter_log_take(log_of(first, kind), log_of(other, kind), joining->numbers[i], spans);
        free(spans);
    }
    csp_counter_log_end(log_of(first, kind), table_of(first, kind));
}

static void add_stats(struct csp_unwind_stats *stats, const struct csp_unwind_stats *other)
{
    stats->ranges += other->ranges;
    stats->ranges_counted += other->ranges_counted;
    stats->ranges_external += other->ranges_external;
    stats->ranges_half_external += other->ranges_half_external;
    stats->ranges_impossible += other->ranges_impossible;
    stats->partial_ranges += other->partial_ranges;
    stats->partial_ranges_impossible += other->partial_ranges_impossible;
    stats->branches += other->branches;
    stats->calls_off_chain += other->calls_off_chain;
    stats->returns_to_no_call += other->returns_to_no_call;
    stats->restored_frames += other->restored_frames;
}

void csp_unwinders_join(struct csp_unwinder *const *unwinders, unsigned count, unsigned threads,
                        struct csp_unwind_stats *stats)
{
    struct joining joining = {unwinders, count, csp_calloc(count, sizeof *joining.numbers)};
    csp_parallel_tasks(threads, 1 + KINDS * count, prepare, &joining);
    csp_parallel_tasks(threads, KINDS, join_kind, &joining);
    for (unsigned i = 0; i < count; i++) {
        add_stats(stats, unwinders[i]->stats);
        free((void *)(uintptr_t)joining.numbers[i].contexts);
    }
    free(joining.numbers);
}
