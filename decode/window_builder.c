#include "decode/window_builder.h"

#include <string.h>

/* All of its members are counts. */
enum { COUNTS = sizeof(struct csp_window_stats) / sizeof(uint64_t) };

void csp_window_stats_add(struct csp_window_stats *sum, const struct csp_window_stats *one)
{
    uint64_t *counts = (uint64_t *)sum;
    for (size_t i = 0; i < COUNTS; i++)
        counts[i] += ((const uint64_t *)one)[i];
}

struct csp_window_stats csp_window_stats_since(const struct csp_window_stats *now,
                                               const struct csp_window_stats *before)
{
    struct csp_window_stats since = *now;
    uint64_t *counts = (uint64_t *)&since;
    for (size_t i = 0; i < COUNTS; i++)
        counts[i] -= ((const uint64_t *)before)[i];
    return since;
}

static struct csp_run *last_run(struct csp_window_builder *builder)
{
    return &builder->out->runs.data[builder->out->runs.len - 1];
}

static void begin_window(struct csp_window_builder *builder, bool enabled, uint64_t offset)
{
    struct csp_window window = {
        .source = builder->source,
        .run_first = (uint32_t)builder->out->runs.len,
        .enabled = enabled,
        .unsure = enabled && offset < builder->doubted,
        .trace_offset = offset,
    };
    csp_vec_push(&builder->out->windows, window);
    builder->in_window = true;
    builder->timestamp = 0;
    builder->unstamped = builder->out->runs.len;
    builder->branches_before = builder->stats.branches;
    builder->stats.windows++;
}

/* The window goes on as another one. */
static void continue_window(struct csp_window_builder *builder)
{
    struct csp_windows *out = builder->out;
    struct csp_window *before = &out->windows.data[out->windows.len - 1];
    uint64_t timestamp = builder->timestamp;
    bool unsure = before->unsure;
    before->goes_on = true;
    begin_window(builder, false, 0);
    out->windows.data[out->windows.len - 1].continues = true;
    out->windows.data[out->windows.len - 1].unsure = unsure;
    builder->timestamp = timestamp;
}

static void begin_run(struct csp_window_builder *builder, uint64_t start)
{
    if (!builder->in_window)
        begin_window(builder, false, 0);
    else if (builder->stats.branches - builder->branches_before >= CSP_WINDOW_BRANCHES_MAX)
        continue_window(builder);
    struct csp_windows *out = builder->out;
    struct csp_run run = {
        .start = start,
        .end = start,
        .first_ts = builder->timestamp,
        .context_id = builder->context_id,
        .el = builder->el,
        .branch_first = (uint32_t)out->branches.len,
    };
    csp_vec_push(&out->runs, run);
    out->windows.data[out->windows.len - 1].run_len++;
    builder->in_run = true;
    builder->from_branch = false;
    builder->start = start;
    builder->stats.runs++;
}

static void end_run(struct csp_window_builder *builder, enum csp_run_end how)
{
    if (!builder->in_run)
        return;
    struct csp_run *run = last_run(builder);
    run->how = (uint8_t)how;
    builder->in_run = false;
    builder->from_branch = false;
}

/* The branch that ended the last range went to `to`, where nothing was executed yet. */
static void take_branch(struct csp_window_builder *builder, uint64_t to)
{
    struct csp_run *run = last_run(builder);
    if (!builder->sums_up)
        csp_windows_add_branch(builder->out, builder->start,
                               &(struct csp_branch){builder->from, to, builder->kind});
    builder->start = to;
    builder->stats.branches++;
    builder->from_branch = false;
    run->branch_len++;
    run->end = to;
}

/* The branches that follow a stretch: the first one is told from where that begins. */
static void take_packed(struct csp_window_builder *builder, const struct csp_element *stretch)
{
    const struct csp_packed_branches *packed = (const void *)(stretch + 1);
    size_t count = CSP_STRETCH_BRANCHES(stretch->number);
    struct csp_windows *out = builder->out;
    if (!count)
        return;
    struct csp_branch_reader reader = {packed->codes, stretch->a};
    const struct csp_branch first = csp_branch_decode(&reader);
    csp_windows_add_branch(out, builder->start, &first);
    csp_vec_reserve(&out->branches, count - 1);
    memcpy(out->branches.data + out->branches.len, packed->codes + 1,
           (count - 1) * sizeof *packed->codes);
    out->branches.len += count - 1;
    builder->start = packed->start;
}

