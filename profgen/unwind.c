#include "profgen/unwind.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/saturate.h"
#include "base/shares.h"
#include "profgen/sample_history.h"
#include "profgen/sample_order.h"
#include "profgen/unwind_join.h"
#include "profgen/unwind_step.h"

#include <stdlib.h>
#include <string.h>

/* What one step of unwinding does depends on the call stack, the branch and the next newer one
 * alone. A program has some ten thousand such steps and samples repeat them without end, so each is
 * done when it is first met, to learn what it leaves of the stack, and counted when all samples
 * have been seen, or so many that the steps leave the processor's cache. */

enum {
    MOST_STEPS = 1 << 16,
    CHUNKS = 128,              /* for each thread: some have more to be learnt of than others */
    MET_BITS = 14,             /* of the number of places for steps that were met lately */
    ODD = 1 << CSP_RULE_COUNT, /* beside the rules that a step's branch breaks */
};

#define NO_STACK UINT32_MAX

/* What walks read of a step. Where its branch goes next waits for where the one before went, so a
 * step is named by how far behind the first one it lies, and what is seldom asked for is not here.
 */
struct step {
    uint64_t count;
    uint32_t branch;   /* number in the set; NO_GUESS: the step breaks something */
    uint32_t followed; /* the step that came after it last */
};

/* The first one is none, and comes after steps that none came after yet. */
enum { NO_STEP = 0 };
#define NO_GUESS UINT32_MAX

/* What else is known of it. */
struct step_effect {
    uint32_t before; /* the stack before its branch was taken */
    uint32_t branch; /* number in the set */
    uint8_t broken;  /* where samples are checked meanwhile: rules, by its branch, and ODD */
};
_Static_assert(ODD <= UINT8_MAX, "rules");

/* A step after another one, which is not the one that came after it last; or the first step of a
 * sample. */
struct met {
    uint32_t after; /* the step before, or FIRST and the stack; NO_STEP: nothing was met here */
    uint32_t branch;
    uint32_t step;
};
#define FIRST (UINT32_C(1) << 31)

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
    struct csp_sample_checker *checker; /* null: samples were checked before */
    const uint32_t *order;              /* of the set's samples */
    struct chunks *chunks;              /* of that order, which workers share */
    struct csp_pairs runs;              /* newer branch (CSP_NO_BRANCH), branch */
    struct csp_numbers keys;            /* of steps: stack << 32 | run */
    CSP_VEC(struct step) steps;
    CSP_VEC(struct step_effect) effects; /* of the same steps */
    struct met *met;                     /* each at its own place */
    CSP_VEC(uint32_t) callers_stacks;  /* by number of the set's callers; NO_STACK: not known yet */
    CSP_VEC(struct stacked_call) last; /* callers, root first */
    struct csp_history_reader history;
    csp_frames callchain;
    struct csp_counters counters;
    struct csp_unwind_stats stats;
};

static struct csp_unwind_step describe_step(const struct csp_unwinding *worker, uint32_t stack,
                                            uint32_t run)
{
    const struct csp_pair *branches = worker->set->branches.list.data;
    uint32_t newer = (uint32_t)worker->runs.list.data[run].first;
    uint32_t branch = (uint32_t)worker->runs.list.data[run].second;
    return (struct csp_unwind_step){
        .stack = stack,
        .run = run,
        .newer_from = newer == CSP_NO_BRANCH ? 0 : branches[newer].first,
        .from = branches[branch].first,
        .to = branches[branch].second,
    };
}

static uint8_t check_step(struct csp_unwinding *worker, const struct csp_unwind_step *step,
                          uint32_t newer, uint32_t branch)
{
    if (!worker->checker)
        return 0;
    bool odd = csp_unwinder_is_odd(&worker->unwinder, step, newer == CSP_NO_BRANCH);
    return (uint8_t)(csp_sample_checker_branch(worker->checker, branch) | (odd ? ODD : 0));
}

static void add_step(struct csp_unwinding *worker, struct step_effect effect)
{
    uint32_t guess = effect.broken ? NO_GUESS : effect.branch;
    csp_vec_push(&worker->steps, (struct step){.branch = guess, .followed = NO_STEP});
    csp_vec_push(&worker->effects, effect);
}

static uint32_t step_at(struct csp_unwinding *worker, uint32_t stack, uint32_t newer,
                        uint32_t branch)
{
    uint32_t run = csp_pairs_at(&worker->runs, newer, branch);
    uint32_t number = 1 + csp_numbers_at(&worker->keys, (uint64_t)stack << 32 | run);
    if (number == worker->steps.len) {
        const struct csp_unwind_step step = describe_step(worker, stack, run);
        add_step(worker, (struct step_effect){.before = csp_unwinder_undo(&worker->unwinder, &step),
                                              .branch = branch,
                                              .broken = check_step(worker, &step, newer, branch)});
    }
    return number * (uint32_t)sizeof(struct step);
}

static inline struct step *step_named(const struct csp_unwinding *worker, uint32_t step)
{
    return (struct step *)((char *)worker->steps.data + step);
}

static inline const struct step_effect *effect_of(const struct csp_unwinding *worker, uint32_t step)
{
    return &worker->effects.data[step / sizeof(struct step)];
}

static struct met *place_of(const struct csp_unwinding *worker, uint32_t after, uint32_t branch)
{
    uint32_t hash = after * 0x9e3779b1u + branch * 0x85ebca6bu;
    return &worker->met[hash >> (32 - MET_BITS)];
}

