#include "profgen/sample_history.h"

static enum csp_branch_kind kind_of(const struct csp_program *program, uint64_t from, uint64_t to)
{
    uint8_t flags = csp_code_flags(&program->code, from);
    if (from == CSP_EXTERNAL) /* either it was called, or it called the binary */
        return csp_program_call_before(program, to) ? CSP_BRANCH_RETURN : CSP_BRANCH_CALL;
    if (flags & CSP_CODE_CALL)
        return CSP_BRANCH_CALL;
    return flags & CSP_CODE_RETURN ? CSP_BRANCH_RETURN : CSP_BRANCH_DIRECT;
}

static struct csp_branch branch_of(const struct csp_program *program, uint64_t from, uint64_t to)
{
    struct csp_branch branch = {.from = from, .to = to, .kind = kind_of(program, from, to)};
    if (branch.kind == CSP_BRANCH_RETURN)
        branch.to = csp_program_call_before(program, to) + CSP_CALL_SIZE;
    return branch;
}

/* Whether execution got from where one branch went to where the next one left. Nobody can tell of
 * what is outside of the binary. */
static bool may_have_run(const struct csp_program *program, uint64_t from, uint64_t to)
{
    if (from == CSP_EXTERNAL || to == CSP_EXTERNAL)
        return from == to;
    return csp_code_falls_through(&program->code, from, to, false);
}

void csp_sample_history(const struct csp_program *program, const struct csp_flat_sample *sample,
                        struct csp_history *history)
{
    const uint64_t *branches = sample->addresses + sample->frame_len;
    history->branches.len = 0;
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        uint64_t from = branches[2 * i], to = branches[2 * i + 1];
        if (i && !may_have_run(program, to, branches[2 * i - 2]))
            break;
        csp_vec_push(&history->branches, branch_of(program, from, to));
    }
}

void csp_sample_open_calls(const struct csp_history *history, csp_frames *out)
{
    csp_history_open_calls(history, out);
    for (size_t i = 0; i < out->len; i++)
        out->data[i] -= CSP_CALL_SIZE;
}

bool csp_sample_callchain(const struct csp_program *program, const struct csp_flat_sample *sample,
                          const struct csp_history *history, csp_frames *scratch, csp_frames *out)
{
    scratch->len = 0;
    for (uint32_t i = 0; i < sample->frame_len; i++)
        csp_vec_push(scratch, sample->addresses[i] + (i ? CSP_CALL_SIZE : 0));
    unsigned repair =
        csp_callchain_repair(history, scratch->data, sample->frame_len, 0, CSP_LEAF_UNKNOWN, out);
    for (size_t i = 1; i < out->len; i++)
        out->data[i] -= CSP_CALL_SIZE;
    /* Another call of the same function than the callchain has is no lost frame: one of the two was
     * recorded a little earlier than the other, and the callchain is the newer. */
    bool same_function = out->len > 1 && sample->frame_len > 1 &&
                         csp_functions_at(&program->functions, out->data[1]) ==
                             csp_functions_at(&program->functions, sample->addresses[1]);
    if (out->len > 1 && out->data[out->len - 1] == CSP_EXTERNAL)
        out->len--; /* what called main, which the set leaves out too */
    if (repair != CSP_REPAIR_NONE && out->len > sample->frame_len &&
        !(same_function && out->data[1] != sample->addresses[1]))
        return true;
    out->len = 0;
    for (uint32_t i = 0; i < sample->frame_len; i++)
        csp_vec_push(out, sample->addresses[i]);
    return false;
}
