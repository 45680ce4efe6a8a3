#include "decode/trace_sampler.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { INSTRUCTION = 4, NESTING = 8 /* of signal handlers, remembered */ };

/* A stack that an exception interrupted, and where it will go on. */
struct interrupted {
    uint64_t return_address;
    csp_frames stack;
};

/* A thread on one CPU's trace. */
struct thread {
    uint64_t context_id;
    csp_frames stack;                        /* return addresses, outermost first */
    struct interrupted interrupted[NESTING]; /* oldest first */
    unsigned nesting;
    uint64_t left;                       /* instructions to the next sample */
    CSP_VEC(struct csp_branch) branches; /* since the last sample, oldest first */
    uint64_t start;                      /* where the last sample left off */
};

struct csp_trace_sampler {
    struct csp_trace_sampler_options options;
    CSP_VEC(struct thread) threads;
    csp_frames chain;
    CSP_VEC(struct csp_branch) newest_first;
    uint64_t count;
};

struct csp_trace_sampler *csp_trace_sampler_create(const struct csp_trace_sampler_options *options)
{
    struct csp_trace_sampler *sampler = csp_calloc(1, sizeof *sampler);
    sampler->options = *options;
    return sampler;
}

static struct thread *find_thread(struct csp_trace_sampler *sampler, uint64_t context_id)
{
    for (size_t i = 0; i < sampler->threads.len; i++)
        if (sampler->threads.data[i].context_id == context_id)
            return &sampler->threads.data[i];
    csp_vec_push(&sampler->threads, (struct thread){.context_id = context_id});
    return &sampler->threads.data[sampler->threads.len - 1];
}

static void take_chain(struct csp_trace_sampler *sampler, const struct thread *thread, uint64_t ip)
{
    sampler->chain.len = 0;
    csp_vec_reserve(&sampler->chain, thread->stack.len + 1);
    sampler->chain.data[sampler->chain.len++] = ip;
    for (size_t i = thread->stack.len; i-- > 0;)
        sampler->chain.data[sampler->chain.len++] = thread->stack.data[i];
}

static void take_branches(struct csp_trace_sampler *sampler, const struct thread *thread)
{
    sampler->newest_first.len = 0;
    csp_vec_reserve(&sampler->newest_first, thread->branches.len);
    for (size_t i = thread->branches.len; i-- > 0;)
        sampler->newest_first.data[sampler->newest_first.len++] = thread->branches.data[i];
}

/* Where sampling is in a run. */
struct position {
    const struct csp_source *source;
    const struct csp_run *run;
    uint64_t time;
};

/* A sample after the instruction at `ip` ran. */
static int cut(struct csp_trace_sampler *sampler, struct thread *thread,
               const struct position *position, uint64_t ip)
{
    take_chain(sampler, thread, ip);
    take_branches(sampler, thread);
    uint32_t tid = (uint32_t)thread->context_id;
    const struct csp_trace_sampler_options *options = &sampler->options;
    struct csp_sample sample = {
        .time = position->time,
        .pid = options->pid ? options->pid(options->user, tid) : tid,
        .tid = tid,
        .cpu = position->source->cpu,
        .count = 1,
        .ip = ip,
        .callchain = sampler->chain.data,
        .callchain_len = (uint32_t)sampler->chain.len,
        .branches = sampler->newest_first.data,
        .branch_len = (uint32_t)sampler->newest_first.len,
        .verdict = CSP_VERDICT_NATIVE,
        .start = thread->start,
        .end = ip + INSTRUCTION,
    };
    sampler->count++;
    thread->branches.len = 0;
    thread->start = sample.end;
    thread->left = options->period;
    return options->sample(options->user, &sample);
}

/* The instructions [start, last] ran; cuts every sample that is due. */
static int advance(struct csp_trace_sampler *sampler, struct thread *thread,
                   const struct position *position, uint64_t start, uint64_t last)
{
    while (last >= start) {
        uint64_t count = (last - start) / INSTRUCTION + 1;
        if (count < thread->left) {
            thread->left -= count;
            return 0;
        }
        uint64_t ip = start + (thread->left - 1) * INSTRUCTION;
        int error = cut(sampler, thread, position, ip);
        if (error < 0)
            return error;
        start = ip + INSTRUCTION;
    }
    return 0;
}

/* A return that no open call explains belongs to a call from before the trace began: the stack is
 * left alone. One that explains several unwinds them all (longjmp). */
static void follow(struct thread *thread, const struct csp_branch *branch)
{
    csp_frames *stack = &thread->stack;
    uint64_t next = branch->from + INSTRUCTION;
    if (branch->kind == CSP_BRANCH_CALL || branch->kind == CSP_BRANCH_INDIRECT_CALL) {
        if (branch->to != next) /* `bl .+4` reads the PC, it calls nothing */
            csp_vec_push(stack, next);
    } else if (branch->kind == CSP_BRANCH_RETURN) {
        for (size_t depth = stack->len; depth-- > 0;) {
            if (stack->data[depth] != branch->to)
                continue;
            stack->len = depth;
            return;
        }
    }
}

