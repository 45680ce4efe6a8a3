#include "profgen/aggregate_input.h"

#include "base/alloc.h"
#include "profgen/aggregate_parts.h"

#include <stdlib.h>

static bool lacks_callchains(const struct csp_sample_set *set)
{
    for (size_t i = 0; i < set->counts.len; i++)
        if (csp_sample_set_at(set, i)->leaf & CSP_LEAF_NO_CALLCHAIN)
            return true;
    return false;
}

/* The first set with nothing to be left out is taken over as it is. */
static void add_set(struct csp_sample_set *set, struct csp_sample_set *other)
{
    struct csp_sample_set kept = csp_sample_set_like(set);
    if (set->stats.samples || !set->contexts || (!set->keep_all && lacks_callchains(other))) {
        csp_sample_set_merge(set, other, 1);
        return;
    }
    csp_sample_set_free(set);
    *set = *other;
    set->contexts = kept.contexts;
    set->keep_all = kept.keep_all;
    *other = (struct csp_sample_set){0};
}

static int fail_another(const struct csp_program *program, const struct csp_aggregate *aggregate,
                        const char *path, struct csp_diag *diag)
{
    char theirs[41], ours[41];
    csp_build_id_text(&aggregate->build_id, theirs);
    csp_build_id_text(&program->build_id, ours);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s is of another %s than %s: its build-id is %s, that of the binary %s", path,
                    aggregate->name, program->path, theirs[0] ? theirs : "unknown",
                    ours[0] ? ours : "unknown");
}

int csp_profgen_check_aggregate(const struct csp_profgen *gen, const char *path,
                                struct csp_diag *diag)
{
    const struct csp_build_id *ours = &gen->program.build_id;
    struct csp_aggregate head;
    int error = csp_aggregate_read_head(&head, path, diag);
    if (!error && ours->size && head.build_id.size && !csp_build_id_equal(ours, &head.build_id))
        error = fail_another(&gen->program, &head, path, diag);
    csp_aggregate_free(&head);
    return error;
}

int csp_profgen_add_aggregate(struct csp_profgen *gen, struct csp_aggregate *aggregate,
                              const char *path, struct csp_diag *diag)
{
    const struct csp_program *program = &gen->program;
    int error = 0;
    if (aggregate->code != csp_code_digest(&program->code))
        error = fail_another(program, aggregate, path, diag);
    if (!error && !csp_sample_set_describe(&aggregate->set, program))
        error = csp_fail(diag, CSP_ERR_INPUT, "%s: some of its branches are not in %s", path,
                         program->path);
    if (!error && gen->options.digests)
        error =
            csp_digests_add(&gen->inputs, &aggregate->inputs, gen->options.duplicates, path, diag);
    if (!error) {
        csp_profgen_found(gen, aggregate->callchains);
        add_set(&gen->set, &aggregate->set);
    }
    return error;
}

int csp_profgen_aggregates(struct csp_profgen *gen, const char *const *paths, size_t count,
                           struct csp_diag *diag)
{
    struct csp_aggregate aggregate = csp_aggregate_empty();
    CSP_VEC(struct csp_aggregate_input) inputs = {0};
    if (!count)
        return 0;
    for (size_t i = 0; i < count; i++)
        csp_vec_push(&inputs, (struct csp_aggregate_input){.path = paths[i]});
    const struct csp_aggregate_parts parts = {.inputs = inputs.data,
                                              .count = count,
                                              .threads = gen->options.threads,
                                              .duplicates = gen->options.duplicates,
                                              .memory = SIZE_MAX};
    char *name = count == 1 ? csp_strdup(paths[0])
                            : csp_asprintf("%s or one of %zu others", paths[0], count - 1);
    int error = csp_aggregate_read_all(&aggregate, &parts, diag);
    if (!error)
        error = csp_profgen_add_aggregate(gen, &aggregate, name, diag);
    csp_aggregate_free(&aggregate);
    csp_vec_free(&inputs);
    free(name);
    return error;
}

void csp_profgen_write_aggregate(struct csp_profgen *gen, struct csp_buf *out)
{
    struct csp_aggregate aggregate = {
        .build_id = gen->program.build_id,
        .code = csp_code_digest(&gen->program.code),
        .name = csp_strdup(gen->program.name),
        .inputs = gen->inputs,
        .callchains = csp_sample_set_has_callchains(&gen->set),
        .set = gen->set,
    };
    csp_aggregate_write(&aggregate, NULL, out);
    free(aggregate.name);
}
