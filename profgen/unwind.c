#include "profgen/unwind.h"

#include "base/alloc.h"
#include "base/parallel.h"
#include "base/saturate.h"
#include "profgen/sample_history.h"
#include "profgen/unwind_step.h"

/* What one step of unwinding does depends on the call stack, the branch and the next newer one
 * alone. A program has some ten thousand such steps and samples repeat them without end, so each is
 * done for real only twice: when it is first met, to learn what it leaves of the stack, and when
 * all samples have been seen, to count. Call stacks are nodes of a tree: a call in its caller. */

#define NO_NODE UINT32_MAX

enum {
    ROOT,       /* the leaf has no callers */
    LOST,       /* … because the history does not fit the callchain */
    FIRST_CALL, /* nodes of `calls` from here on */
};

#define NO_STEP UINT32_MAX

struct step {
    uint64_t count;
    uint32_t next;     /* node */
    uint32_t branch;   /* number in the set */
    uint32_t followed; /* the step that came after it last, or NO_STEP */
};

struct worker {
    struct csp_unwinder step;
    const struct csp_sample_set *set;
    size_t first, end;      /* samples of the set */
    struct csp_pairs calls; /* node of the caller's stack, call address */
    struct csp_pairs keys;  /* node and newer branch (CSP_NO_BRANCH), branch */
    CSP_VEC(struct step) steps;
    CSP_VEC(uint32_t) callers_nodes; /* by number of the set's callers; NO_NODE: not known yet */
    struct csp_history_reader history;
    csp_frames callchain;
    struct csp_counters counters;
    struct csp_unwind_stats stats;
};

static uint32_t call_node(struct worker *worker, uint32_t caller, uint64_t call)
{
    return FIRST_CALL + csp_pairs_at(&worker->calls, caller, call);
}

/* Makes the stack that a node and a leaf mean. */
static void enter(struct worker *worker, uint32_t node, uint64_t leaf)
{
    struct csp_unwinder *step = &worker->step;
    step->stack.len = 0;
    step->lost = node == LOST;
    size_t depth = 0;
    for (uint32_t up = node; up >= FIRST_CALL; depth++)
        up = (uint32_t)worker->calls.list.data[up - FIRST_CALL].first;
    for (size_t i = 0; i < depth; i++)
        csp_unwinder_push(step, 0);
    for (uint32_t up = node; up >= FIRST_CALL;) {
        const struct csp_pair *call = &worker->calls.list.data[up - FIRST_CALL];
        step->stack.data[--depth] = call->second;
        up = (uint32_t)call->first;
    }
    csp_unwinder_push(step, leaf);
}

static uint32_t node_of_stack(struct worker *worker)
{
    const struct csp_unwinder *step = &worker->step;
    if (step->lost)
        return LOST;
    uint32_t node = ROOT;
    for (size_t i = 0; i + 1 < step->stack.len; i++)
        node = call_node(worker, node, step->stack.data[i]);
    return node;
}

static void do_step(struct worker *worker, uint32_t number, uint64_t count)
{
    const struct csp_pair *branches = worker->set->branches.list.data;
    struct csp_pair key = worker->keys.list.data[number];
    uint32_t node = (uint32_t)(key.first >> 32), newer = (uint32_t)key.first;
    struct csp_pair branch = branches[key.second];
    uint64_t newer_from = newer == CSP_NO_BRANCH ? 0 : branches[newer].first;
    enter(worker, node, newer_from ? newer_from : branch.second);
    worker->step.count = count;
    csp_unwinder_step(&worker->step, newer_from, branch.first, branch.second);
}

static uint32_t step_at(struct worker *worker, uint32_t node, uint32_t newer, uint32_t branch)
{
    uint32_t number = csp_pairs_at(&worker->keys, (uint64_t)node << 32 | newer, branch);
    if (number == worker->steps.len) {
        do_step(worker, number, 0);
        csp_vec_push(
            &worker->steps,
            (struct step){.next = node_of_stack(worker), .branch = branch, .followed = NO_STEP});
    }
    return number;
}

/* The step after another one: mostly the same as the last time. */
static uint32_t step_after(struct worker *worker, uint32_t before, uint32_t branch)
{
    const struct step *step = &worker->steps.data[before];
    if (step->followed != NO_STEP && worker->steps.data[step->followed].branch == branch)
        return step->followed;
    uint32_t number = step_at(worker, step->next, step->branch, branch);
    worker->steps.data[before].followed = number;
    return number;
}

