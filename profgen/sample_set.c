#include "profgen/sample_set.h"

#include <string.h>

enum { CALLS_BITS = 12 }; /* of the number of places for calls that were met lately */

const char *const csp_reject_names[CSP_REJECT_COUNT] = {
    "no_branches", "unstitched", "no_callchain", "external", "prologue_epilogue",
};

/* Outside of the binary there may be a call that was not recorded, or what it returned from. */
static enum csp_branch_kind kind_of(uint64_t from, uint8_t flags, uint64_t call_before)
{
    if (from == CSP_EXTERNAL)
        return call_before ? CSP_BRANCH_RETURN : CSP_BRANCH_CALL;
    if (flags & CSP_CODE_CALL)
        return CSP_BRANCH_CALL;
    return flags & CSP_CODE_RETURN ? CSP_BRANCH_RETURN : CSP_BRANCH_DIRECT;
}

static struct csp_set_branch describe_branch(const struct csp_program *program, uint64_t from,
                                             uint64_t to)
{
    uint8_t flags = csp_code_flags(&program->code, from);
    uint64_t call = csp_program_call_before(program, to);
    enum csp_branch_kind kind = kind_of(from, flags, call);
    bool inside = from != CSP_EXTERNAL && to != CSP_EXTERNAL;
    bool branches = flags & (CSP_CODE_CALL | CSP_CODE_RETURN | CSP_CODE_BRANCH);
    return (struct csp_set_branch){.kind = (uint8_t)kind,
                                   .inside = inside,
                                   .impossible = inside && !branches,
                                   .call = kind == CSP_BRANCH_RETURN ? call : 0};
}

bool csp_sample_set_describe(struct csp_sample_set *set, const struct csp_program *program)
{
    for (size_t i = 0; i < set->branches.list.len; i++) {
        const struct csp_pair *branch = &set->branches.list.data[i];
        bool from = csp_code_is_instruction(&program->code, branch->first);
        bool to = csp_code_is_instruction(&program->code, branch->second);
        if ((!from && branch->first != CSP_EXTERNAL) || (!to && branch->second != CSP_EXTERNAL) ||
            (!from && !to))
            return false;
        set->branch_infos.data[i] = describe_branch(program, branch->first, branch->second);
    }
    return true;
}

uint32_t csp_sample_set_branch(struct csp_sample_set *set, const struct csp_program *program,
                               uint64_t from, uint64_t to)
{
    bool from_inside = csp_code_is_instruction(&program->code, from);
    bool to_inside = csp_code_is_instruction(&program->code, to);
    if (!from_inside && !to_inside)
        return CSP_NO_BRANCH;
    from = from_inside ? from : CSP_EXTERNAL;
    to = to_inside ? to : CSP_EXTERNAL;
    uint32_t number = csp_pairs_at(&set->branches, from, to);
    if (number == set->branch_infos.len)
        csp_vec_push(&set->branch_infos, describe_branch(program, from, to));
    return number;
}

void csp_sample_set_saw_branches(struct csp_sample_set *set, const struct csp_branch_tally *tally,
                                 uint64_t count)
{
    set->stats.branches += tally->inside * count;
    set->stats.impossible_branches += tally->impossible * count;
    set->stats.external_branches += tally->external * count;
}

static uint64_t look_up_call(const struct csp_program *program, uint64_t address)
{
    return csp_code_is_instruction(&program->code, address)
               ? csp_program_call_before(program, address)
               : CSP_EXTERNAL;
}

static void begin_calls(struct csp_sample_set *set)
{
    const struct csp_known_call outside = {CSP_EXTERNAL, CSP_EXTERNAL};
    set->known_calls = csp_malloc(sizeof *set->known_calls << CALLS_BITS);
    for (size_t i = 0; i < (size_t)1 << CALLS_BITS; i++)
        set->known_calls[i] = outside;
}

static uint64_t call_before(struct csp_sample_set *set, const struct csp_program *program,
                            uint64_t address)
{
    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15);
    struct csp_known_call *known = &set->known_calls[hash >> (64 - CALLS_BITS)];
    if (known->address != address)
        *known = (struct csp_known_call){address, look_up_call(program, address)};
    return known->call;
}

