#include "profgen/disjoint.h"

#include "base/alloc.h"
#include "profgen/program.h"

typedef CSP_VEC(struct csp_counter) counter_vec;

static void add_parts(const struct csp_program *program, uint32_t id, counter_vec *all)
{
    const struct csp_function *function = &program->functions.functions.data[id];
    for (uint32_t part = 0; part < function->parts; part++) {
        const struct csp_function_range *range =
            &program->functions.parts.data[function->first_part + part];
        csp_vec_push(all, (struct csp_counter){.from = range->start, .to = range->end - 1});
    }
}

void csp_disjoint_in_functions(const struct csp_program *program, const struct csp_counter *ranges,
                               size_t count, bool all_functions, struct csp_spans *out)
{
    counter_vec all = {0};
    size_t functions = program->functions.functions.len;
    uint8_t *seen = csp_calloc(functions + 1, 1);
    for (size_t i = 0; i < count; i++) {
        csp_vec_push(&all, ranges[i]);
        uint32_t id = csp_functions_at(&program->functions, ranges[i].from);
        if (all_functions || id == CSP_NO_FUNCTION || seen[id])
            continue;
        seen[id] = 1;
        add_parts(program, id, &all);
    }
    for (uint32_t id = 0; all_functions && id < functions; id++)
        add_parts(program, id, &all);
    csp_disjoint(all.data, all.len, out);
    csp_vec_free(&all);
    free(seen);
}