static void copy_stack(csp_frames *to, const csp_frames *from)
{
    to->len = 0;
    csp_vec_reserve(to, from->len);
    for (size_t i = 0; i < from->len; i++)
        to->data[to->len++] = from->data[i];
}

static void interrupt(struct thread *thread, uint64_t return_address)
{
    if (thread->nesting == NESTING) { /* the oldest will not be taken up again */
        struct interrupted oldest = thread->interrupted[0];
        for (unsigned i = 1; i < NESTING; i++)
            thread->interrupted[i - 1] = thread->interrupted[i];
        thread->interrupted[NESTING - 1] = oldest;
        thread->nesting--;
    }
    struct interrupted *slot = &thread->interrupted[thread->nesting++];
    slot->return_address = return_address;
    copy_stack(&slot->stack, &thread->stack);
    thread->stack.len = 0;
}

static void resume(struct thread *thread, uint64_t address)
{
    for (unsigned i = thread->nesting; i-- > 0;) {
        if (thread->interrupted[i].return_address != address)
            continue;
        copy_stack(&thread->stack, &thread->interrupted[i].stack);
        thread->nesting = i;
        return;
    }
}

static void begin_window(struct csp_trace_sampler *sampler, struct thread *thread)
{
    thread->stack.len = 0;
    thread->branches.len = 0;
    thread->nesting = 0;
    if (!thread->left)
        thread->left = sampler->options.period;
}

/* What ran since the last sample becomes one when a gap follows: nothing is left out. */
static int cut_rest(struct csp_trace_sampler *sampler, struct thread *thread,
                    const struct position *position)
{
    uint64_t left = thread->left;
    if (thread->start == position->run->end && !thread->branches.len)
        return 0;
    int error = cut(sampler, thread, position, position->run->end - INSTRUCTION);
    thread->left = left; /* the period goes on across gaps */
    return error;
}

static int sample_run(struct csp_trace_sampler *sampler, struct thread *thread,
                      const struct position *position, struct csp_branch_reader branches)
{
    const struct csp_run *run = position->run;
    uint64_t start = run->start;
    for (uint32_t i = 0; i < run->branch_len; i++) {
        const struct csp_branch branch = csp_branch_decode(&branches);
        int error = advance(sampler, thread, position, start, branch.from);
        if (error < 0)
            return error;
        /* The branch itself was the last instruction of the sample before. (With branches since
         * then, it only lies before where this one started.) */
        if (!thread->branches.len && thread->start == branch.from + INSTRUCTION)
            thread->start = 0;
        csp_vec_push(&thread->branches, branch);
        follow(thread, &branch);
        start = branch.to;
    }
    return run->end > start ? advance(sampler, thread, position, start, run->end - INSTRUCTION) : 0;
}

static int sample_window(struct csp_trace_sampler *sampler, const struct csp_source *source,
                         const struct csp_windows *list, const struct csp_window *window,
                         uint64_t time)
{
    const struct csp_run *runs = list->runs.data + window->run_first;
    for (uint32_t i = 0; i < window->run_len; i++) {
        const struct csp_run *run = &runs[i];
        struct thread *thread = find_thread(sampler, run->context_id);
        struct position position = {source, run, time};
        if (!i && !window->continues)
            begin_window(sampler, thread);
        if (!i || !csp_run_joins(run - 1, run)) {
            resume(thread, run->start);
            thread->start = run->start;
        }
        int error = sample_run(sampler, thread, &position, csp_run_branches(list, run));
        if (error < 0)
            return error;
        if (i + 1 < window->run_len && csp_run_joins(run, run + 1))
            continue;
        error = cut_rest(sampler, thread, &position);
        if (error < 0)
            return error;
        if (run->how == CSP_RUN_EXCEPTION)
            interrupt(thread, run->return_address);
    }
    return 0;
}

int csp_trace_sampler_windows(void *user, uint32_t source, const struct csp_chunk *chunk,
                              const struct csp_windows *windows)
{
    struct csp_trace_sampler *sampler = user;
    /* Whoever looks up addresses wants the clock of the mappings. The trace may have another, or
     * none. */
    uint64_t time = chunk && chunk->time ? chunk->time : UINT64_MAX;
    for (size_t i = 0; i < windows->windows.len; i++) {
        int error = sample_window(sampler, &sampler->options.input->sources.data[source], windows,
                                  &windows->windows.data[i], time);
        if (error < 0)
            return error;
    }
    return 0;
}

uint64_t csp_trace_sampler_count(const struct csp_trace_sampler *sampler)
{
    return sampler->count;
}

void csp_trace_sampler_destroy(struct csp_trace_sampler *sampler)
{
    if (!sampler)
        return;
    for (size_t i = 0; i < sampler->threads.len; i++) {
        struct thread *thread = &sampler->threads.data[i];
        csp_vec_free(&thread->stack);
        csp_vec_free(&thread->branches);
        for (unsigned k = 0; k < NESTING; k++)
            csp_vec_free(&thread->interrupted[k].stack);
    }
    csp_vec_free(&sampler->threads);
    csp_vec_free(&sampler->chain);
    csp_vec_free(&sampler->newest_first);
    free(sampler);
}
