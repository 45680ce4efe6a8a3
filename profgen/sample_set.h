/* Distinct samples with how often each was seen.
 *
 * Whatever recorded them, samples arrive here with their addresses already mapped to the binary
 * (profgen/program.h), everything else being CSP_EXTERNAL. What is kept of each is what unwinding
 * needs, so that samples which unwind alike are unwound once.
 */
#ifndef CSP_PROFGEN_SAMPLE_SET_H
#define CSP_PROFGEN_SAMPLE_SET_H

#include "base/buf.h"
#include "base/intern.h"
#include "base/pairs.h"
#include "decode/sample.h"
#include "profgen/program.h"

#include <stddef.h>

enum csp_reject {
    CSP_REJECT_NO_BRANCHES,  /* no branch history was recorded with it */
    CSP_REJECT_UNSTITCHED,   /* no trace window belongs to it for certain */
    CSP_REJECT_NO_CALLCHAIN, /* contexts were asked for and it has no callchain */
    CSP_REJECT_EXTERNAL,     /* nothing of its history is in the binary */
    CSP_REJECT_EDGE,         /* in a prologue or epilogue (llvm-profgen's rule only) */
    CSP_REJECT_COUNT
};

extern const char *const csp_reject_names[CSP_REJECT_COUNT];

enum { CSP_SAMPLES_WORTH_A_THREAD = 128 }; /* whatever is done with each */

struct csp_sample_set_stats {
    uint64_t samples, used;
    uint64_t rejected[CSP_REJECT_COUNT];
    uint64_t truncated_callchains; /* used, but cut at a return address that no call precedes */
    uint64_t branches;             /* of all samples, both ends in the binary … */
    uint64_t impossible_branches;  /* … but no branch instruction where they begin */
    uint64_t external_branches;    /* dropped: neither end is in the binary */
};

/* What a distinct branch is. */
struct csp_set_branch {
    uint8_t kind;    /* enum csp_branch_kind: a call, a return, or anything else (direct) */
    bool inside;     /* both ends are in the binary … */
    bool impossible; /* … but no branch instruction where it begins */
    uint64_t call;   /* of a return: the call before where it went, or 0 */
};

/* The call before an address that a function returned to: 0 when there is none, and CSP_EXTERNAL
 * when the address is not in the binary. */
struct csp_known_call {
    uint64_t address, call;
};

struct csp_sample_set {
    struct csp_pairs branches; /* distinct ones, from and to */
    CSP_VEC(struct csp_set_branch) branch_infos;
    struct csp_known_call *known_calls; /* that were met lately, each at its own place; or null */
    struct csp_intern callers;          /* distinct arrays of call addresses, innermost first */
    struct csp_intern samples;          /* struct csp_flat_sample */
    CSP_VEC(uint64_t) counts;
    /* Of samples that were checked: their callchains have all the callers that the history shows.
     */
    CSP_VEC(bool) complete;
    uint64_t put_aside; /* how often all samples were: then numbers are others' */
    uint64_t saturated; /* additions after which a count stayed at its maximum */
    struct csp_sample_set_stats stats;
    struct csp_buf scratch;
    CSP_VEC(uint64_t) frames;  /* scratch, like … */
    CSP_VEC(uint32_t) numbers; /* … these: the branches of a sample being made */
    bool contexts;             /* keep callchains */
    bool compat;               /* llvm-profgen 22's choices */
    bool repeats;              /* equal samples may come more than once: they are soon forgotten */
    bool keep_all;             /* also samples that lack a callchain, though callchains are kept */
};

/* What is kept of the sample's own address, the first of the callchain. The leaf of the call stack
 * is where the newest branch went: where in its basic block a sample was taken makes no other
 * difference. */
enum csp_sample_leaf {
    CSP_LEAF_ELSEWHERE = 1 << 0, /* in another function than its newest branch went to */
    CSP_LEAF_OUTSIDE = 1 << 1,   /* not in the binary */
    CSP_LEAF_EDGE = 1 << 2,      /* in a prologue or epilogue, by llvm-profgen's rule */
    CSP_LEAF_NO_CALLCHAIN = 1 << 3,
};