/* Of a sample, where the stack is its callers. */
static uint32_t first_step(struct csp_unwinding *worker, uint32_t stack, uint32_t branch)
{
    struct met *met = place_of(worker, FIRST | stack, branch);
    if (met->after != (FIRST | stack) || met->branch != branch)
        *met = (struct met){FIRST | stack, branch, step_at(worker, stack, CSP_NO_BRANCH, branch)};
    return met->step;
}

static __attribute__((noinline)) uint32_t another_step_after(struct csp_unwinding *worker,
                                                             uint32_t at, uint32_t branch)
{
    struct met *met = place_of(worker, at, branch);
    if (met->after != at || met->branch != branch) {
        const struct step_effect *effect = effect_of(worker, at);
        *met = (struct met){at, branch, step_at(worker, effect->before, effect->branch, branch)};
    }
    step_named(worker, at)->followed = met->step;
    return met->step;
}

static void begin_steps(struct csp_unwinding *worker)
{
    csp_numbers_clear(&worker->keys);
    worker->steps.len = worker->effects.len = 0;
    csp_vec_push(&worker->steps, (struct step){.branch = NO_GUESS});
    csp_vec_push(&worker->effects, (struct step_effect){0});
}

/* Counts all steps, and forgets them. Those of samples that do not count may have no count. */
static void count_steps(struct csp_unwinding *worker)
{
    enum { AHEAD = 12 };
    for (size_t i = 1; i < worker->steps.len; i++) {
        if (!worker->steps.data[i].count)
            continue;
        uint64_t key = worker->keys.list.data[i - 1];
        if (i + AHEAD < worker->steps.len)
            csp_unwinder_fetch(&worker->unwinder,
                               (uint32_t)(worker->keys.list.data[i - 1 + AHEAD] >> 32),
                               worker->effects.data[i + AHEAD].before);
        const struct csp_unwind_step step =
            describe_step(worker, (uint32_t)(key >> 32), (uint32_t)key);
        csp_unwinder_count(&worker->unwinder, &step, worker->effects.data[i].before,
                           worker->steps.data[i].count);
    }
    begin_steps(worker);
    memset(worker->met, 0, sizeof *worker->met << MET_BITS);
}

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

static inline void count_step(struct step *step, uint64_t count)
{
    step->count = csp_add_saturating(step->count, count);
}

/* Adds to the steps of a sample. The next step is mostly the same as the last time; those that
 * break something never are. */
static inline uint32_t add_to_steps(struct csp_unwinding *worker,
                                    const struct csp_flat_sample *sample, bool wide, uint32_t stack,
                                    uint64_t count, unsigned *broken)
{
    uint32_t at = first_step(worker, stack, csp_flat_number(sample, 0));
    *broken = effect_of(worker, at)->broken;
    count_step(step_named(worker, at), count);
    for (uint32_t i = 1; i < sample->branch_len; i++) {
        uint32_t branch = wide ? csp_flat_number(sample, i) : sample->numbers[i];
        uint32_t followed = step_named(worker, at)->followed;
        if (step_named(worker, followed)->branch != branch) {
            followed = another_step_after(worker, at, branch);
            *broken |= effect_of(worker, followed)->broken;
        }
        at = followed;
        count_step(step_named(worker, at), count);
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
    return effect_of(worker, last)->before;
}

/* The same steps again, as if they had not been walked. No count is saturated then: samples that
 * are checked while they come count one each. */
static void take_back(struct csp_unwinding *worker, const struct csp_flat_sample *sample,
                      uint32_t stack, uint64_t count)
{
    for (uint32_t i = 0, at = NO_STEP; i < sample->branch_len; i++) {
        uint32_t branch = csp_flat_number(sample, i);
        at = i ? another_step_after(worker, at, branch) : first_step(worker, stack, branch);
        step_named(worker, at)->count -= count;
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
    struct csp_sample_checker *checker = worker->checker;
    unsigned broken;
    uint32_t stack = recorded_stack(worker, sample);
    uint32_t oldest_stack = walk(worker, sample, stack, count, &broken);
    bool odd = broken & ODD;
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
        if (count && worker->checker)
            check_and_unwind(worker, number, count);
        else if (count)
            unwind_sample(worker, number, count);
        if (worker->steps.len > MOST_STEPS)
            count_steps(worker);
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
    count_steps(worker);
}

static void free_worker(struct csp_unwinding *worker)
{
    csp_unwinder_free(&worker->unwinder);
    csp_history_reader_free(&worker->history);
    csp_counters_free(&worker->counters);
    csp_pairs_free(&worker->runs);
    csp_numbers_free(&worker->keys);
    csp_vec_free(&worker->steps);
    csp_vec_free(&worker->effects);
    free(worker->met);
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
    unwinding->met = csp_calloc((size_t)1 << MET_BITS, sizeof *unwinding->met);
    begin_steps(unwinding);
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
    unwinding->checker = checker;
    uint32_t *order = csp_samples_by_callers(unwinding->set);
    unwinding->order = order;
    unwind_chunk(unwinding, 0, unwinding->set->counts.len);
    free(order);
}

void csp_unwinding_pause(struct csp_unwinding *unwinding)
{
    count_steps(unwinding);
}

void csp_unwinding_end(struct csp_unwinding **unwindings, unsigned count,
                       struct csp_unwind_stats *stats)
{
    struct csp_unwinder **unwinders = csp_calloc(count, sizeof(struct csp_unwinder *));
    for (unsigned i = 0; i < count; i++) {
        count_steps(unwindings[i]);
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
