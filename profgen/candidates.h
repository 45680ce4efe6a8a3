/* Calls that might be inlined, the most urgent first: free code, then the hottest calls, then the
 * smallest code. */
#ifndef CSP_PROFGEN_CANDIDATES_H
#define CSP_PROFGEN_CANDIDATES_H

#include "base/vec.h"

#include <stdint.h>

struct csp_candidate {
    uint64_t calls, cost, guid;
    uint32_t node;
};

typedef CSP_VEC(struct csp_candidate) csp_candidates;

void csp_candidates_push(csp_candidates *heap, struct csp_candidate candidate);
struct csp_candidate csp_candidates_pop(csp_candidates *heap);

#endif