static uint32_t node_of_callers(struct worker *worker, const uint64_t *callers, size_t len)
{
    uint32_t node = ROOT;
    for (size_t i = len; i; i--)
        node = call_node(worker, node, callers[i - 1]);
    return node;
}

/* The callchain, with the callers that it lacks and the history shows. */
static uint32_t first_node(struct worker *worker, size_t number, uint64_t count)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(worker->set, number);
    if (worker->step.flat)
        return ROOT;
    if (!worker->step.options->compat &&
        csp_sample_callchain(&worker->history, worker->set, number, &worker->callchain)) {
        worker->stats.restored_frames += count;
        return node_of_callers(worker, worker->callchain.data + 1, worker->callchain.len - 1);
    }
    while (worker->callers_nodes.len <= sample->callers)
        csp_vec_push(&worker->callers_nodes, NO_NODE);
    uint32_t *node = &worker->callers_nodes.data[sample->callers];
    if (*node == NO_NODE) {
        uint32_t len;
        const uint64_t *callers = csp_flat_callers(worker->set, sample, &len);
        *node = node_of_callers(worker, callers, len);
    }
    return *node;
}

static void count_partial(struct worker *worker, uint32_t node, uint64_t from, uint64_t last,
                          uint64_t count)
{
    enter(worker, node, from);
    worker->step.count = count;
    csp_unwinder_partial(&worker->step, from, last);
}

static void unwind_sample(struct worker *worker, size_t number, uint64_t count)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(worker->set, number);
    const struct csp_code *code = &worker->step.program->code;
    uint64_t newest = csp_flat_newest(worker->set, sample);
    uint32_t node = first_node(worker, number, count), at = NO_STEP;
    if (sample->end && (sample->end != newest || !sample->branch_len))
        count_partial(worker, node, newest, csp_code_before(code, sample->end), count);
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        uint32_t branch = sample->branches[i];
        at = i ? step_after(worker, at, branch) : step_at(worker, node, CSP_NO_BRANCH, branch);
        struct step *step = &worker->steps.data[at];
        step->count = csp_add_saturating(step->count, count);
    }
    if (at != NO_STEP)
        node = worker->steps.data[at].next;
    if (sample->start && sample->branch_len && node != LOST)
        count_partial(worker, node, sample->start,
                      csp_flat_branch(worker->set, sample, sample->branch_len - 1)->first, count);
}

static void run(void *user, unsigned number)
{
    struct worker *worker = (struct worker *)user + number;
    for (size_t i = worker->first; i < worker->end; i++)
        if (worker->set->counts.data[i])
            unwind_sample(worker, i, worker->set->counts.data[i]);
    for (uint32_t i = 0; i < worker->steps.len; i++)
        do_step(worker, i, worker->steps.data[i].count);
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

static void free_worker(struct worker *worker)
{
    csp_unwinder_free(&worker->step);
    csp_history_reader_free(&worker->history);
    csp_counters_free(&worker->counters);
    csp_pairs_free(&worker->calls);
    csp_pairs_free(&worker->keys);
    csp_vec_free(&worker->steps);
    csp_vec_free(&worker->callers_nodes);
    csp_vec_free(&worker->callchain);
}

void csp_unwind(struct csp_program *program, const struct csp_sample_set *set,
                const struct csp_unwind_options *options, struct csp_counters *counters,
                struct csp_unwind_stats *stats)
{
    bool lines = !options->flat && !program->uses_probes;
    /* Lines are looked up one at a time. */
    unsigned count = lines || !options->threads ? 1 : options->threads;
    struct worker *workers = csp_calloc(count, sizeof *workers);
    for (unsigned i = 0; i < count; i++) {
        struct worker *worker = &workers[i];
        worker->set = set;
        worker->first = set->counts.len * i / count;
        worker->end = set->counts.len * (i + 1) / count;
        worker->history.program = program;
        worker->step = (struct csp_unwinder){
            .program = program,
            .options = options,
            .counters = i ? &worker->counters : counters,
            .stats = &worker->stats,
            .context = CSP_NO_CONTEXT,
            .lines = lines,
            .flat = options->flat,
        };
    }
    csp_parallel(count, run, workers);
    for (unsigned i = 0; i < count; i++) {
        csp_counters_merge(counters, &workers[i].counters);
        add_stats(stats, &workers[i].stats);
        free_worker(&workers[i]);
    }
    free(workers);
}
