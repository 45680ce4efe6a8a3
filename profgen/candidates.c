#include "profgen/candidates.h"

#include <stdbool.h>

static bool is_less_urgent(const struct csp_candidate *a, const struct csp_candidate *b)
{
    if ((a->cost == 0) != (b->cost == 0))
        return b->cost == 0;
    if (a->calls != b->calls)
        return a->calls < b->calls;
    if (a->cost != b->cost)
        return a->cost > b->cost;
    return a->guid < b->guid;
}

/* Puts a candidate into a free place, or where one less urgent above it makes room. */
static void rise(struct csp_candidate *heap, size_t at, struct csp_candidate candidate)
{
    while (at && is_less_urgent(&heap[(at - 1) / 2], &candidate)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = candidate;
}

void csp_candidates_push(csp_candidates *heap, struct csp_candidate candidate)
{
    csp_vec_push(heap, candidate);
    rise(heap->data, heap->len - 1, candidate);
}

/* Equally urgent ones come in the order that libstdc++'s priority queue, llvm-profgen's, has for
 * them: the place at the top sinks to the bottom before the last one rises from there. */
struct csp_candidate csp_candidates_pop(csp_candidates *heap)
{
    struct csp_candidate top = heap->data[0], last = heap->data[--heap->len];
    size_t at = 0, child;
    while ((child = 2 * at + 2) < heap->len) {
        if (is_less_urgent(&heap->data[child], &heap->data[child - 1]))
            child--;
        heap->data[at] = heap->data[child];
        at = child;
    }
    if (child == heap->len) {
        heap->data[at] = heap->data[child - 1];
        at = child - 1;
    }
    if (heap->len)
        rise(heap->data, at, last);
    return top;
}
