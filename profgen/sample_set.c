#include "profgen/sample_set.h"

#include <string.h>

const char *const csp_reject_names[CSP_REJECT_COUNT] = {
    "no_branches", "unstitched", "no_callchain", "external", "prologue_epilogue",
};

static bool reject(struct csp_sample_set *set, enum csp_reject reason, uint64_t count)
{
    set->stats.rejected[reason] += count;
    return false;
}

/* The sample being put together in the set's scratch buffer. */
static struct csp_flat_sample *scratch_sample(struct csp_sample_set *set,
                                              const struct csp_sample *sample)
{
    set->scratch.len = 0;
    size_t most =
        sizeof(struct csp_flat_sample) +
        ((size_t)sample->callchain_len + 2 * (size_t)sample->branch_len + 1) * sizeof(uint64_t);
    struct csp_flat_sample *flat = (void *)csp_buf_reserve(&set->scratch, most);
    *flat = (struct csp_flat_sample){0};
    return flat;
}

/* Turns return addresses into call addresses, and a run of external frames into one. */
static void add_frames(struct csp_sample_set *set, const struct csp_program *program,
                       const struct csp_sample *sample, struct csp_flat_sample *flat)
{
    uint64_t *frames = flat->addresses;
    uint32_t count = 0;
    for (uint32_t i = 0; i < sample->callchain_len; i++) {
        uint64_t frame = sample->callchain[i];
        if (!csp_code_is_instruction(&program->code, frame)) {
            if (!count || frames[count - 1] != CSP_EXTERNAL)
                frames[count++] = CSP_EXTERNAL;
            continue;
        }
        if (count) {
            frame = csp_program_call_before(program, frame);
            if (!frame) {
                set->stats.truncated_callchains += sample->count;
                break;
            }
        }
        frames[count++] = frame;
    }
    /* What called main is of no interest. */
    if (count > 1 && frames[count - 1] == CSP_EXTERNAL)
        count--;
    flat->frame_len = count;
}

static void add_branches(struct csp_sample_set *set, const struct csp_program *program,
                         const struct csp_sample *sample, struct csp_flat_sample *flat)
{
    uint64_t *at = flat->addresses + flat->frame_len;
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        uint64_t from = sample->branches[i].from, to = sample->branches[i].to;
        uint8_t flags = csp_code_flags(&program->code, from);
        bool from_here = flags & CSP_CODE_START;
        bool to_here = csp_code_is_instruction(&program->code, to);
        if (!from_here && !to_here) {
            set->stats.external_branches += sample->count;
            continue;
        }
        if (from_here && to_here) {
            set->stats.branches += sample->count;
            if (!(flags & (CSP_CODE_CALL | CSP_CODE_RETURN | CSP_CODE_BRANCH)))
                set->stats.impossible_branches += sample->count;
        }
        *at++ = from_here ? from : CSP_EXTERNAL;
        *at++ = to_here ? to : CSP_EXTERNAL;
        flat->branch_len++;
    }
}

/* The two ends of a trace window count where they are in the binary. */
static void add_ends(const struct csp_program *program, const struct csp_sample *sample,
                     struct csp_flat_sample *flat)
{
    if (sample->branch_len != 0 && !flat->branch_len)
        return;
    const struct csp_branch *oldest =
        sample->branch_len ? &sample->branches[sample->branch_len - 1] : NULL;
    if (csp_code_is_instruction(&program->code, sample->start) &&
        (!oldest || csp_code_is_instruction(&program->code, oldest->from)))
        flat->start = sample->start;
    if (sample->end && (!oldest || csp_code_is_instruction(&program->code, sample->branches[0].to)))
        flat->end = sample->end;
}

/* Outside of the binary nobody can tell: calls into libraries are not always recorded. */
static uint32_t describe_leaf(const struct csp_program *program, uint64_t leaf, uint64_t newest)
{
    if (leaf == CSP_EXTERNAL)
        return CSP_LEAF_OUTSIDE;
    uint32_t edge = csp_code_flags(&program->code, leaf) & CSP_CODE_EDGE ? CSP_LEAF_EDGE : 0;
    if (newest == CSP_EXTERNAL || csp_functions_at(&program->functions, leaf) ==
                                      csp_functions_at(&program->functions, newest))
        return edge;
    return CSP_LEAF_ELSEWHERE | edge;
}

/* Puts where the newest branch went in the place of the sample's own address. */
static void normalise_leaf(const struct csp_program *program, struct csp_flat_sample *flat,
                           bool compat)
{
    uint64_t *frames = flat->addresses;
    uint64_t newest = flat->branch_len ? frames[flat->frame_len + 1] : flat->start;
    if (!compat)
        flat->leaf = describe_leaf(program, frames[0], newest);
    bool unrecorded_call = (flat->leaf & CSP_LEAF_OUTSIDE) && flat->frame_len > 1 &&
                           newest != CSP_EXTERNAL &&
                           csp_functions_at(&program->functions, frames[1]) ==
                               csp_functions_at(&program->functions, newest);
    if (unrecorded_call) {
        /* The history ends in the caller, before it called out of the binary. */
        flat->frame_len--;
        memmove(frames, frames + 1,
                (flat->frame_len + 2 * (size_t)flat->branch_len) * sizeof *frames);
    }
    frames[0] = newest;
}

static bool build(struct csp_sample_set *set, const struct csp_program *program,
                  const struct csp_sample *sample, struct csp_flat_sample *flat)
{
    bool whole_window = sample->start && sample->end;
    if (sample->verdict == CSP_VERDICT_NONE || sample->verdict == CSP_VERDICT_AMBIGUOUS)
        return reject(set, CSP_REJECT_UNSTITCHED, sample->count);
    if (!sample->branch_len && (set->compat || !whole_window))
        return reject(set, CSP_REJECT_NO_BRANCHES, sample->count);
    /* llvm-profgen looks at callchains even where it then ignores them. */
    if (set->contexts || (set->compat && sample->callchain_len)) {
        add_frames(set, program, sample, flat);
        if (!flat->frame_len)
            return reject(set, CSP_REJECT_NO_CALLCHAIN, sample->count);
        if (set->compat && (csp_code_flags(&program->code, flat->addresses[0]) & CSP_CODE_EDGE))
            return reject(set, CSP_REJECT_EDGE, sample->count);
        if (!set->contexts)
            flat->frame_len = 0;
    }
    add_branches(set, program, sample, flat);
    if (!set->compat)
        add_ends(program, sample, flat);
    if (!flat->branch_len && !(flat->start && flat->end))
        return reject(set, CSP_REJECT_EXTERNAL, sample->count);
    if (set->contexts)
        normalise_leaf(program, flat, set->compat);
    return true;
}

void csp_sample_set_add(struct csp_sample_set *set, const struct csp_program *program,
                        const struct csp_sample *sample)
{
    set->stats.samples += sample->count;
    struct csp_flat_sample *flat = scratch_sample(set, sample);
    if (!build(set, program, sample, flat))
        return;
    set->stats.used += sample->count;
    size_t words = flat->frame_len + 2 * (size_t)flat->branch_len;
    uint32_t id = csp_intern(&set->samples, flat, sizeof *flat + words * sizeof *flat->addresses);
    if (id == set->counts.len)
        csp_vec_push(&set->counts, 0);
    set->counts.data[id] += sample->count;
}

void csp_sample_set_free(struct csp_sample_set *set)
{
    csp_intern_free(&set->samples);
    csp_vec_free(&set->counts);
    csp_buf_free(&set->scratch);
}