/* Turns return addresses into call addresses, and a run of external frames into one. */
struct csp_set_callers csp_sample_set_callers(struct csp_sample_set *set,
                                              const struct csp_program *program,
                                              const uint64_t *frames, uint32_t len,
                                              bool leaf_outside)
{
    struct csp_set_callers callers = {0};
    bool outside = leaf_outside;
    if (!set->known_calls)
        begin_calls(set);
    set->frames.len = 0;
    csp_vec_reserve(&set->frames, len);
    for (uint32_t i = 0; i < len; i++) {
        uint64_t call = call_before(set, program, frames[i]);
        bool was_outside = outside;
        outside = call == CSP_EXTERNAL;
        if (outside && was_outside)
            continue;
        callers.truncated = !call;
        if (!call)
            break;
        set->frames.data[set->frames.len++] = call;
    }
    /* What called main is of no interest. */
    if (set->frames.len && set->frames.data[set->frames.len - 1] == CSP_EXTERNAL)
        set->frames.len--;
    callers.number =
        csp_intern(&set->callers, set->frames.data, set->frames.len * sizeof *set->frames.data);
    return callers;
}

/* The two ends of a trace window count where they are in the binary. */
static void add_ends(const struct csp_sample_set *set, const struct csp_program *program,
                     const struct csp_numbered_sample *sample, struct csp_flat_sample *flat)
{
    if (sample->has_branches && !flat->branch_len)
        return;
    bool oldest_inside = true, newest_inside = true;
    if (flat->branch_len) {
        oldest_inside = csp_flat_branch(set, flat, flat->branch_len - 1)->first != CSP_EXTERNAL;
        newest_inside = csp_flat_branch(set, flat, 0)->second != CSP_EXTERNAL;
    }
    if (oldest_inside && csp_code_is_instruction(&program->code, sample->start))
        flat->start = sample->start;
    if (sample->end && newest_inside)
        flat->end = sample->end;
}

/* Outside of the binary nobody can tell: calls into libraries are not always recorded. */
static uint32_t describe_leaf(const struct csp_program *program, uint64_t leaf, uint64_t newest)
{
    uint8_t flags = csp_code_flags(&program->code, leaf);
    if (!(flags & CSP_CODE_START))
        return CSP_LEAF_OUTSIDE;
    uint32_t edge = flags & CSP_CODE_EDGE ? CSP_LEAF_EDGE : 0;
    if (newest == CSP_EXTERNAL || csp_functions_at(&program->functions, leaf) ==
                                      csp_functions_at(&program->functions, newest))
        return edge;
    return CSP_LEAF_ELSEWHERE | edge;
}

/* When a sample was taken outside of the binary after a call that was not recorded, its history
 * ends in the caller: drops that call. */
static void drop_unrecorded_call(struct csp_sample_set *set, const struct csp_program *program,
                                 struct csp_flat_sample *flat)
{
    uint32_t len;
    const uint64_t *callers = csp_flat_callers(set, flat, &len);
    uint64_t newest = csp_flat_newest(set, flat);
    if (!(flat->leaf & CSP_LEAF_OUTSIDE) || !len || newest == CSP_EXTERNAL ||
        csp_functions_at(&program->functions, callers[0]) !=
            csp_functions_at(&program->functions, newest))
        return;
    set->frames.len = 0;
    for (uint32_t i = 1; i < len; i++)
        csp_vec_push(&set->frames, callers[i]);
    flat->callers =
        csp_intern(&set->callers, set->frames.data, set->frames.len * sizeof *set->frames.data);
}

/* Returns whether all of them have no more than 16 bits. */
static bool pack_narrow(uint16_t *to, const uint32_t *numbers, uint32_t len)
{
    typedef uint32_t eight __attribute__((vector_size(32), aligned(4), may_alias));
    typedef uint16_t eight_narrow __attribute__((vector_size(16), aligned(2), may_alias));
    eight seen = {0};
    uint32_t all = 0, i = 0;
    for (; i + 8 <= len; i += 8) {
        seen |= *(const eight *)(numbers + i);
        *(eight_narrow *)(to + i) =
            __builtin_convertvector(*(const eight *)(numbers + i), eight_narrow);
    }
    for (; i < len; i++) {
        all |= numbers[i];
        to[i] = (uint16_t)numbers[i];
    }
    for (i = 0; i < 8; i++)
        all |= seen[i];
    return all <= UINT16_MAX;
}