/* One range, or a stretch of them. */
static void add_range(struct csp_window_builder *builder, const struct csp_element *range)
{
    bool is_stretch = range->type == CSP_ELEMENT_STRETCH;
    uint32_t ranges = is_stretch ? CSP_STRETCH_RANGES(range->number) : 1;
    uint32_t branches = is_stretch ? CSP_STRETCH_BRANCHES(range->number) : 0;
    if (builder->in_run && !builder->from_branch && last_run(builder)->end != range->a)
        end_run(builder, CSP_RUN_TRACE_OFF);
    if (!builder->in_run)
        begin_run(builder, range->a);
    if (builder->from_branch)
        take_branch(builder, range->a);
    if (is_stretch && !builder->sums_up)
        take_packed(builder, range);
    struct csp_run *run = last_run(builder);
    run->end = range->b;
    run->instructions += range->instructions;
    run->ranges += ranges;
    run->branch_len += branches;
    builder->from_branch = range->taken;
    builder->from = range->b - range->last_size;
    builder->kind = range->kind;
    builder->stats.ranges += ranges;
    builder->stats.branches += branches;
    builder->stats.instructions += range->instructions;
}

/* Returns where its last code is. */
static csp_branch_code *put_far_branch(csp_branch_code *code, uint64_t from, uint64_t to,
                                       uint32_t kind, uint64_t taken)
{
    if (!taken)
        return code;
    const struct csp_branch branch = {from, to, (enum csp_branch_kind)kind};
    csp_branch_put_far(code, &branch);
    return code + CSP_BRANCH_CODES_MOST - 1;
}

/* Takes ranges that go on where the last one ended, nearly all there are, and returns how many
 * those were. */
static size_t add_ranges(struct csp_window_builder *builder, const struct csp_element *elements,
                         size_t count)
{
    struct csp_windows *out = builder->out;
    csp_vec_reserve(&out->branches, count * CSP_BRANCH_CODES_MOST);
    struct csp_run *run = last_run(builder);
    csp_branch_code *code = out->branches.data + out->branches.len;
    uint64_t end = run->end, from = builder->from, instructions = 0, taken = builder->from_branch;
    uint64_t start = builder->start, far = 0;
    uint32_t kind = builder->kind;
    const struct csp_element *range = elements, *stop = elements + count;
    for (; range != stop && range->type == CSP_ELEMENT_RANGE; range++) {
        if (__builtin_expect((end ^ range->a) & (taken - 1), 0)) /* a gap, and no branch */
            break;
        /* Written whether or not there was a branch: which it is, no processor can predict. */
        uint64_t ran = from - start, distance = range->a - from;
        *code = csp_branch_code_of(ran, distance, kind);
        if (__builtin_expect(csp_branch_is_far(ran, distance) != 0, 0)) {
            code = put_far_branch(code, from, range->a, kind, taken);
            far += taken;
        }
        code += taken;
        start += (range->a - start) & -taken;
        end = range->b;
        instructions += range->instructions;
        taken = range->taken;
        from = end - range->last_size;
        kind = range->kind;
    }
    size_t ranges = (size_t)(range - elements);
    size_t codes = (size_t)(code - out->branches.data) - out->branches.len;
    size_t branches = codes - far * (CSP_BRANCH_CODES_MOST - 1);
    out->branches.len += codes;
    run->end = end;
    run->instructions += instructions;
    run->ranges += (uint32_t)ranges;
    run->branch_len += (uint32_t)branches;
    builder->from_branch = taken;
    builder->from = from;
    builder->start = start;
    builder->kind = (enum csp_branch_kind)kind;
    builder->stats.branches += branches;
    builder->stats.ranges += ranges;
    builder->stats.instructions += instructions;
    return ranges;
}

