/* Where each instruction is in the source, by DWARF: the functions it was inlined through. A place
 * is a line relative to the start of its function, and the discriminator that tells the blocks of a
 * line apart. */
#ifndef CSP_PROFGEN_LINES_H
#define CSP_PROFGEN_LINES_H

#include "base/intern.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_program;
struct csp_inline_frame;

struct csp_line_frame {
    uint32_t name; /* in the binary's names */
    uint32_t line; /* from the function's start, 16 bits of it: what the compiler compares */
    uint32_t discriminator;
};

/* The line of a frame of the debug information, as above. */
uint32_t csp_lines_from_start(const struct csp_inline_frame *frame);
/* A function without a name ends what is known of a stack, from the outside in: which of the
 * frames, innermost first, is the first of those that are left. */
size_t csp_lines_first_named(const struct csp_inline_frame *frames, size_t count);

struct csp_lines {
    struct csp_intern frames; /* struct csp_line_frame */
    struct csp_intern stacks; /* arrays of frame numbers (uint32_t), outermost first */
    struct csp_map by_address;
};

/* The inline stack of an instruction, outermost function first, as frame numbers; the last is the
 * instruction's own place. Returns how many frames there are, 0 when it has no line. *frames lives
 * as long as the program. Not safe for concurrent use. */
size_t csp_lines_stack(struct csp_program *program, uint64_t address, const uint32_t **frames);
/* The last frame of that stack, or null. */
const struct csp_line_frame *csp_lines_place(struct csp_program *program, uint64_t address);
/* Whether two instructions were inlined through the same calls. */
bool csp_lines_same_inlining(struct csp_program *program, uint64_t a, uint64_t b);

uint32_t csp_lines_frame(struct csp_lines *lines, struct csp_line_frame frame);
const struct csp_line_frame *csp_lines_frame_at(const struct csp_lines *lines, uint32_t frame);
/* What the profile knows of a frame's discriminator: the part that tells blocks apart. */
uint32_t csp_lines_base(const struct csp_program *program, uint32_t discriminator);

/* The calling context of a stack of instruction addresses, outermost first, the leaf included: the
 * frames of all of them, the last one without its place. Recursion of up to `longest` frames is
 * compressed (see profgen/recursion.h), and `depth` frames nearest to the leaf are kept (-1: all).
 * Appends frame numbers; nothing when an address has no line. Returns whether the leaf is inlined
 * into its caller. */
struct csp_line_context {
    CSP_VEC(uint64_t) frames;
};
bool csp_lines_context(struct csp_program *program, const uint64_t *stack, size_t count,
                       int longest, int depth, struct csp_line_context *out);
void csp_lines_free(struct csp_lines *lines);

#endif
