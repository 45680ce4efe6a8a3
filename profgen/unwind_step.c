#include "profgen/unwind_step.h"

/* No frame: what a return to an address without a call leaves in llvm-profgen's stack. */
#define NO_FRAME UINT64_C(0)

static const struct csp_pair *call_of(const struct csp_unwinder *unwinder, uint32_t stack)
{
    return &unwinder->calls.list.data[stack - CSP_STACK_FIRST];
}

static uint32_t caller_of(const struct csp_unwinder *unwinder, uint32_t stack)
{
    return (uint32_t)call_of(unwinder, stack)->first;
}

/* Puts the calls of a stack after its last external frame into the scratch array, root first. */
static void gather_calls(struct csp_unwinder *unwinder, uint32_t stack)
{
    size_t count = 0;
    for (uint32_t up = stack; up >= CSP_STACK_FIRST; up = caller_of(unwinder, up)) {
        uint64_t call = call_of(unwinder, up)->second;
        if (call == CSP_EXTERNAL)
            break;
        count += call != NO_FRAME;
    }
    unwinder->scratch.len = 0;
    csp_vec_reserve(&unwinder->scratch, count + 1);
    unwinder->scratch.len = count;
    for (uint32_t up = stack; count; up = caller_of(unwinder, up)) {
        uint64_t call = call_of(unwinder, up)->second;
        if (call != NO_FRAME)
            unwinder->scratch.data[--count] = call;
    }
}

static uint32_t make_line_context(struct csp_unwinder *unwinder, uint32_t stack, uint64_t leaf)
{
    const struct csp_unwind_options *options = unwinder->options;
    unwinder->scratch.len = 0;
    if (leaf != CSP_EXTERNAL)
        gather_calls(unwinder, stack);
    if (leaf != CSP_EXTERNAL && leaf != NO_FRAME)
        csp_vec_push(&unwinder->scratch, leaf);
    bool inlined = csp_lines_context(unwinder->program, unwinder->scratch.data,
                                     unwinder->scratch.len, options->compress_recursion,
                                     options->max_context_depth, &unwinder->line_context);
    uint32_t context = csp_counters_context(unwinder->counters, unwinder->line_context.frames.data,
                                            unwinder->line_context.frames.len);
    if (!inlined)
        *csp_map_at(&unwinder->counters->called_contexts, context) = 1;
    return context;
}

/* The calls that make a context are without recursion. */
static uint32_t make_frame(struct csp_unwinder *unwinder, uint32_t stack)
{
    gather_calls(unwinder, stack);
    size_t count = unwinder->scratch.len;
    uint64_t *calls = unwinder->scratch.data;
    if (csp_repeats_any(&unwinder->repeats, calls, count))
        count = csp_recursion_compress(calls, count, unwinder->options->compress_recursion);
    int most = unwinder->options->max_context_depth;
    if (most >= 0 && count > (size_t)most) {
        calls += count - (size_t)most;
        count = (size_t)most;
    }
    return csp_counters_frame(unwinder->counters, calls, count);
}

/* Whether a call is among those of a stack after its last external frame. */
static bool has_call(const struct csp_unwinder *unwinder, uint32_t stack, uint64_t call)
{
    for (uint32_t up = stack; up >= CSP_STACK_FIRST; up = caller_of(unwinder, up)) {
        uint64_t other = call_of(unwinder, up)->second;
        if (other == call || other == CSP_EXTERNAL)
            return other == call;
    }
    return false;
}

/* A call that is not among its callers repeats nothing: without recursion, its stack is the
 * caller's without recursion and that call. */
static uint32_t make_frame_in(struct csp_unwinder *unwinder, uint32_t stack, uint32_t caller_frame)
{
    uint32_t caller = caller_of(unwinder, stack);
    uint64_t call = call_of(unwinder, stack)->second;
    if (call == CSP_EXTERNAL)
        return 0;
    if (call == NO_FRAME)
        return caller_frame;
    if (has_call(unwinder, caller, call))
        return make_frame(unwinder, stack);
    return csp_counters_frame_in(unwinder->counters, caller_frame, call);
}

/* The frame of a stack, and of all its callers that were not asked for before. Where callers are
 * cut off, their own frames are no part of any context, and are not made. */
static uint32_t frame_of(struct csp_unwinder *unwinder, uint32_t stack)
{
    struct csp_stack_context *contexts = unwinder->contexts.data;
    uint32_t up = stack, frame = 0;
    unwinder->pending.len = 0;
    if (unwinder->options->max_context_depth >= 0)
        return make_frame(unwinder, stack);
    while (up >= CSP_STACK_FIRST && contexts[up].frame == UINT32_MAX) {
        csp_vec_push(&unwinder->pending, up);
        up = call_of(unwinder, up)->second == CSP_EXTERNAL ? 0 : caller_of(unwinder, up);
    }
    if (up >= CSP_STACK_FIRST)
        frame = contexts[up].frame;
    while (unwinder->pending.len) {
        up = unwinder->pending.data[--unwinder->pending.len];
        contexts[up].frame = frame = make_frame_in(unwinder, up, frame);
    }
    return frame;
}