/* A sample as the set keeps it. Windows of trace have hundreds of branches, of which a program has
 * some ten thousand: they are kept as numbers, nearly always in two bytes. */
struct csp_flat_sample {
    uint64_t start, end; /* as in struct csp_sample */
    uint32_t callers;    /* number of the set's callers */
    uint16_t leaf;       /* enum csp_sample_leaf: bits */
    uint16_t wide;       /* 1: some of its numbers have more than 16 bits; else 0 */
    uint32_t branch_len;
    /* Numbers of the set's branches, newest first. Where the sample is wide: the lower half of each
     * and the upper one. */
    uint16_t numbers[];
};

static inline size_t csp_flat_size(const struct csp_flat_sample *flat)
{
    return offsetof(struct csp_flat_sample, numbers) +
           ((size_t)flat->branch_len << flat->wide) * sizeof *flat->numbers;
}

/* The most bytes that a sample of so many branches takes. */
static inline size_t csp_flat_room(size_t branch_len)
{
    return sizeof(struct csp_flat_sample) + branch_len * sizeof(uint32_t);
}

static inline uint32_t csp_flat_number(const struct csp_flat_sample *flat, size_t i)
{
    return flat->wide ? flat->numbers[2 * i] | (uint32_t)flat->numbers[2 * i + 1] << 16
                      : flat->numbers[i];
}

/* The numbers of all its branches, for loops over them. */
static inline void csp_flat_unpack(const struct csp_flat_sample *flat, uint32_t *numbers)
{
    if (flat->wide) {
        for (uint32_t i = 0; i < flat->branch_len; i++)
            numbers[i] = csp_flat_number(flat, i);
        return;
    }
    for (uint32_t i = 0; i < flat->branch_len; i++)
        numbers[i] = flat->numbers[i];
}

/* Whether a sample with these branches is wide. */
static inline bool csp_flat_is_wide(const uint32_t *numbers, uint32_t branch_len)
{
    uint32_t all = 0;
    for (uint32_t i = 0; i < branch_len; i++)
        all |= numbers[i];
    return all > UINT16_MAX;
}

/* Gives a sample its `branch_len` branches; it has room for them. */
void csp_flat_pack(struct csp_flat_sample *flat, const uint32_t *numbers);

static inline const struct csp_flat_sample *csp_sample_set_at(const struct csp_sample_set *set,
                                                              size_t i)
{
    return set->samples.entries.data[i].data;
}

static inline const struct csp_pair *csp_flat_branch(const struct csp_sample_set *set,
                                                     const struct csp_flat_sample *sample, size_t i)
{
    return &set->branches.list.data[csp_flat_number(sample, i)];
}

/* Where its history ended: the leaf of its call stack. */
static inline uint64_t csp_flat_newest(const struct csp_sample_set *set,
                                       const struct csp_flat_sample *sample)
{
    return sample->branch_len ? csp_flat_branch(set, sample, 0)->second : sample->start;
}

static inline const uint64_t *csp_flat_callers(const struct csp_sample_set *set,
                                               const struct csp_flat_sample *sample, uint32_t *len)
{
    const struct csp_intern_entry *entry = &set->callers.entries.data[sample->callers];
    *len = entry->size / (uint32_t)sizeof(uint64_t);
    return entry->data;
}

/* An empty set that keeps the same of its samples. */
static inline struct csp_sample_set csp_sample_set_like(const struct csp_sample_set *set)
{
    return (struct csp_sample_set){
        .contexts = set->contexts, .compat = set->compat, .keep_all = set->keep_all};
}

void csp_sample_set_add(struct csp_sample_set *set, const struct csp_program *program,
                        const struct csp_sample *sample);
/* Whether any sample has a callchain. */
bool csp_sample_set_has_callchains(const struct csp_sample_set *set);
/* Forgets the samples; branches, callers and statistics stay. */
void csp_sample_set_clear(struct csp_sample_set *set);
void csp_sample_set_free(struct csp_sample_set *set);

/* The same in steps, for readers that meet the same branches and callers again and again. */

#define CSP_NO_BRANCH UINT32_MAX

