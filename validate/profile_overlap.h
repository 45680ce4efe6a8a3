/* How much two profiles say the same.
 *
 * The overlap of two profiles A and B over some kind of thing (functions, blocks, contexts) is
 *     sum over all things v of min(a(v) / sum of a, b(v) / sum of b),
 * 1 when they are proportional and 0 when they have nothing in common. Over the blocks of a program
 * it is the "block overlap degree" by which the papers on AutoFDO and CSSPGO judge a sampled
 * profile against exact counts. */
#ifndef CSP_VALIDATE_PROFILE_OVERLAP_H
#define CSP_VALIDATE_PROFILE_OVERLAP_H

#include "base/json.h"
#include "validate/profile_table.h"

/* A thing of which the two profiles have different shares. */
struct csp_difference {
    char *name;
    double a, b; /* shares of all counts */
};

typedef CSP_VEC(struct csp_difference) csp_differences;

struct csp_one_sided {
    uint64_t number; /* things that only one profile has counted */
    double share;    /* of that profile's counts */
};

struct csp_profile_overlap {
    bool entries; /* set by the caller: of functions' entries alone; nothing is told of blocks */
    bool no_contexts; /* set by the caller: B was counted without any; nothing is told of them */
    double function, block, context;
    double block_in_functions; /* of each function's blocks alone, weighted by B */
    struct csp_one_sided missing_functions, spurious_functions;
    struct csp_one_sided missing_contexts;  /* in B, not in A */
    struct csp_one_sided spurious_contexts; /* in A, not in B */
    /* Functions of both whose control-flow checksums differ: their blocks cannot be compared. */
    struct csp_one_sided changed_functions;      /* share of A's counts */
    csp_differences functions, blocks, contexts; /* the largest differences, largest first */
};

/* Compares. `most` is how many differences to keep of each kind. Errors: CSP_ERR_INPUT when one is
 * by probes and the other by lines. */
int csp_profile_overlap(struct csp_profile_overlap *overlap, const struct csp_profile_table *a,
                        const struct csp_profile_table *b, size_t most, struct csp_diag *diag);
void csp_profile_overlap_free(struct csp_profile_overlap *overlap);
void csp_profile_overlap_text(const struct csp_profile_overlap *overlap, struct csp_buf *out);
/* Members of an object that the caller opened. */
void csp_profile_overlap_json(const struct csp_profile_overlap *overlap, struct csp_json *json);

#endif
