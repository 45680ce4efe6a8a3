#include "profgen/generate.h"

#include "base/alloc.h"
#include "profgen/disjoint.h"
#include "profgen/lines.h"
#include "profgen/llvm/names.h"

#include <string.h>

/* What running an instruction `count` times says of its line. The compiler asks how often a line
 * ran, so of the instructions of a line that with the largest count tells; and where unrolling made
 * copies of the line, each has only its share. */
static void raise_line(struct csp_program *program, struct csp_context_tree *tree, uint32_t node,
                       const struct csp_line_frame *place, uint64_t count)
{
    if (!program->fs_discriminators)
        count *= csp_discriminator_factor(place->discriminator);
    csp_context_raise(tree, node, place->line, csp_lines_base(program, place->discriminator),
                      count);
}

/* The tree node of a context; its last frame is the function itself. */
static uint32_t context_node(const struct csp_program *program, struct csp_context_tree *tree,
                             const uint64_t *frames, size_t count)
{
    uint32_t node = CSP_PROFILE_TOP, line = 0, discriminator = 0;
    for (size_t i = 0; i < count; i++) {
        const struct csp_line_frame *frame =
            csp_lines_frame_at(&program->lines, (uint32_t)frames[i]);
        node = csp_context_child(tree, node, line, discriminator, frame->name);
        line = frame->line;
        discriminator = frame->discriminator;
    }
    tree->nodes.data[node].counted = true;
    return node;
}

static void count_ranges(struct csp_program *program, struct csp_context_tree *tree, uint32_t node,
                         const struct csp_counter *ranges, size_t count, struct csp_spans *spans)
{
    csp_disjoint(ranges, count, spans);
    for (size_t i = 0; i < spans->spans.len; i++) {
        const struct csp_span *span = &spans->spans.data[i];
        if (!span->count)
            continue;
        for (uint64_t at = csp_code_from(&program->code, span->from); at && at <= span->to;
             at = csp_code_from(&program->code, at + 1)) {
            const struct csp_line_frame *place = csp_lines_place(program, at);
            if (!place)
                continue;
            raise_line(program, tree, node, place, span->count);
            tree->nodes.data[node].total += span->count;
        }
    }
}

/* Calls: the target at the call's line, and the callee's entries. */
static void count_branches(struct csp_program *program, struct csp_context_tree *tree,
                           uint32_t node, const struct csp_counter *branches, size_t count,
                           bool compat)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t callee = csp_program_callee_name(program, branches[i].to);
        if (callee == CSP_INTERN_NONE)
            continue;
        uint32_t line = 0, discriminator = 0;
        const struct csp_line_frame *place =
            node == CSP_PROFILE_TOP ? NULL : csp_lines_place(program, branches[i].from);
        if (place) {
            uint32_t base = csp_lines_base(program, place->discriminator);
            csp_context_add(tree, node, place->line, base, callee, branches[i].count);
            line = place->line;
            /* llvm-profgen puts the callee where no context has it. */
            discriminator = compat ? place->discriminator : base;
        }
        uint32_t called = csp_context_child(tree, node, line, discriminator, callee);
        tree->nodes.data[called].counted = true;
        tree->nodes.data[called].head += branches[i].count;
    }
}

/* The first line of a function that has a count. */
struct first_line {
    uint64_t key; /* line, then discriminator */
    bool known;
};

static void note_line(struct first_line *first, uint32_t line, uint32_t discriminator)
{
    uint64_t key = (uint64_t)line << 32 | discriminator;
    if (!first->known || key < first->key)
        first->key = key;
    first->known = true;
}

static void note_lines(struct first_line *first, const struct csp_context_tree *tree,
                       const struct csp_context_list *list)
{
    for (struct csp_context_walk walk = csp_context_walk_begin(tree, list); walk.at;
         csp_context_walk_step(tree, &walk)) {
        const struct csp_context_place place =
            csp_context_place_at(tree, tree->counts.data[walk.at - 1].place);
        note_line(first, place.probe, place.discriminator);
    }
}

/* No branch goes into an inlined function: how often it was entered is taken from its first line
 * and counted at its callsite. Children have larger numbers than their parents. */
static void infer_inlined_calls(struct csp_context_tree *tree)
{
    struct first_line *first = csp_calloc(tree->nodes.len + 1, sizeof *first);
    for (size_t i = 0; i < tree->nodes.len; i++)
        for (int kind = 0; kind < CSP_LISTS; kind++)
            note_lines(&first[i], tree, &tree->nodes.data[i].lists[kind]);
    for (size_t i = tree->nodes.len; i; i--) {
        uint32_t id = (uint32_t)(i - 1);
        struct csp_context_node *node = &tree->nodes.data[id];
        if (!node->counted || node->head || node->parent == CSP_PROFILE_TOP)
            continue;
        uint64_t count = 0;
        if (first[id].known)
            count = csp_context_count_at(tree, id, (uint32_t)(first[id].key >> 32),
                                         (uint32_t)first[id].key);
        if (!count)
            count = node->total || !first[id].known;
        struct csp_context_node *parent = &tree->nodes.data[node->parent];
        parent->counted = true;
        parent->total += count;
        const struct csp_context_place edge = csp_context_place_at(tree, node->edge);
        csp_context_add_at(tree, node->parent, node->edge, count);
        csp_context_add(tree, node->parent, edge.probe, edge.discriminator, CSP_INTERN_NONE, count);
        note_line(&first[node->parent], edge.probe, edge.discriminator);
    }
    free(first);
}

