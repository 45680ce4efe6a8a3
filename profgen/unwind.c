#include "profgen/unwind.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/shares.h"
#include "profgen/sample_history.h"
#include "profgen/sample_order.h"
#include "profgen/steps.h"
#include "profgen/unwind_join.h"

#include <stdlib.h>

enum { CHUNKS = 128 /* for each thread: some have more to be learnt of than others */ };

#define NO_STACK UINT32_MAX

/* Of the samples in the order of their callers: each worker has neighbours. */
struct chunks {
    uint32_t count;
    struct csp_shares shares;
};

struct stacked_call {
    uint64_t call;
    uint32_t stack; /* with it */
};

struct csp_unwinding {
    struct csp_unwind_options options;
    struct csp_unwinder unwinder;
    const struct csp_sample_set *set;
    struct csp_steps steps;
    const uint32_t *order;             /* of the set's samples */
    struct chunks *chunks;             /* of that order, which workers share */
    CSP_VEC(uint32_t) callers_stacks;  /* by number of the set's callers; NO_STACK: not known yet */
    CSP_VEC(struct stacked_call) last; /* callers, root first */
    struct csp_history_reader history;
    csp_frames callchain;
    struct csp_counters counters;
    struct csp_unwind_stats stats;
};

/* The stack of some callers, innermost first. Mostly the next ones are the same from the root on.
 */
static uint32_t stack_of_callers(struct csp_unwinding *worker, const uint64_t *callers, size_t len)
{
    size_t most = len < worker->last.len ? len : worker->last.len, same = 0;
    while (same < most && worker->last.data[same].call == callers[len - 1 - same])
        same++;
    uint32_t stack = same ? worker->last.data[same - 1].stack : CSP_STACK_EMPTY;
    worker->last.len = same;
    for (size_t i = len - same; i; i--) {
        stack = csp_unwinder_call(&worker->unwinder, stack, callers[i - 1]);
        csp_vec_push(&worker->last, (struct stacked_call){callers[i - 1], stack});
    }
    return stack;
}

static uint32_t recorded_stack(struct csp_unwinding *worker, const struct csp_flat_sample *sample)
{
    if (worker->unwinder.flat)
        return CSP_STACK_EMPTY;
    while (worker->callers_stacks.len <= sample->callers)
        csp_vec_push(&worker->callers_stacks, NO_STACK);
    uint32_t *stack = &worker->callers_stacks.data[sample->callers];
    if (*stack == NO_STACK) {
        uint32_t len;
        const uint64_t *callers = csp_flat_callers(worker->set, sample, &len);
        *stack = stack_of_callers(worker, callers, len);
    }
    return *stack;
}

/* The callchain, with the callers that it lacks and the history shows. */
static uint32_t first_stack(struct csp_unwinding *worker, size_t number, uint64_t count)
{
    if (worker->unwinder.flat || worker->unwinder.options->compat ||
        !csp_sample_callchain(&worker->history, worker->set, number, &worker->callchain))
        return recorded_stack(worker, csp_sample_set_at(worker->set, number));
    worker->stats.restored_frames += count;
    return stack_of_callers(worker, worker->callchain.data + 1, worker->callchain.len - 1);
}

/* Adds to the steps of a sample. The next step is mostly the same as the last time; those that
 * break something never are. */
static inline uint32_t add_to_steps(struct csp_unwinding *worker,
                                    const struct csp_flat_sample *sample, bool wide, uint32_t stack,
                                    uint64_t count, unsigned *broken)
{
    uint32_t at = csp_step_first(&worker->steps, stack, csp_flat_number(sample, 0));
    *broken = csp_step_effect_of(&worker->steps, at)->broken;
    csp_step_count(csp_step_named(&worker->steps, at), count);
    for (uint32_t i = 1; i < sample->branch_len; i++) {
        uint32_t branch = wide ? csp_flat_number(sample, i) : sample->numbers[i];
        uint32_t followed = csp_step_named(&worker->steps, at)->followed;
        if (csp_step_named(&worker->steps, followed)->branch != branch) {
            followed = csp_step_after(&worker->steps, at, branch);
            *broken |= csp_step_effect_of(&worker->steps, followed)->broken;
        }
        at = followed;
        csp_step_count(csp_step_named(&worker->steps, at), count);
    }
    return at;
}