/* Whether the last run of this window ended in code that could not be followed, with nothing since
 * that could be. */
static bool is_lost(const struct csp_window_builder *builder)
{
    const struct csp_windows *out = builder->out;
    return builder->in_window && !builder->in_run &&
           out->windows.data[out->windows.len - 1].run_len &&
           out->runs.data[out->runs.len - 1].how == CSP_RUN_NO_CODE &&
           !out->runs.data[out->runs.len - 1].return_address;
}

/* Execution goes on at `address` and cannot be followed. */
static void lose_path(struct csp_window_builder *builder, uint64_t address)
{
    if (is_lost(builder))
        return;
    if (!builder->in_run)
        begin_run(builder, address);
    if (builder->from_branch)
        take_branch(builder, address);
    end_run(builder, CSP_RUN_NO_CODE);
}

static void add_exception(struct csp_window_builder *builder, const struct csp_element *exception)
{
    builder->stats.exceptions++;
    bool lost = is_lost(builder);
    if (!builder->in_run && !lost && exception->has_address)
        begin_run(builder, exception->a);
    if (!builder->in_run && !lost)
        return;
    struct csp_run *run = last_run(builder);
    run->exception = exception->number;
    if (exception->has_address)
        run->return_address = exception->a;
    /* An exception at the target of a branch, before its first instruction, returns there. */
    if (builder->in_run && builder->from_branch && exception->has_address)
        take_branch(builder, exception->a);
    end_run(builder, CSP_RUN_EXCEPTION);
}

static void set_context(struct csp_window_builder *builder, const struct csp_element *context)
{
    uint64_t id = builder->untraced_context;
    if (builder->context_field != CSP_CONTEXT_NONE)
        id = builder->context_field == CSP_CONTEXT_ID ? context->a : context->b;
    if (builder->in_run && (id != builder->context_id || context->el != builder->el))
        end_run(builder, CSP_RUN_TRACE_OFF);
    builder->context_id = id;
    builder->el = context->el;
}

static void add_timestamp(struct csp_window_builder *builder, uint64_t timestamp)
{
    struct csp_windows *out = builder->out;
    for (size_t i = builder->unstamped; i < out->runs.len; i++)
        out->runs.data[i].last_ts = timestamp;
    builder->unstamped = out->runs.len - (builder->in_run ? 1 : 0);
    builder->timestamp = timestamp;
}

static void trace_on(struct csp_window_builder *builder, uint64_t offset)
{
    end_run(builder, CSP_RUN_TRACE_OFF);
    if (builder->enabling)
        begin_window(builder, true, offset + builder->offset_shift);
    builder->enabling = false;
    builder->stats.discontinuities++;
}

/* The decoder has to synchronise again; whether the unit was disabled meanwhile is not known. */
static void lose_sync(struct csp_window_builder *builder, enum csp_run_end how)
{
    csp_window_builder_end(builder, how);
    builder->stats.discontinuities++;
}

/* A run that has no end goes on as another, where that does not part a branch from its target. */
static void split_run(struct csp_window_builder *builder, const struct csp_element *next)
{
    bool is_range = next->type == CSP_ELEMENT_RANGE || next->type == CSP_ELEMENT_STRETCH;
    if (!is_range || (!builder->from_branch && last_run(builder)->end != next->a))
        return;
    if (builder->from_branch)
        take_branch(builder, next->a);
    end_run(builder, CSP_RUN_TRACE_OFF);
    begin_run(builder, next->a);
}

