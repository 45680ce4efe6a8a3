#include "profgen/unwind_step.h"

#include "profgen/recursion.h"

/* No frame: what a return to an address without a call leaves in llvm-profgen's stack. */
#define NO_FRAME UINT64_C(0)

/* Of the addresses in the scratch array. */
static uint32_t make_line_context(struct csp_unwinder *unwinder)
{
    const struct csp_unwind_options *options = unwinder->options;
    bool inlined = csp_lines_context(unwinder->program, unwinder->scratch.data,
                                     unwinder->scratch.len, options->compress_recursion,
                                     options->max_context_depth, &unwinder->line_context);
    uint32_t context = csp_counters_context(unwinder->counters, unwinder->line_context.frames.data,
                                            unwinder->line_context.frames.len);
    if (!inlined)
        *csp_map_at(&unwinder->counters->called_contexts, context) = 1;
    return context;
}

/* The calls that make a context: those after the last external frame, without recursion. */
static uint32_t make_context(struct csp_unwinder *unwinder, size_t depth)
{
    const uint64_t *stack = unwinder->stack.data;
    size_t first = depth;
    while (first && stack[first - 1] != CSP_EXTERNAL)
        first--;
    unwinder->scratch.len = 0;
    for (size_t i = first; i < depth; i++)
        if (stack[i] != NO_FRAME)
            csp_vec_push(&unwinder->scratch, stack[i]);
    if (unwinder->lines)
        return make_line_context(unwinder);
    size_t count = unwinder->scratch.len;
    uint64_t *calls = unwinder->scratch.data;
    count = csp_recursion_compress(calls, count, unwinder->options->compress_recursion);
    int most = unwinder->options->max_context_depth;
    if (most >= 0 && count > (size_t)most) {
        calls += count - (size_t)most;
        count = (size_t)most;
    }
    return csp_counters_context(unwinder->counters, calls, count);
}

static uint32_t current_context(struct csp_unwinder *unwinder)
{
    if (unwinder->context != CSP_NO_CONTEXT)
        return unwinder->context;
    size_t depth = unwinder->stack.len - !unwinder->lines;
    uint32_t id = csp_intern(&unwinder->stacks, depth ? (const void *)unwinder->stack.data : "",
                             depth * sizeof *unwinder->stack.data);
    if (id == unwinder->contexts.len)
        csp_vec_push(&unwinder->contexts, make_context(unwinder, depth));
    unwinder->context = unwinder->contexts.data[id];
    return unwinder->context;
}

static void set_leaf(struct csp_unwinder *unwinder, uint64_t address)
{
    unwinder->stack.data[unwinder->stack.len - 1] = address;
    if (unwinder->lines)
        unwinder->context = CSP_NO_CONTEXT;
}

void csp_unwinder_push(struct csp_unwinder *unwinder, uint64_t address)
{
    csp_vec_push(&unwinder->stack, address);
    unwinder->context = CSP_NO_CONTEXT;
}

static void pop(struct csp_unwinder *unwinder)
{
    unwinder->stack.len--;
    unwinder->context = CSP_NO_CONTEXT;
}

/* Cuts a range where inlining changes, from its end to its start, and leaves the leaf there. */
static void count_line_ranges(struct csp_unwinder *unwinder, uint64_t from, uint64_t to)
{
    struct csp_counter_table *ranges = &unwinder->counters->ranges;
    for (uint64_t at = to; at > from;) {
        uint64_t before = csp_code_before(&unwinder->program->code, at);
        if (!csp_lines_same_inlining(unwinder->program, at, before)) {
            set_leaf(unwinder, at);
            csp_counters_add(ranges, current_context(unwinder), at, to, unwinder->count);
            to = before;
        }
        at = before;
    }
    set_leaf(unwinder, from);
    csp_counters_add(ranges, current_context(unwinder), from, to, unwinder->count);
}

static void count_range(struct csp_unwinder *unwinder, uint64_t from, uint64_t to)
{
    if (unwinder->lines) {
        count_line_ranges(unwinder, from, to);
        return;
    }
    csp_counters_add(&unwinder->counters->ranges, current_context(unwinder), from, to,
                     unwinder->count);
}

