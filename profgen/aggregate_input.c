#include "profgen/aggregate_input.h"

#include "base/alloc.h"

int csp_profgen_aggregate(struct csp_profgen *gen, const char *path, struct csp_diag *diag)
{
    struct csp_aggregate aggregate;
    const struct csp_program *program = &gen->program;
    int error = csp_aggregate_read(&aggregate, path, diag);
    char theirs[41];
    if (!error && aggregate.code != csp_code_digest(&program->code)) {
        csp_build_id_text(&aggregate.build_id, theirs);
        error = csp_fail(diag, CSP_ERR_INPUT, "%s is of another %s than %s: its build-id is %s",
                         path, aggregate.name, program->path, theirs[0] ? theirs : "unknown");
    }
    if (!error && !csp_sample_set_describe(&aggregate.set, program))
        error = csp_fail(diag, CSP_ERR_INPUT, "%s: some of its branches are not in %s", path,
                         program->path);
    if (!error)
        error =
            csp_digests_add(&gen->inputs, &aggregate.inputs, gen->options.duplicates, path, diag);
    if (!error) {
        csp_profgen_decide_mode(gen, aggregate.callchains);
        csp_sample_set_merge(&gen->set, &aggregate.set);
    }
    csp_aggregate_free(&aggregate);
    return error;
}

static bool has_callchains(const struct csp_sample_set *set)
{
    for (size_t i = 0; i < set->counts.len; i++)
        if (!(csp_sample_set_at(set, i)->leaf & CSP_LEAF_NO_CALLCHAIN))
            return true;
    return false;
}

void csp_profgen_write_aggregate(struct csp_profgen *gen, struct csp_buf *out)
{
    struct csp_aggregate aggregate = {
        .build_id = gen->program.build_id,
        .code = csp_code_digest(&gen->program.code),
        .name = csp_strdup(gen->program.name),
        .inputs = gen->inputs,
        .callchains = has_callchains(&gen->set),
        .set = gen->set,
    };
    csp_aggregate_write(&aggregate, out);
    free(aggregate.name);
}
