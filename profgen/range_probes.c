#include "profgen/range_probes.h"

#include "base/alloc.h"

void csp_range_probes_begin(struct csp_range_probes *probes, const struct csp_program *program,
                            size_t ranges)
{
    *probes = (struct csp_range_probes){.program = program};
    probes->known = csp_calloc(ranges + 1, sizeof *probes->known);
}

static void look_up(struct csp_range_probes *probes, const struct csp_counter *range)
{
    const struct csp_probes *all = &probes->program->probes;
    size_t first = probes->probes.len;
    for (size_t at = csp_probes_from(all, range->from);
         at < all->by_address.len && all->by_address.data[at].address <= range->to; at++)
        if (csp_code_is_instruction(&probes->program->code, all->by_address.data[at].address))
            csp_vec_push(&probes->probes, all->by_address.data[at].probe);
    probes->known[range->span] = (uint64_t)(first + 1) << 32 | (probes->probes.len - first);
}

uint32_t csp_range_probes_of(struct csp_range_probes *probes, const struct csp_counter *range,
                             size_t *count)
{
    if (!probes->known[range->span])
        look_up(probes, range);
    *count = (uint32_t)probes->known[range->span];
    return (uint32_t)(probes->known[range->span] >> 32) - 1;
}

void csp_range_probes_free(struct csp_range_probes *probes)
{
    free(probes->known);
    csp_vec_free(&probes->probes);
}
