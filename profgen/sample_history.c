#include "profgen/sample_history.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { KNOWN_BITS = 14 }; /* of the number of places; programs have some ten thousand runs */

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

void csp_history_reader_begin(struct csp_history_reader *reader, const struct csp_program *program)
{
    *reader = (struct csp_history_reader){
        .program = program, .known = csp_calloc((size_t)1 << KNOWN_BITS, sizeof *reader->known)};
}

/* Nothing else opens or closes a call. */
static bool calls_or_returns(const struct csp_sample_set *set, uint32_t branch)
{
    return set->branch_infos.data[branch].kind != CSP_BRANCH_DIRECT;
}

static struct csp_known_run *place_of(const struct csp_history_reader *reader, uint32_t older,
                                      uint32_t newer)
{
    return &reader->known[(older * 0x9e3779b1u + newer * 0x85ebca6bu) >> (32 - KNOWN_BITS)];
}

static __attribute__((noinline)) void learn_run(struct csp_history_reader *reader,
                                                const struct csp_sample_set *set, uint32_t older,
                                                uint32_t newer)
{
    *place_of(reader, older, newer) =
        (struct csp_known_run){older + 1, newer + 1, find_verdict(reader, set, older, newer),
                               calls_or_returns(set, older)};
}

/* Which run comes next no processor can predict, and a place of its own needs no prediction. */
static inline struct csp_known_run find_run(struct csp_history_reader *reader,
                                            const struct csp_sample_set *set, uint32_t older,
                                            uint32_t newer)
{
    const struct csp_known_run *known = place_of(reader, older, newer);
    if (known->older != older + 1 || known->newer != newer + 1)
        learn_run(reader, set, older, newer);
    return *known;
}

unsigned csp_sample_history_read(struct csp_history_reader *reader,
                                 const struct csp_sample_set *set, size_t number)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(set, number);
    reader->calls.len = 0;
    if (!sample->branch_len)
        return CSP_RUN_POSSIBLE;
    csp_vec_reserve(&reader->calls, sample->branch_len);
    reader->numbers.len = 0;
    csp_vec_reserve(&reader->numbers, sample->branch_len);
    csp_flat_unpack(sample, reader->numbers.data);
    uint32_t *calls = reader->calls.data, newer = reader->numbers.data[0];
    unsigned verdicts = CSP_RUN_POSSIBLE;
    *calls = newer;
    calls += calls_or_returns(set, newer);
    for (uint32_t i = 1; i < sample->branch_len; i++) {
        uint32_t older = reader->numbers.data[i];
        const struct csp_known_run run = find_run(reader, set, older, newer);
        verdicts |= run.verdict;
        *calls = older; /* written whether or not it is one, which no processor can predict */
        calls += run.calls & !verdicts;
        newer = older;
    }
    reader->calls.len = (size_t)(calls - reader->calls.data);
    return verdicts;
}

/* The calls and returns as decode knows them, oldest first. */
static const csp_branches *turns_of(struct csp_history_reader *reader,
                                    const struct csp_sample_set *set)
{
    csp_branches *turns = &reader->turns;
    turns->len = 0;
    csp_vec_reserve(turns, reader->calls.len);
    for (size_t i = reader->calls.len; i--;) {
        const struct csp_set_branch *info = &set->branch_infos.data[reader->calls.data[i]];
        const struct csp_pair *branch = &set->branches.list.data[reader->calls.data[i]];
        bool returns = info->kind == CSP_BRANCH_RETURN;
        turns->data[turns->len++] =
            (struct csp_branch){.from = branch->first,
                                .to = returns ? info->call + CSP_CALL_SIZE : branch->second,
                                .kind = (enum csp_branch_kind)info->kind};
    }
    return turns;
}

void csp_sample_open_calls(struct csp_history_reader *reader, const struct csp_sample_set *set,
                           csp_frames *out)
{
    const struct csp_unwind_tables none = {0};
    csp_open_calls(turns_of(reader, set), &none, out);
    for (size_t i = 0; i < out->len; i++)
        out->data[i] -= CSP_CALL_SIZE;
}

bool csp_sample_callchain(struct csp_history_reader *reader, const struct csp_sample_set *set,
                          size_t number, csp_frames *out)
{
    const struct csp_flat_sample *sample = csp_sample_set_at(set, number);
    const struct csp_functions *functions = &reader->program->functions;
    uint32_t len;
    if (number < set->complete.len && set->complete.data[number])
        return false;
    const uint64_t *callers = csp_flat_callers(set, sample, &len);
    csp_sample_history_read(reader, set, number);
    reader->recorded.len = 0;
    csp_vec_push(&reader->recorded, csp_flat_newest(set, sample));
    for (uint32_t i = 0; i < len; i++)
        csp_vec_push(&reader->recorded, callers[i] + CSP_CALL_SIZE);
    const struct csp_unwind_tables none = {0};
    unsigned repair =
        csp_callchain_repair(turns_of(reader, set), reader->recorded.data, len + 1, 0, &none, out);
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
    free(reader->known);
    csp_vec_free(&reader->calls);
    csp_vec_free(&reader->numbers);
    csp_vec_free(&reader->turns);
    csp_vec_free(&reader->recorded);
}