/* Adds to the steps that lead from `stack`, when a sample's newest branch had been taken, back to
 * its oldest. Returns the stack before that one; `broken` gets what its steps break. */
static uint32_t walk(struct csp_unwinding *worker, const struct csp_flat_sample *sample,
                     uint32_t stack, uint64_t count, unsigned *broken)
{
    *broken = 0;
    if (!sample->branch_len)
        return stack;
    uint32_t last = sample->wide ? add_to_steps(worker, sample, true, stack, count, broken)
                                 : add_to_steps(worker, sample, false, stack, count, broken);
    return csp_step_effect_of(&worker->steps, last)->before;
}

/* The same steps again, as if they had not been walked. No count is saturated then: samples that
 * are checked while they come count one each. */
static void take_back(struct csp_unwinding *worker, const struct csp_flat_sample *sample,
                      uint32_t stack, uint64_t count)
{
    for (uint32_t i = 0, at = CSP_NO_STEP; i < sample->branch_len; i++) {
        uint32_t branch = csp_flat_number(sample, i);
        at = i ? csp_step_after(&worker->steps, at, branch)
               : csp_step_first(&worker->steps, stack, branch);
        csp_step_named(&worker->steps, at)->count -= count;
    }
}

/* Counts what ran behind the newest branch and before the oldest one, each in its stack. */
static void count_ends(struct csp_unwinding *worker, const struct csp_flat_sample *sample,
                       uint32_t stack, uint32_t oldest_stack, uint64_t count)
{
    const struct csp_code *code = &worker->unwinder.program->code;
    uint64_t newest = csp_flat_newest(worker->set, sample);
    if (sample->end && (sample->end != newest || !sample->branch_len))
        csp_unwinder_partial(&worker->unwinder, stack, newest, csp_code_before(code, sample->end),
                             count);
    if (sample->start && sample->branch_len && oldest_stack != CSP_STACK_LOST)
        csp_unwinder_partial(&worker->unwinder, oldest_stack, sample->start,
                             csp_flat_branch(worker->set, sample, sample->branch_len - 1)->first,
                             count);
}

static void unwind_sample(struct csp_unwinding *worker, size_t number, uint64_t count)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(worker->set, number);
    unsigned broken;
    uint32_t stack = first_stack(worker, number, count);
    uint32_t oldest_stack = walk(worker, sample, stack, count, &broken);
    count_ends(worker, sample, stack, oldest_stack, count);
}

/* Where no step is odd, the calls that are open when the history ends are the innermost of the call
 * stack, and no more has to be known of the sample. Nearly all are like that, and it takes one walk
 * to count them; of the others that is taken back. */
static void check_and_unwind(struct csp_unwinding *worker, size_t number, uint64_t count)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(worker->set, number);
    struct csp_sample_checker *checker = worker->steps.checker;
    unsigned broken;
    uint32_t stack = recorded_stack(worker, sample);
    uint32_t oldest_stack = walk(worker, sample, stack, count, &broken);
    bool odd = broken & CSP_STEP_ODD;
    if (!odd && csp_sample_checker_plain(checker, number, broken)) {
        count_ends(worker, sample, stack, oldest_stack, count);
        return;
    }
    take_back(worker, sample, stack, count);
    if (odd && csp_sample_checker_sample(checker, number))
        unwind_sample(worker, number, count);
}

static void unwind_chunk(struct csp_unwinding *worker, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        uint32_t number = worker->order[i];
        uint64_t count = worker->set->counts.data[number];
        if (count && worker->steps.checker)
            check_and_unwind(worker, number, count);
        else if (count)
            unwind_sample(worker, number, count);
        if (worker->steps.list.len > CSP_STEPS_AT_ONCE)
            csp_steps_count(&worker->steps);
    }
}

