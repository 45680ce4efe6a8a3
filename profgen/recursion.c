#include "profgen/recursion.h"

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

/* Whether the end of a list repeats what comes before it. */
static bool ends_in_repeat(const uint64_t *elements, size_t count)
{
    for (size_t length = 1; 2 * length <= count; length++) {
        if (elements[count - 1 - length] != elements[count - 1])
            continue;
        size_t same = 1;
        while (same < length && elements[count - 1 - same] == elements[count - 1 - length - same])
            same++;
        if (same == length)
            return true;
    }
    return false;
}

bool csp_repeats_any(struct csp_repeats *repeats, const uint64_t *elements, size_t count)
{
    size_t most = count < repeats->last.len ? count : repeats->last.len, same = 0;
    while (same < most && repeats->last.data[same] == elements[same])
        same++;
    repeats->last.len = same;
    csp_vec_reserve(&repeats->last, count - same);
    if (count > same)
        memcpy(repeats->last.data + same, elements + same, (count - same) * sizeof *elements);
    repeats->last.len = count;
    if (repeats->without > same)
        repeats->without = same;
    while (repeats->without < count && !ends_in_repeat(elements, repeats->without + 1))
        repeats->without++;
    return repeats->without < count;
}

void csp_repeats_free(struct csp_repeats *repeats)
{
    csp_vec_free(&repeats->last);
}