static uint32_t line_context_of(struct csp_unwinder *unwinder, uint32_t stack, uint64_t leaf)
{
    uint32_t id = csp_pairs_at(&unwinder->leaves, stack, leaf);
    if (id == unwinder->leaf_contexts.len)
        csp_vec_push(&unwinder->leaf_contexts, make_line_context(unwinder, stack, leaf));
    return unwinder->leaf_contexts.data[id];
}

static uint32_t context_of(struct csp_unwinder *unwinder, uint32_t stack, uint64_t leaf)
{
    if (unwinder->lines)
        return line_context_of(unwinder, stack, leaf);
    while (unwinder->contexts.len <= stack)
        csp_vec_push(&unwinder->contexts, (struct csp_stack_context){.frame = UINT32_MAX});
    struct csp_stack_context *known = &unwinder->contexts.data[stack];
    if (!known->context)
        known->context = csp_counters_context_at(unwinder->counters, frame_of(unwinder, stack)) + 1;
    return known->context - 1;
}

static void add_range(struct csp_unwinder *unwinder, uint32_t context, uint64_t from, uint64_t to,
                      uint64_t count)
{
    uint32_t range = csp_counters_span(&unwinder->counters->ranges, from, to);
    csp_counter_log_add(&unwinder->ranges, context, range, count);
}

/* Cuts a range where inlining changes, from its end to its start. */
static void count_line_ranges(struct csp_unwinder *unwinder, uint32_t stack, uint64_t from,
                              uint64_t to, uint64_t count)
{
    for (uint64_t at = to; at > from;) {
        uint64_t before = csp_code_before(&unwinder->program->code, at);
        if (!csp_lines_same_inlining(unwinder->program, at, before)) {
            add_range(unwinder, context_of(unwinder, stack, at), at, to, count);
            to = before;
        }
        at = before;
    }
    add_range(unwinder, context_of(unwinder, stack, from), from, to, count);
}

static void count_range(struct csp_unwinder *unwinder, uint32_t stack, uint64_t from, uint64_t to,
                        uint64_t count)
{
    if (unwinder->lines)
        count_line_ranges(unwinder, stack, from, to, count);
    else
        add_range(unwinder, context_of(unwinder, stack, from), from, to, count);
}

/* What the straight run from where a branch went to where the next newer one left is. */
enum run { RUN_NONE, RUN_EXTERNAL, RUN_HALF_EXTERNAL, RUN_IMPOSSIBLE, RUN_COUNTS };

static enum run judge_run(const struct csp_unwinder *unwinder, const struct csp_unwind_step *step)
{
    uint64_t from = step->to, to = step->newer_from;
    if (!to)
        return RUN_NONE;
    if (from == CSP_EXTERNAL && to == CSP_EXTERNAL)
        return RUN_EXTERNAL;
    if (from == CSP_EXTERNAL || to == CSP_EXTERNAL)
        return RUN_HALF_EXTERNAL;
    bool possible =
        csp_code_falls_through(&unwinder->program->code, from, to, unwinder->options->compat);
    return possible ? RUN_COUNTS : RUN_IMPOSSIBLE;
}

static enum csp_branch_kind kind_of(const struct csp_program *program, uint64_t from, uint64_t to)
{
    uint8_t flags = csp_code_flags(&program->code, from);
    if (flags & CSP_CODE_CALL)
        return CSP_BRANCH_CALL;
    if (flags & CSP_CODE_RETURN)
        return CSP_BRANCH_RETURN;
    if (from != CSP_EXTERNAL)
        return CSP_BRANCH_DIRECT;
    return csp_program_call_before(program, to) ? CSP_BRANCH_RETURN : CSP_BRANCH_CALL;
}

/* The frame that a return leaves: the call that it returns behind. */
static uint64_t returned_frame(const struct csp_unwinder *unwinder, uint64_t to)
{
    uint64_t call = csp_program_call_before(unwinder->program, to);
    return call || unwinder->options->compat ? call : CSP_EXTERNAL;
}

static struct csp_unwind_run *run_of(struct csp_unwinder *unwinder,
                                     const struct csp_unwind_step *step)
{
    while (unwinder->runs.len <= step->run)
        csp_vec_push(&unwinder->runs, (struct csp_unwind_run){0});
    struct csp_unwind_run *run = &unwinder->runs.data[step->run];
    if (run->known)
        return run;
    run->known = true;
    run->judged = judge_run(unwinder, step);
    run->kind = kind_of(unwinder->program, step->from, step->to);
    if (run->kind == CSP_BRANCH_RETURN) {
        run->returned = returned_frame(unwinder, step->to);
        run->returns_to_no_call = !csp_program_call_before(unwinder->program, step->to);
    }
    return run;
}

static bool is_call_of(const struct csp_unwinder *unwinder, uint32_t stack, uint64_t from)
{
    return stack >= CSP_STACK_FIRST && call_of(unwinder, stack)->second == from;
}

