/* Recursion in a calling context: of adjacent repetitions of the same calls, one is kept. */
#ifndef CSP_PROFGEN_RECURSION_H
#define CSP_PROFGEN_RECURSION_H

#include "base/vec.h"

#include <stdbool.h>
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

/* Whether lists have any repetitions at all, for many of which each begins much as the one before.
 * Zero-initialise. */
struct csp_repeats {
    CSP_VEC(uint64_t) last;
    size_t without; /* how many elements of the last one are known to have none */
};

bool csp_repeats_any(struct csp_repeats *repeats, const uint64_t *elements, size_t count);
void csp_repeats_free(struct csp_repeats *repeats);

#endif