/* The number of a branch; CSP_NO_BRANCH when neither end is in the binary. */
uint32_t csp_sample_set_branch(struct csp_sample_set *set, const struct csp_program *program,
                               uint64_t from, uint64_t to);
/* What the statistics count of the branches of a sample, used or not. */
struct csp_branch_tally {
    uint32_t inside, impossible, external;
};

/* Of one branch. */
static inline struct csp_branch_tally csp_sample_set_tally(const struct csp_sample_set *set,
                                                           uint32_t branch)
{
    if (branch == CSP_NO_BRANCH)
        return (struct csp_branch_tally){.external = 1};
    const struct csp_set_branch *info = &set->branch_infos.data[branch];
    return (struct csp_branch_tally){.inside = info->inside, .impossible = info->impossible};
}

void csp_sample_set_saw_branches(struct csp_sample_set *set, const struct csp_branch_tally *tally,
                                 uint64_t count);

struct csp_set_callers {
    uint32_t number;
    bool truncated; /* cut at a return address that no call precedes */
};

/* The callers of a callchain: `frames` are its return addresses, innermost first. */
struct csp_set_callers csp_sample_set_callers(struct csp_sample_set *set,
                                              const struct csp_program *program,
                                              const uint64_t *frames, uint32_t len,
                                              bool leaf_outside);

struct csp_numbered_sample {
    uint64_t count, start, end; /* as in struct csp_sample */
    uint64_t leaf;              /* the callchain's first address */
    bool has_callchain, has_branches;
    enum csp_verdict verdict;
    struct csp_set_callers callers; /* where it has a callchain */
    const uint32_t *branches;       /* without those that have no number */
    uint32_t branch_len;
};

/* What became of a sample: all that is needed to add it again. */
struct csp_sample_outcome {
    uint32_t number; /* in the set; CSP_INTERN_NONE: it cannot be used … */
    uint8_t reason;  /* … because of this: enum csp_reject */
    bool truncated;
};

struct csp_sample_outcome csp_sample_set_add_numbered(struct csp_sample_set *set,
                                                      const struct csp_program *program,
                                                      const struct csp_numbered_sample *sample);
/* Adds a sample of which another one was added before, that is the same but for how often. */
void csp_sample_set_add_again(struct csp_sample_set *set, const struct csp_sample_outcome *outcome,
                              uint64_t count);
/* A sample to be filled in but for its branches, in the set's scratch memory, and counting it when
 * it is. */
struct csp_flat_sample *csp_sample_set_scratch(struct csp_sample_set *set, const uint32_t *branches,
                                               uint32_t branch_len);
void csp_sample_set_count(struct csp_sample_set *set, const struct csp_flat_sample *flat,
                          uint64_t count);
void csp_sample_set_count_at(struct csp_sample_set *set, uint32_t number, uint64_t count);
/* Warns when a count became too large and stopped at UINT64_MAX. */
void csp_sample_set_warn(const struct csp_sample_set *set, struct csp_diag *diag);
/* Adds all samples and statistics of another set of the same program. Of callchains, no more is
 * taken than the set keeps. Each counts `weight` times. */
void csp_sample_set_merge(struct csp_sample_set *set, const struct csp_sample_set *other,
                          uint64_t weight);
void csp_sample_set_merge_stats(struct csp_sample_set *set,
                                const struct csp_sample_set_stats *other, uint64_t weight);
/* A count `weight` times; where that is too large, it is noted for csp_sample_set_warn. */
static inline uint64_t csp_sample_set_times(struct csp_sample_set *set, uint64_t count,
                                            uint64_t weight)
{
    uint64_t product;
    if (!__builtin_mul_overflow(count, weight, &product))
        return product;
    set->saturated++;
    return UINT64_MAX;
}
/* The same of a set that keeps the same of its samples, without copying them, by up to so many
 * threads: it is empty then. */
void csp_sample_set_take(struct csp_sample_set *set, struct csp_sample_set *other,
                         unsigned threads);
/* Looks up what the branches of a set are, which is not known of one that was read from a file.
 * Returns false when one of them is not in the program. */
bool csp_sample_set_describe(struct csp_sample_set *set, const struct csp_program *program);

#endif
