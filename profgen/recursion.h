/* Recursion in a calling context: of adjacent repetitions of the same calls, one is kept. */
#ifndef CSP_PROFGEN_RECURSION_H
#define CSP_PROFGEN_RECURSION_H

#include <stddef.h>
#include <stdint.h>

/* A frame in the terms of the source: a function and a callsite in it. */
struct csp_frame {
    uint32_t name; /* in the binary's names */
    uint32_t callsite;
};

/* Shortens an array of 8-byte elements in place and returns its new length. Repeated sequences of
 * up to `longest` elements are found; negative: of any length. */
size_t csp_recursion_compress(uint64_t *elements, size_t count, int longest);
size_t csp_recursion_compress_frames(struct csp_frame *frames, size_t count, int longest);

#endif
