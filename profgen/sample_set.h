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
#include "decode/sample.h"
#include "profgen/program.h"

enum csp_reject {
    CSP_REJECT_NO_BRANCHES,  /* no branch history was recorded with it */
    CSP_REJECT_UNSTITCHED,   /* no trace window belongs to it for certain */
    CSP_REJECT_NO_CALLCHAIN, /* contexts were asked for and it has no callchain */
    CSP_REJECT_EXTERNAL,     /* nothing of its history is in the binary */
    CSP_REJECT_EDGE,         /* in a prologue or epilogue (llvm-profgen's rule only) */
    CSP_REJECT_COUNT
};

extern const char *const csp_reject_names[CSP_REJECT_COUNT];

struct csp_sample_set_stats {
    uint64_t samples, used;
    uint64_t rejected[CSP_REJECT_COUNT];
    uint64_t truncated_callchains; /* used, but cut at a return address that no call precedes */
    uint64_t branches;             /* of all samples, both ends in the binary … */
    uint64_t impossible_branches;  /* … but no branch instruction where they begin */
    uint64_t external_branches;    /* dropped: neither end is in the binary */
};

struct csp_sample_set {
    struct csp_intern samples; /* struct csp_flat_sample */
    CSP_VEC(uint64_t) counts;
    struct csp_sample_set_stats stats;
    struct csp_buf scratch;
    bool contexts; /* keep callchains */
    bool compat;   /* llvm-profgen 22's choices */
};

/* What is kept of the sample's own address, the first of the callchain. The first frame kept is
 * where the newest branch went: where in its basic block a sample was taken makes no other
 * difference. */
enum csp_sample_leaf {
    CSP_LEAF_ELSEWHERE = 1 << 0, /* in another function than its newest branch went to */
    CSP_LEAF_OUTSIDE = 1 << 1,   /* not in the binary */
    CSP_LEAF_EDGE = 1 << 2,      /* in a prologue or epilogue, by llvm-profgen's rule */
};

/* A sample as the set keeps it: frames, leaf first (the others are call addresses), then branches,
 * newest first, as pairs of from and to. */
struct csp_flat_sample {
    uint64_t start, end; /* as in struct csp_sample */
    uint32_t frame_len, branch_len;
    uint32_t leaf; /* enum csp_sample_leaf: bits */
    uint32_t zero;
    uint64_t addresses[];
};

static inline const struct csp_flat_sample *csp_sample_set_at(const struct csp_sample_set *set,
                                                              size_t i)
{
    return set->samples.entries.data[i].data;
}

void csp_sample_set_add(struct csp_sample_set *set, const struct csp_program *program,
                        const struct csp_sample *sample);
void csp_sample_set_free(struct csp_sample_set *set);

#endif
