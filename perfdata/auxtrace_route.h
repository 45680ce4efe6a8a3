/* Which ring an AUX record speaks of: the one that its event belongs to, or else that of its CPU,
 * or of its thread. */
#ifndef CSP_PERFDATA_AUXTRACE_ROUTE_H
#define CSP_PERFDATA_AUXTRACE_ROUTE_H

#include "perfdata/auxtrace.h"

/* Lookups by ring, CPU and thread, filled in as it goes. Zero-initialise. */
struct csp_aux_router {
    struct csp_map by_idx, by_cpu, by_tid; /* queue + 1 */
};

/* Knows the first `stored` queues alone, those that have chunks: none that AUX records made. */
void csp_aux_router_begin(struct csp_auxtrace *aux, struct csp_aux_router *router, size_t stored);
void csp_aux_router_free(struct csp_aux_router *router);

/* The number of a fragment's queue, which is made when there is none. */
uint32_t csp_aux_find_queue(struct csp_auxtrace *aux, struct csp_aux_router *router,
                            const struct csp_aux_fragment *fragment);
/* Sets a fragment's queue. Most often it is that of the one before, which was routed. */
static inline void csp_aux_route(struct csp_auxtrace *aux, struct csp_aux_router *router,
                                 size_t number)
{
    struct csp_aux_fragment *fragment = &aux->fragments.data[number], *before = fragment - 1;
    bool is_as_before = number && before->id == fragment->id && before->cpu == fragment->cpu &&
                        before->tid == fragment->tid;
    fragment->queue = is_as_before ? before->queue : csp_aux_find_queue(aux, router, fragment);
}
/* The same of losses; those that concern no queue are of no interest, and forgotten. */
void csp_aux_route_losses(struct csp_auxtrace *aux, const struct csp_aux_router *router);

#endif