void csp_flat_pack(struct csp_flat_sample *flat, const uint32_t *numbers)
{
    flat->wide = !pack_narrow(flat->numbers, numbers, flat->branch_len);
    for (uint32_t i = 0; i < flat->branch_len && flat->wide; i++) {
        flat->numbers[2 * i] = (uint16_t)numbers[i];
        flat->numbers[2 * i + 1] = (uint16_t)(numbers[i] >> 16);
    }
}

struct csp_flat_sample *csp_sample_set_scratch(struct csp_sample_set *set, const uint32_t *branches,
                                               uint32_t branch_len)
{
    set->scratch.len = 0;
    struct csp_flat_sample *flat =
        (void *)csp_buf_reserve(&set->scratch, csp_flat_room(branch_len));
    *flat = (struct csp_flat_sample){.branch_len = branch_len};
    csp_flat_pack(flat, branches);
    return flat;
}

void csp_sample_set_count_at(struct csp_sample_set *set, uint32_t number, uint64_t count)
{
    if (number == set->counts.len)
        csp_vec_push(&set->counts, 0);
    uint64_t *sum = &set->counts.data[number];
    if (__builtin_add_overflow(*sum, count, sum)) {
        *sum = UINT64_MAX;
        set->saturated++;
    }
}

void csp_sample_set_count(struct csp_sample_set *set, const struct csp_flat_sample *flat,
                          uint64_t count)
{
    csp_sample_set_count_at(set, csp_intern(&set->samples, flat, csp_flat_size(flat)), count);
}

void csp_sample_set_warn(const struct csp_sample_set *set, struct csp_diag *diag)
{
    if (set->saturated)
        csp_warn(diag, "%llu counts would have been above 2^64 and are taken for the largest one",
                 (unsigned long long)set->saturated);
}

bool csp_sample_set_has_callchains(const struct csp_sample_set *set)
{
    for (size_t i = 0; i < set->counts.len; i++)
        if (!(csp_sample_set_at(set, i)->leaf & CSP_LEAF_NO_CALLCHAIN))
            return true;
    return false;
}

static struct csp_sample_outcome rejected(enum csp_reject reason, bool truncated)
{
    return (struct csp_sample_outcome){CSP_INTERN_NONE, (uint8_t)reason, truncated};
}

/* Finds the sample's number, or why it has none. */
static struct csp_sample_outcome place(struct csp_sample_set *set,
                                       const struct csp_program *program,
                                       const struct csp_numbered_sample *sample)
{
    bool whole_window = sample->start && sample->end;
    if (sample->verdict == CSP_VERDICT_NONE || sample->verdict == CSP_VERDICT_AMBIGUOUS)
        return rejected(CSP_REJECT_UNSTITCHED, false);
    if (!sample->has_branches && (set->compat || !whole_window))
        return rejected(CSP_REJECT_NO_BRANCHES, false);
    bool lacks_callchain = set->contexts && !sample->has_callchain;
    if (lacks_callchain && set->compat)
        return rejected(CSP_REJECT_NO_CALLCHAIN, false);
    /* llvm-profgen looks at callchains even where it then ignores them. */
    bool look = set->contexts || (set->compat && sample->has_callchain);
    bool truncated = look && sample->callers.truncated;
    if (look && set->compat && (csp_code_flags(&program->code, sample->leaf) & CSP_CODE_EDGE))
        return rejected(CSP_REJECT_EDGE, truncated);
    struct csp_flat_sample *flat =
        csp_sample_set_scratch(set, sample->branches, sample->branch_len);
    if (!set->compat)
        add_ends(set, program, sample, flat);
    if (!flat->branch_len && !(flat->start && flat->end))
        return rejected(CSP_REJECT_EXTERNAL, truncated);
    if (lacks_callchain && !set->keep_all)
        return rejected(CSP_REJECT_NO_CALLCHAIN, truncated);
    if (lacks_callchain) {
        flat->callers = csp_intern(&set->callers, "", 0);
        flat->leaf = CSP_LEAF_NO_CALLCHAIN;
    } else if (set->contexts) {
        flat->callers = sample->callers.number;
        if (!set->compat) {
            flat->leaf = (uint16_t)describe_leaf(program, sample->leaf, csp_flat_newest(set, flat));
            drop_unrecorded_call(set, program, flat);
        }
    } else {
        flat->callers = csp_intern(&set->callers, "", 0);
    }
    uint32_t number = set->repeats ? csp_intern_another(&set->samples, flat, csp_flat_size(flat))
                                   : csp_intern(&set->samples, flat, csp_flat_size(flat));
    return (struct csp_sample_outcome){.number = number, .truncated = truncated};
}

