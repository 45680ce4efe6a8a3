#include "profgen/sample_history.h"

#include "base/alloc.h"

#include <stdlib.h>

static enum csp_run_verdict judge_run(const struct csp_program *program, uint64_t from, uint64_t to)
{
    if (from == CSP_EXTERNAL || to == CSP_EXTERNAL)
        return from == to ? CSP_RUN_POSSIBLE : CSP_RUN_HALF_OUTSIDE;
    return csp_code_falls_through(&program->code, from, to, false) ? CSP_RUN_POSSIBLE
                                                                   : CSP_RUN_IMPOSSIBLE;
}

static uint8_t find_verdict(struct csp_history_reader *reader, const struct csp_sample_set *set,
                            uint32_t older, uint32_t newer)
{
    uint32_t run = csp_pairs_at(&reader->runs, older, newer);
    if (run == reader->verdicts.len)
        csp_vec_push(&reader->verdicts,
                     (uint8_t)judge_run(reader->program, set->branches.list.data[older].second,
                                        set->branches.list.data[newer].first));
    return reader->verdicts.data[run];
}

void csp_history_reader_begin(struct csp_history_reader *reader, const struct csp_program *program,
                              const struct csp_sample_set *set)
{
    *reader = (struct csp_history_reader){
        .program = program,
        .recent = csp_calloc(set->branches.list.len + 1, sizeof *reader->recent)};
}

enum csp_run_verdict csp_sample_run_judge(struct csp_history_reader *reader,
                                          const struct csp_sample_set *set, uint32_t older,
                                          uint32_t newer)
{
    struct csp_recent_run *recent = &reader->recent[newer];
    *recent = (struct csp_recent_run){older + 1, find_verdict(reader, set, older, newer)};
    return (enum csp_run_verdict)recent->verdict;
}

static bool is_checked(const struct csp_sample_set *set, size_t number,
                       enum csp_checked_sample what)
{
    return number < set->checked.len && (set->checked.data[number] & what);
}

/* The calls and returns of a history, newest first: nothing else opens or closes a call. */
static void read_history(struct csp_history_reader *reader, const struct csp_sample_set *set,
                         size_t number)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(set, number);
    bool possible = is_checked(set, number, CSP_CHECKED_POSSIBLE);
    struct csp_history *history = &reader->history;
    history->branches.len = 0;
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        if (!possible && i && csp_sample_run(reader, set, sample, i) != CSP_RUN_POSSIBLE)
            break;
        const struct csp_set_branch *info = &set->branch_infos.data[sample->branches[i]];
        if (info->kind == CSP_BRANCH_DIRECT)
            continue;
        const struct csp_pair *branch = csp_flat_branch(set, sample, i);
        bool returns = info->kind == CSP_BRANCH_RETURN;
        csp_vec_push(
            &history->branches,
            (struct csp_branch){.from = branch->first,
                                .to = returns ? info->call + CSP_CALL_SIZE : branch->second,
                                .kind = (enum csp_branch_kind)info->kind});
    }
}

void csp_sample_open_calls(struct csp_history_reader *reader, const struct csp_sample_set *set,
                           size_t number, csp_frames *out)
{
    read_history(reader, set, number);
    const struct csp_unwind_tables none = {0};
    csp_history_open_calls(&reader->history, &none, out);
    for (size_t i = 0; i < out->len; i++)
        out->data[i] -= CSP_CALL_SIZE;
}

bool csp_sample_callchain(struct csp_history_reader *reader, const struct csp_sample_set *set,
                          size_t number, csp_frames *out)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(set, number);
    const struct csp_functions *functions = &reader->program->functions;
    uint32_t len;
    if (is_checked(set, number, CSP_CHECKED_COMPLETE))
        return false;
    const uint64_t *callers = csp_flat_callers(set, sample, &len);
    read_history(reader, set, number);
    reader->recorded.len = 0;
    csp_vec_push(&reader->recorded, csp_flat_newest(set, sample));
    for (uint32_t i = 0; i < len; i++)
        csp_vec_push(&reader->recorded, callers[i] + CSP_CALL_SIZE);
    const struct csp_unwind_tables none = {0};
    unsigned repair =
        csp_callchain_repair(&reader->history, reader->recorded.data, len + 1, 0, &none, out);
    for (size_t i = 1; i < out->len; i++)
        out->data[i] -= CSP_CALL_SIZE;
    /* Another call of the same function than the callchain has is no lost frame: one of the two was
     * recorded a little earlier than the other, and the callchain is the newer. */
    bool same_function =
        out->len > 1 && len &&
        csp_functions_at(functions, out->data[1]) == csp_functions_at(functions, callers[0]);
    if (out->len > 1 && out->data[out->len - 1] == CSP_EXTERNAL)
        out->len--; /* what called main, which the set leaves out too */
    return repair != CSP_REPAIR_NONE && out->len > len + 1 &&
           !(same_function && out->data[1] != callers[0]);
}

void csp_history_reader_free(struct csp_history_reader *reader)
{
    csp_pairs_free(&reader->runs);
    csp_vec_free(&reader->verdicts);
    free(reader->recent);
    csp_history_free(&reader->history);
    csp_vec_free(&reader->recorded);
}
