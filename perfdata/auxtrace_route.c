#include "perfdata/auxtrace_route.h"

static void route_queue(struct csp_aux_router *router, const struct csp_aux_queue *queue,
                        uint64_t number)
{
    uint64_t *slot = csp_map_at(&router->by_idx, queue->idx);
    if (!*slot)
        *slot = number + 1;
    slot = queue->cpu != CSP_NO_TID ? csp_map_at(&router->by_cpu, queue->cpu)
                                    : csp_map_at(&router->by_tid, queue->tid);
    if (!*slot)
        *slot = number + 1;
}

/* Its number + 1; null: there is none. */
static const uint64_t *find_route(const struct csp_auxtrace *aux,
                                  const struct csp_aux_router *router,
                                  const struct csp_aux_fragment *fragment)
{
    const uint64_t *idx = csp_map_find(&aux->idx_of_id, fragment->id);
    const uint64_t *queue = idx ? csp_map_find(&router->by_idx, *idx - 1) : NULL;
    if (!queue && fragment->cpu != CSP_NO_TID)
        queue = csp_map_find(&router->by_cpu, fragment->cpu);
    return queue ? queue : csp_map_find(&router->by_tid, fragment->tid);
}

uint32_t csp_aux_find_queue(struct csp_auxtrace *aux, struct csp_aux_router *router,
                            const struct csp_aux_fragment *fragment)
{
    const uint64_t *idx = csp_map_find(&aux->idx_of_id, fragment->id);
    const uint64_t *queue = find_route(aux, router, fragment);
    if (queue)
        return (uint32_t)*queue - 1;
    struct csp_aux_queue empty = {.idx = idx ? (uint32_t)(*idx - 1) : fragment->cpu,
                                  .cpu = fragment->cpu,
                                  .tid = fragment->tid};
    csp_vec_push(&aux->queues, empty);
    route_queue(router, &empty, aux->queues.len - 1);
    return (uint32_t)aux->queues.len - 1;
}

void csp_aux_route_losses(struct csp_auxtrace *aux, const struct csp_aux_router *router)
{
    size_t kept = 0;
    for (size_t i = 0; i < aux->losses.len; i++) {
        const uint64_t *queue = find_route(aux, router, &aux->losses.data[i]);
        if (!queue)
            continue;
        aux->losses.data[kept] = aux->losses.data[i];
        aux->losses.data[kept++].queue = (uint32_t)*queue - 1;
    }
    aux->losses.len = kept;
}

void csp_aux_router_free(struct csp_aux_router *router)
{
    csp_map_free(&router->by_idx);
    csp_map_free(&router->by_cpu);
    csp_map_free(&router->by_tid);
}

void csp_aux_router_begin(struct csp_auxtrace *aux, struct csp_aux_router *router, size_t stored)
{
    csp_aux_router_free(router);
    aux->queues.len = stored;
    for (size_t i = 0; i < stored; i++)
        route_queue(router, &aux->queues.data[i], i);
}