/* The straight run from where a branch went to where the next newer one left. */
static void unwind_linear(struct csp_unwinder *unwinder, uint64_t from, uint64_t to)
{
    struct csp_unwind_stats *stats = unwinder->stats;
    stats->ranges += unwinder->count;
    if (from == CSP_EXTERNAL && to == CSP_EXTERNAL) {
        stats->ranges_external += unwinder->count;
    } else if (from == CSP_EXTERNAL || to == CSP_EXTERNAL) {
        stats->ranges_half_external += unwinder->count;
        unwinder->lost = true;
    } else if (!csp_code_falls_through(&unwinder->program->code, from, to,
                                       unwinder->options->compat)) {
        stats->ranges_impossible += unwinder->count;
        unwinder->lost = true;
    } else {
        stats->ranges_counted += unwinder->count;
        count_range(unwinder, from, to);
    }
}

static void unwind_call(struct csp_unwinder *unwinder, uint64_t from)
{
    size_t depth = unwinder->stack.len;
    if (depth > 1 && unwinder->stack.data[depth - 2] == from) {
        pop(unwinder);
        return;
    }
    /* The caller's frame was not in the callchain (the callee had not set up its own yet). */
    if (depth > 1)
        unwinder->stats->calls_off_chain += unwinder->count;
    set_leaf(unwinder, from);
}

static void unwind_return(struct csp_unwinder *unwinder, uint64_t from, uint64_t to)
{
    uint64_t call = csp_program_call_before(unwinder->program, to);
    if (!call) {
        unwinder->stats->returns_to_no_call += unwinder->count;
        if (!unwinder->options->compat)
            call = CSP_EXTERNAL;
    }
    set_leaf(unwinder, call);
    csp_unwinder_push(unwinder, from);
}

static void forget_callers(struct csp_unwinder *unwinder, uint64_t address)
{
    unwinder->stack.len = 0;
    csp_unwinder_push(unwinder, address);
}

static void unwind_branch(struct csp_unwinder *unwinder, uint64_t from, uint64_t to)
{
    const struct csp_program *program = unwinder->program;
    uint8_t flags = csp_code_flags(&program->code, from);
    if (unwinder->lost)
        forget_callers(unwinder, from);
    else if (flags & CSP_CODE_CALL)
        unwind_call(unwinder, from);
    else if (flags & CSP_CODE_RETURN)
        unwind_return(unwinder, from, to);
    else if (from != CSP_EXTERNAL)
        set_leaf(unwinder, from);
    else if (csp_program_call_before(program, to))
        unwind_return(unwinder, from, to);
    else
        unwind_call(unwinder, from);
}

static void count_branch(struct csp_unwinder *unwinder, uint64_t from, uint64_t to)
{
    unwinder->stats->branches += unwinder->count;
    /* llvm-profgen gives calls out of the binary a count of 0 by contexts, but not without. */
    if (to == CSP_EXTERNAL && unwinder->options->compat)
        return;
    uint32_t context = from == CSP_EXTERNAL ? csp_counters_context(unwinder->counters, NULL, 0)
                                            : current_context(unwinder);
    csp_counters_add(&unwinder->counters->branches, context, from, to, unwinder->count);
}

void csp_unwinder_partial(struct csp_unwinder *unwinder, uint64_t from, uint64_t last)
{
    if (!last || !csp_code_falls_through(&unwinder->program->code, from, last, false)) {
        unwinder->stats->partial_ranges_impossible += unwinder->count;
        return;
    }
    unwinder->stats->partial_ranges += unwinder->count;
    count_range(unwinder, from, last);
}

void csp_unwinder_step(struct csp_unwinder *unwinder, uint64_t newer_from, uint64_t from,
                       uint64_t to)
{
    if (newer_from)
        unwind_linear(unwinder, to, newer_from);
    if (unwinder->flat)
        unwinder->lost = false;
    else
        unwind_branch(unwinder, from, to);
    count_branch(unwinder, from, to);
}

void csp_unwinder_free(struct csp_unwinder *unwinder)
{
    csp_vec_free(&unwinder->stack);
    csp_vec_free(&unwinder->scratch);
    csp_vec_free(&unwinder->line_context.frames);
    csp_vec_free(&unwinder->contexts);
    csp_intern_free(&unwinder->stacks);
}