void csp_window_builder_add(struct csp_window_builder *builder, const struct csp_element *elements,
                            size_t count)
{
    const struct csp_element *end = elements + count;
    if (count && builder->in_run && last_run(builder)->branch_len >= CSP_RUN_BRANCHES_MAX)
        split_run(builder, elements);
    bool keeps_branches = !builder->sums_up;
    for (const struct csp_element *element = elements; element != end; element++) {
        if (keeps_branches && builder->in_run && element->type == CSP_ELEMENT_RANGE) {
            element += add_ranges(builder, element, (size_t)(end - element));
            if (element == end)
                return;
        }
        switch ((enum csp_element_type)element->type) {
        case CSP_ELEMENT_RANGE:
            add_range(builder, element);
            break;
        case CSP_ELEMENT_STRETCH:
            add_range(builder, element);
            if (keeps_branches)
                element += csp_packed_elements(CSP_STRETCH_BRANCHES(element->number));
            break;
        case CSP_ELEMENT_TRACE_ON:
            trace_on(builder, element->a);
            break;
        case CSP_ELEMENT_SYNC:
            builder->enabling = true;
            break;
        case CSP_ELEMENT_EXCEPTION:
            add_exception(builder, element);
            break;
        case CSP_ELEMENT_CONTEXT:
            set_context(builder, element);
            break;
        case CSP_ELEMENT_TIMESTAMP:
            add_timestamp(builder, element->a);
            break;
        case CSP_ELEMENT_NO_CODE:
            lose_path(builder, element->a);
            builder->stats.unmapped_ranges++;
            break;
        case CSP_ELEMENT_NO_PATH:
            lose_path(builder, element->a);
            builder->stats.unknown_paths++;
            break;
        case CSP_ELEMENT_OVERFLOW:
            builder->stats.overflows++;
            lose_sync(builder, CSP_RUN_OVERFLOW);
            break;
        case CSP_ELEMENT_DISCARD:
            lose_sync(builder, CSP_RUN_TRACE_OFF);
            break;
        case CSP_ELEMENT_BAD:
            lose_sync(builder, CSP_RUN_BAD);
            break;
        case CSP_ELEMENT_EXCEPTION_RETURN:
        case CSP_ELEMENT_OTHER:
            break;
        }
    }
}

void csp_window_builder_end(struct csp_window_builder *builder, enum csp_run_end how)
{
    if (builder->in_window && how != CSP_RUN_TRACE_OFF)
        builder->out->windows.data[builder->out->windows.len - 1].cut = true;
    end_run(builder, how);
    builder->in_window = false;
    builder->enabling = false;
    builder->timestamp = 0;
    builder->unstamped = builder->out->runs.len;
}

void csp_window_builder_doubt(struct csp_window_builder *builder, uint64_t offset)
{
    builder->doubted = offset;
    if (builder->in_window)
        builder->out->windows.data[builder->out->windows.len - 1].unsure = true;
}

size_t csp_window_builder_complete(const struct csp_window_builder *builder)
{
    return builder->out->windows.len - (builder->in_window ? 1 : 0);
}

void csp_window_builder_carry(struct csp_window_builder *builder)
{
    struct csp_windows *out = builder->out;
    if (builder->in_window)
        out->windows.data[out->windows.len - 1].carried = true;
}

void csp_window_builder_move(struct csp_window_builder *builder, struct csp_windows *to)
{
    const struct csp_windows *from = builder->out;
    builder->out = to;
    if (!builder->in_window) {
        builder->unstamped = 0;
        return;
    }
    struct csp_window window = from->windows.data[from->windows.len - 1];
    uint32_t run_first = window.run_first, branch_first = 0;
    if (window.run_len)
        branch_first = from->runs.data[run_first].branch_first;
    size_t branches = window.run_len ? from->branches.len - branch_first : 0;
    window.run_first = 0;
    csp_vec_push(&to->windows, window);
    for (uint32_t i = 0; i < window.run_len; i++) {
        csp_vec_push(&to->runs, from->runs.data[run_first + i]);
        to->runs.data[i].branch_first -= branch_first;
    }
    csp_vec_reserve(&to->branches, branches);
    if (branches)
        memcpy(to->branches.data, from->branches.data + branch_first,
               branches * sizeof *to->branches.data);
    to->branches.len = branches;
    builder->unstamped -= run_first;
}

void csp_window_builder_clear(struct csp_window_builder *builder)
{
    builder->out->windows.len = 0;
    builder->out->runs.len = 0;
    builder->out->branches.len = 0;
    builder->unstamped = 0;
}