static bool is_lost(enum run run)
{
    return run == RUN_HALF_EXTERNAL || run == RUN_IMPOSSIBLE;
}

uint32_t csp_unwinder_undo(struct csp_unwinder *unwinder, const struct csp_unwind_step *step)
{
    if (unwinder->flat)
        return CSP_STACK_EMPTY;
    const struct csp_unwind_run *run = run_of(unwinder, step);
    if (step->stack == CSP_STACK_LOST || is_lost(run->judged))
        return CSP_STACK_LOST;
    switch (run->kind) {
    case CSP_BRANCH_CALL:
        /* Else the caller's frame was not in the callchain (the callee had not set up its own). */
        if (is_call_of(unwinder, step->stack, step->from))
            return caller_of(unwinder, step->stack);
        return step->stack;
    case CSP_BRANCH_RETURN:
        return csp_unwinder_call(unwinder, step->stack, run->returned);
    default:
        return step->stack;
    }
}

bool csp_unwinder_is_odd(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                         bool newest)
{
    const struct csp_unwind_run *run = run_of(unwinder, step);
    if (is_lost(run->judged) || (run->judged == RUN_NONE) != newest)
        return true;
    return !unwinder->flat &&
           (run->returns_to_no_call ||
            (run->kind == CSP_BRANCH_CALL && !is_call_of(unwinder, step->stack, step->from)));
}

static void count_known_range(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                              struct csp_unwind_run *run, uint64_t count)
{
    struct csp_counter_table *ranges = &unwinder->counters->ranges;
    if (unwinder->lines) {
        count_line_ranges(unwinder, step->stack, step->to, step->newer_from, count);
        return;
    }
    if (!run->range_known)
        run->range = csp_counters_span(ranges, step->to, step->newer_from);
    run->range_known = true;
    csp_counter_log_add(&unwinder->ranges, context_of(unwinder, step->stack, step->to), run->range,
                        count);
}

static void count_run(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                      struct csp_unwind_run *run, uint64_t count)
{
    struct csp_unwind_stats *stats = unwinder->stats;
    uint64_t *const kinds[] = {
        [RUN_EXTERNAL] = &stats->ranges_external,
        [RUN_HALF_EXTERNAL] = &stats->ranges_half_external,
        [RUN_IMPOSSIBLE] = &stats->ranges_impossible,
        [RUN_COUNTS] = &stats->ranges_counted,
    };
    if (run->judged == RUN_NONE)
        return;
    stats->ranges += count;
    *kinds[run->judged] += count;
    if (run->judged == RUN_COUNTS)
        count_known_range(unwinder, step, run, count);
}

static void count_surprises(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                            const struct csp_unwind_run *run, uint64_t count)
{
    if (run->kind == CSP_BRANCH_CALL && step->stack >= CSP_STACK_FIRST &&
        !is_call_of(unwinder, step->stack, step->from))
        unwinder->stats->calls_off_chain += count;
    if (run->returns_to_no_call)
        unwinder->stats->returns_to_no_call += count;
}

void csp_unwinder_count(struct csp_unwinder *unwinder, const struct csp_unwind_step *step,
                        uint32_t before, uint64_t count)
{
    struct csp_counter_table *branches = &unwinder->counters->branches;
    struct csp_unwind_run *run = run_of(unwinder, step);
    count_run(unwinder, step, run, count);
    if (!unwinder->flat && before != CSP_STACK_LOST)
        count_surprises(unwinder, step, run, count);
    unwinder->stats->branches += count;
    /* llvm-profgen gives calls out of the binary a count of 0 by contexts, but not without. */
    if (step->to == CSP_EXTERNAL && unwinder->options->compat)
        return;
    uint32_t context = step->from == CSP_EXTERNAL
                           ? csp_counters_context(unwinder->counters, NULL, 0)
                           : context_of(unwinder, before, step->from);
    if (!run->branch_known)
        run->branch = csp_counters_span(branches, step->from, step->to);
    run->branch_known = true;
    csp_counter_log_add(&unwinder->branches, context, run->branch, count);
}

void csp_unwinder_partial(struct csp_unwinder *unwinder, uint32_t stack, uint64_t from,
                          uint64_t last, uint64_t count)
{
    if (!last || !csp_code_falls_through(&unwinder->program->code, from, last, false)) {
        unwinder->stats->partial_ranges_impossible += count;
        return;
    }
    unwinder->stats->partial_ranges += count;
    count_range(unwinder, stack, from, last, count);
}

void csp_unwinder_free(struct csp_unwinder *unwinder)
{
    csp_pairs_free(&unwinder->calls);
    csp_vec_free(&unwinder->runs);
    csp_vec_free(&unwinder->contexts);
    csp_pairs_free(&unwinder->leaves);
    csp_vec_free(&unwinder->leaf_contexts);
    csp_vec_free(&unwinder->scratch);
    csp_vec_free(&unwinder->pending);
    csp_vec_free(&unwinder->ranges.list);
    csp_vec_free(&unwinder->branches.list);
    csp_repeats_free(&unwinder->repeats);
    csp_vec_free(&unwinder->line_context.frames);
}
