#include "profgen/generate.h"

#include "base/alloc.h"
#include "profgen/disjoint.h"

void csp_touched_init(struct csp_touched_probes *touched, const struct csp_program *program)
{
    size_t count = program->probes.probes.len + 1;
    *touched = (struct csp_touched_probes){0};
    touched->counts = csp_calloc(count, sizeof *touched->counts);
    touched->seen = csp_calloc(count, 1);
}

static size_t first_from(struct csp_touched_probes *touched, const struct csp_probes *probes,
                         uint64_t address)
{
    uint32_t id = csp_numbers_at(&touched->addresses, address);
    if (id == touched->firsts.len)
        csp_vec_push(&touched->firsts, csp_probes_from(probes, address));
    return touched->firsts.data[id];
}

void csp_touch_probes(struct csp_touched_probes *touched, const struct csp_program *program,
                      const struct csp_spans *spans, bool zero_too)
{
    const struct csp_probes *probes = &program->probes;
    for (size_t i = 0; i < spans->spans.len; i++) {
        const struct csp_span *span = &spans->spans.data[i];
        if (!span->count && !zero_too)
            continue;
        for (size_t at = first_from(touched, probes, span->from);
             at < probes->by_address.len && probes->by_address.data[at].address <= span->to; at++) {
            uint32_t probe = probes->by_address.data[at].probe;
            if (!csp_code_is_instruction(&program->code, probes->by_address.data[at].address))
                continue;
            touched->counts[probe] += span->count;
            if (touched->seen[probe])
                continue;
            touched->seen[probe] = 1;
            csp_vec_push(&touched->probes, probe);
        }
    }
}

void csp_touched_clear(struct csp_touched_probes *touched)
{
    for (size_t i = 0; i < touched->probes.len; i++) {
        touched->counts[touched->probes.data[i]] = 0;
        touched->seen[touched->probes.data[i]] = 0;
    }
    touched->probes.len = 0;
}

void csp_touched_free(struct csp_touched_probes *touched)
{
    csp_vec_free(&touched->probes);
    csp_numbers_free(&touched->addresses);
    csp_vec_free(&touched->firsts);
    free(touched->counts);
    free(touched->seen);
}