static void run(void *user, unsigned id)
{
    struct csp_unwinding *worker = ((struct csp_unwinding **)user)[id];
    struct chunks *chunks = worker->chunks;
    uint64_t samples = worker->set->counts.len;
    for (uint32_t chunk; csp_shares_next(&chunks->shares, id, &chunk);)
        unwind_chunk(worker, samples * chunk / chunks->count,
                     samples * (chunk + 1) / chunks->count);
    csp_steps_count(&worker->steps);
}

static void free_worker(struct csp_unwinding *worker)
{
    csp_unwinder_free(&worker->unwinder);
    csp_history_reader_free(&worker->history);
    csp_counters_free(&worker->counters);
    csp_steps_free(&worker->steps);
    csp_vec_free(&worker->callers_stacks);
    csp_vec_free(&worker->last);
    csp_vec_free(&worker->callchain);
    free(worker);
}

struct csp_unwinding *csp_unwinding_begin(struct csp_program *program,
                                          const struct csp_sample_set *set,
                                          const struct csp_unwind_options *options,
                                          struct csp_counters *counters)
{
    struct csp_unwinding *unwinding = csp_calloc(1, sizeof *unwinding);
    unwinding->set = set;
    unwinding->options = *options;
    csp_steps_begin(&unwinding->steps, &unwinding->unwinder, set);
    csp_history_reader_begin(&unwinding->history, program);
    unwinding->unwinder = (struct csp_unwinder){
        .program = program,
        .options = &unwinding->options,
        .counters = counters ? counters : &unwinding->counters,
        .stats = &unwinding->stats,
        .lines = !options->flat && !program->uses_probes,
        .flat = options->flat,
    };
    return unwinding;
}

void csp_unwinding_samples(struct csp_unwinding *unwinding, struct csp_sample_checker *checker)
{
    csp_sample_checker_enter(checker);
    unwinding->steps.checker = checker;
    uint32_t *order = csp_samples_by_callers(unwinding->set);
    unwinding->order = order;
    unwind_chunk(unwinding, 0, unwinding->set->counts.len);
    free(order);
}

void csp_unwinding_pause(struct csp_unwinding *unwinding)
{
    csp_steps_count(&unwinding->steps);
}

void csp_unwinding_end(struct csp_unwinding **unwindings, unsigned count,
                       struct csp_unwind_stats *stats)
{
    struct csp_unwinder **unwinders = csp_calloc(count, sizeof(struct csp_unwinder *));
    for (unsigned i = 0; i < count; i++) {
        csp_steps_count(&unwindings[i]->steps);
        unwinders[i] = &unwindings[i]->unwinder;
    }
    csp_unwinders_join(unwinders, count, unwindings[0]->options.threads, stats);
    for (unsigned i = 0; i < count; i++)
        free_worker(unwindings[i]);
    free(unwinders);
}

void csp_unwind(struct csp_program *program, const struct csp_sample_set *set,
                const struct csp_unwind_options *options, struct csp_counters *counters,
                struct csp_unwind_stats *stats)
{
    bool lines = !options->flat && !program->uses_probes;
    /* Lines are looked up one at a time. */
    unsigned count = csp_parallel_worth(lines ? 1 : options->threads, set->counts.len,
                                        CSP_SAMPLES_WORTH_A_THREAD);
    struct csp_unwinding **workers = csp_calloc(count, sizeof(struct csp_unwinding *));
    struct chunks chunks = {.count = count > 1 ? CHUNKS * count : 1};
    uint32_t *order = csp_samples_by_callers(set);
    for (unsigned i = 0; i < count; i++) {
        workers[i] = csp_unwinding_begin(program, set, options, i ? NULL : counters);
        workers[i]->order = order;
        workers[i]->chunks = &chunks;
    }
    csp_shares_begin(&chunks.shares, chunks.count, count);
    csp_parallel(count, run, workers);
    csp_shares_free(&chunks.shares);
    csp_unwinding_end(workers, count, stats);
    free(order);
    free(workers);
}
