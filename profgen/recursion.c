#include "profgen/recursion.h"

#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(struct csp_frame) == sizeof(uint64_t), "frames are compared as one word");

/* Whether any element is the same as that of a sequence before: else there is nothing to drop. */
static bool may_repeat(const uint64_t *elements, size_t count, size_t length)
{
    bool same = false;
    for (size_t at = length; at < count; at++)
        same |= elements[at] == elements[at - length];
    return same;
}

/* One pass for one length of sequences. */
static size_t drop_repeats(uint64_t *elements, size_t count, size_t length)
{
    size_t bytes = length * sizeof *elements;
    size_t kept = length;
    for (size_t at = length; at < count;) {
        if (at + length <= count && elements[kept - length] == elements[at] &&
            !memcmp(&elements[kept - length], &elements[at], bytes)) {
            at += length;
            continue;
        }
        elements[kept++] = elements[at++];
    }
    return kept;
}

size_t csp_recursion_compress(uint64_t *elements, size_t count, int longest)
{
    for (size_t length = 1; length <= count / 2; length++) {
        if (longest >= 0 && length > (size_t)longest)
            break;
        if (may_repeat(elements, count, length))
            count = drop_repeats(elements, count, length);
    }
    return count;
}

size_t csp_recursion_compress_frames(struct csp_frame *frames, size_t count, int longest)
{
    return csp_recursion_compress((uint64_t *)(void *)frames, count, longest);
}