static size_t same_context(const struct csp_counter *counters, size_t first, size_t count,
                           uint32_t context)
{
    size_t end = first;
    while (end < count && counters[end].context == context)
        end++;
    return end - first;
}

void csp_generate_line_contexts(struct csp_program *program, const struct csp_counters *counters,
                                bool compat, struct csp_context_tree *tree)
{
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    struct csp_spans spans = {0};
    csp_calls frames = {0};
    tree->indexed = true;
    size_t range = 0, branch = 0;
    for (uint32_t context = 0; context < counters->contexts.len; context++) {
        size_t range_len = same_context(ranges, range, counters->ranges.counts.len, context);
        size_t branch_len = same_context(branches, branch, counters->branches.counts.len, context);
        csp_counters_calls(counters, context, &frames);
        uint32_t node = CSP_PROFILE_TOP;
        if (frames.len && (range_len || branch_len)) {
            node = context_node(program, tree, frames.data, frames.len);
            tree->nodes.data[node].attributes =
                csp_map_find(&counters->called_contexts, context) ? 0 : CSP_PROFILE_WAS_INLINED;
            count_ranges(program, tree, node, ranges + range, range_len, &spans);
        }
        count_branches(program, tree, node, branches + branch, branch_len, compat);
        range += range_len;
        branch += branch_len;
    }
    infer_inlined_calls(tree);
    csp_context_end_index(tree);
    csp_vec_free(&frames);
    csp_spans_free(&spans);
    free(ranges);
    free(branches);
}

/* The node of an instruction in the tree of inlining, with `bytes` added all the way down. */
static uint32_t inline_node(struct csp_program *program, struct csp_context_tree *tree,
                            const uint32_t *frames, size_t count, uint64_t weight)
{
    uint32_t node = CSP_PROFILE_TOP, line = 0, discriminator = 0;
    for (size_t i = 0; i < count; i++) {
        const struct csp_line_frame *frame = csp_lines_frame_at(&program->lines, frames[i]);
        node = csp_context_child(tree, node, line, discriminator, frame->name);
        tree->nodes.data[node].counted = true;
        tree->nodes.data[node].total += weight;
        line = frame->line;
        discriminator = csp_lines_base(program, frame->discriminator);
    }
    return node;
}

static void count_span(struct csp_program *program, struct csp_context_tree *tree,
                       const struct csp_span *span)
{
    for (uint64_t at = csp_code_from(&program->code, span->from); at && at <= span->to;
         at = csp_code_from(&program->code, at + 1)) {
        const uint32_t *frames;
        size_t depth = csp_lines_stack(program, at, &frames);
        if (!depth)
            continue;
        /* The compiler's thresholds are tuned to totals that weigh instructions by their size. */
        uint64_t weight = span->count * csp_code_size(&program->code, at);
        uint32_t node = inline_node(program, tree, frames, depth, weight);
        raise_line(program, tree, node, csp_lines_frame_at(&program->lines, frames[depth - 1]),
                   span->count);
    }
}

static void count_calls(struct csp_program *program, struct csp_context_tree *tree,
                        const struct csp_counter *branches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t callee = csp_program_callee_name(program, branches[i].to);
        if (callee == CSP_INTERN_NONE)
            continue;
        const uint32_t *frames;
        size_t depth = csp_lines_stack(program, branches[i].from, &frames);
        if (depth) {
            const struct csp_line_frame *place =
                csp_lines_frame_at(&program->lines, frames[depth - 1]);
            uint32_t node = inline_node(program, tree, frames, depth, 0);
            csp_context_add(tree, node, place->line, csp_lines_base(program, place->discriminator),
                            callee, branches[i].count);
        }
        uint32_t called = csp_context_child(tree, CSP_PROFILE_TOP, 0, 0, callee);
        tree->nodes.data[called].counted = true;
        tree->nodes.data[called].head += branches[i].count;
    }
}

void csp_generate_line_flat(struct csp_program *program, const struct csp_counters *counters,
                            bool all_functions, struct csp_context_tree *tree)
{
    struct csp_counter *ranges = csp_counters_sorted(&counters->ranges);
    struct csp_counter *branches = csp_counters_sorted(&counters->branches);
    struct csp_spans spans = {0};
    tree->indexed = true;
    csp_disjoint_in_functions(program, ranges, counters->ranges.counts.len, all_functions, &spans);
    for (size_t i = 0; i < spans.spans.len; i++)
        count_span(program, tree, &spans.spans.data[i]);
    count_calls(program, tree, branches, counters->branches.counts.len);
    csp_context_end_index(tree);
    csp_spans_free(&spans);
    free(ranges);
    free(branches);
}

void csp_generate_line_types(struct csp_program *program, const struct csp_data_accesses *accesses,
                             struct csp_context_tree *tree)
{
    for (size_t i = 0; i < accesses->counts.len; i++) {
        const struct csp_data_access *access = accesses->keys.entries.data[i].data;
        const uint32_t *frames;
        size_t depth = csp_lines_stack(program, access->address, &frames);
        if (!depth)
            continue;
        const struct csp_line_frame *place = csp_lines_frame_at(&program->lines, frames[depth - 1]);
        uint32_t base = csp_lines_base(program, place->discriminator);
        uint32_t node = inline_node(program, tree, frames, depth, 0);
        csp_context_add_type(tree, node, place->line, base, access->table,
                             accesses->counts.data[i]);
    }
}
