#include "profgen/lines.h"

#include "profgen/llvm/debug_info.h"
#include "profgen/llvm/names.h"
#include "profgen/program.h"
#include "profgen/recursion.h"

#include <string.h>

uint32_t csp_lines_from_start(const struct csp_inline_frame *frame)
{
    return (frame->line - frame->start_line) & 0xffff;
}

size_t csp_lines_first_named(const struct csp_inline_frame *frames, size_t count)
{
    size_t first = count;
    while (first && *frames[first - 1].function && strcmp(frames[first - 1].function, "<invalid>"))
        first--;
    return first;
}

/* The numbers of frames, innermost first, as a stack: in `ids`, and its length is returned. */
static size_t number_frames(struct csp_program *program, const struct csp_inline_frame *frames,
                            size_t count, uint32_t *ids)
{
    size_t kept = 0;
    for (size_t i = count, first = csp_lines_first_named(frames, count); i > first; i--) {
        const struct csp_inline_frame *frame = &frames[i - 1];
        ids[kept++] = csp_lines_frame(
            &program->lines,
            (struct csp_line_frame){.name = csp_intern_string(&program->names, frame->function),
                                    .line = csp_lines_from_start(frame),
                                    .discriminator = frame->discriminator});
    }
    return kept;
}

/* The number of a stack of `lines.stacks`. */
static uint32_t number_stack(struct csp_program *program, const struct csp_inline_frame *frames,
                             size_t count)
{
    uint32_t *ids = csp_malloc((count + 1) * sizeof *ids);
    size_t kept = number_frames(program, frames, count, ids);
    uint32_t stack = csp_intern(&program->lines.stacks, ids, kept * sizeof *ids);
    free(ids);
    return stack;
}

static size_t stack_at(const struct csp_lines *lines, uint32_t stack, const uint32_t **frames)
{
    const struct csp_intern_entry *entry = &lines->stacks.entries.data[stack];
    *frames = entry->data;
    return entry->size / sizeof **frames;
}

size_t csp_lines_stack(struct csp_program *program, uint64_t address, const uint32_t **frames)
{
    struct csp_lines *lines = &program->lines;
    uint64_t *known = csp_map_at(&lines->by_address, address);
    if (!*known) {
        const struct csp_inline_frame *found;
        size_t count = csp_debug_info_frames(program->debug, address, &found);
        *known = (uint64_t)number_stack(program, found, count) + 1;
    }
    return stack_at(lines, (uint32_t)(*known - 1), frames);
}

const struct csp_line_frame *csp_lines_place(struct csp_program *program, uint64_t address)
{
    const uint32_t *frames;
    size_t count = csp_lines_stack(program, address, &frames);
    return count ? csp_lines_frame_at(&program->lines, frames[count - 1]) : NULL;
}

bool csp_lines_same_inlining(struct csp_program *program, uint64_t a, uint64_t b)
{
    const uint32_t *of_a, *of_b;
    size_t count = csp_lines_stack(program, a, &of_a);
    if (csp_lines_stack(program, b, &of_b) != count || !count)
        return false;
    return !memcmp(of_a, of_b, (count - 1) * sizeof *of_a);
}

uint32_t csp_lines_frame(struct csp_lines *lines, struct csp_line_frame frame)
{
    return csp_intern(&lines->frames, &frame, sizeof frame);
}

const struct csp_line_frame *csp_lines_frame_at(const struct csp_lines *lines, uint32_t frame)
{
    return lines->frames.entries.data[frame].data;
}

uint32_t csp_lines_base(const struct csp_program *program, uint32_t discriminator)
{
    return program->fs_discriminators ? discriminator : csp_discriminator_base(discriminator);
}

static uint32_t with_base(struct csp_program *program, uint32_t frame)
{
    struct csp_line_frame copy = *csp_lines_frame_at(&program->lines, frame);
    copy.discriminator = csp_lines_base(program, copy.discriminator);
    return csp_lines_frame(&program->lines, copy);
}

bool csp_lines_context(struct csp_program *program, const uint64_t *stack, size_t count,
                       int longest, int depth, struct csp_line_context *out)
{
    bool inlined = false;
    out->frames.len = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *frames;
        size_t inline_depth = csp_lines_stack(program, stack[i], &frames);
        if (!inline_depth) {
            out->frames.len = 0;
            return false;
        }
        for (size_t level = 0; level < inline_depth; level++)
            csp_vec_push(&out->frames, with_base(program, frames[level]));
        inlined = inline_depth > 1;
    }
    if (!out->frames.len)
        return false;
    uint64_t *callers = out->frames.data;
    struct csp_line_frame leaf =
        *csp_lines_frame_at(&program->lines, (uint32_t)callers[out->frames.len - 1]);
    leaf.line = leaf.discriminator = 0;
    size_t kept = csp_recursion_compress(callers, out->frames.len - 1, longest);
    if (depth >= 0 && kept > (size_t)depth) {
        memmove(callers, callers + (kept - (size_t)depth), (size_t)depth * sizeof *callers);
        kept = (size_t)depth;
    }
    callers[kept] = csp_lines_frame(&program->lines, leaf);
    out->frames.len = kept + 1;
    return inlined;
}

void csp_lines_free(struct csp_lines *lines)
{
    csp_intern_free(&lines->frames);
    csp_intern_free(&lines->stacks);
    csp_map_free(&lines->by_address);
}