void csp_sample_set_add_again(struct csp_sample_set *set, const struct csp_sample_outcome *outcome,
                              uint64_t count)
{
    set->stats.samples += count;
    if (outcome->truncated)
        set->stats.truncated_callchains += count;
    if (outcome->number == CSP_INTERN_NONE) {
        set->stats.rejected[outcome->reason] += count;
        return;
    }
    set->stats.used += count;
    csp_sample_set_count_at(set, outcome->number, count);
}

struct csp_sample_outcome csp_sample_set_add_numbered(struct csp_sample_set *set,
                                                      const struct csp_program *program,
                                                      const struct csp_numbered_sample *sample)
{
    const struct csp_sample_outcome outcome = place(set, program, sample);
    csp_sample_set_add_again(set, &outcome, sample->count);
    return outcome;
}

void csp_sample_set_add(struct csp_sample_set *set, const struct csp_program *program,
                        const struct csp_sample *sample)
{
    struct csp_numbered_sample numbered = {
        .count = sample->count,
        .start = sample->start,
        .end = sample->end,
        .has_callchain = sample->callchain_len,
        .has_branches = sample->branch_len,
        .verdict = sample->verdict,
    };
    if (sample->callchain_len) {
        numbered.leaf = sample->callchain[0];
        numbered.callers =
            csp_sample_set_callers(set, program, sample->callchain + 1, sample->callchain_len - 1,
                                   !csp_code_is_instruction(&program->code, numbered.leaf));
    }
    struct csp_branch_tally tally = {0};
    set->numbers.len = 0;
    csp_vec_reserve(&set->numbers, sample->branch_len);
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        const struct csp_branch *seen = &sample->branches[i];
        uint32_t branch = csp_pairs_find(&set->branches, seen->from, seen->to);
        if (branch == CSP_NO_PAIR)
            branch = csp_sample_set_branch(set, program, seen->from, seen->to);
        const struct csp_branch_tally one = csp_sample_set_tally(set, branch);
        tally.inside += one.inside;
        tally.impossible += one.impossible;
        tally.external += one.external;
        if (branch != CSP_NO_BRANCH)
            set->numbers.data[set->numbers.len++] = branch;
    }
    csp_sample_set_saw_branches(set, &tally, sample->count);
    numbered.branches = set->numbers.data;
    numbered.branch_len = (uint32_t)set->numbers.len;
    csp_sample_set_add_numbered(set, program, &numbered);
}

void csp_sample_set_clear(struct csp_sample_set *set)
{
    csp_intern_clear(&set->samples);
    set->counts.len = set->complete.len = 0;
}

void csp_sample_set_free(struct csp_sample_set *set)
{
    csp_pairs_free(&set->branches);
    csp_vec_free(&set->branch_infos);
    free(set->known_calls);
    set->known_calls = NULL;
    csp_intern_free(&set->callers);
    csp_intern_free(&set->samples);
    csp_vec_free(&set->counts);
    csp_vec_free(&set->complete);
    csp_vec_free(&set->frames);
    csp_vec_free(&set->numbers);
    csp_buf_free(&set->scratch);
}
