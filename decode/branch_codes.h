/* The branches of a run, in eight bytes each instead of twenty-four: windows that wait for their
 * pauses have millions, more than the processor's cache, and writing and reading them would be what
 * takes the time.
 *
 * A code tells how many bytes ran since the branch before (the first one: since the run began), and
 * how far the branch went from there. So a run is read from its beginning on. What is too far away,
 * a library's code mostly, follows its code as two addresses.
 */
#ifndef CSP_DECODE_BRANCH_CODES_H
#define CSP_DECODE_BRANCH_CODES_H

#include "decode/sample.h"

#include <stdbool.h>

/* From the lowest bit on: 4 of the kind, 24 of the bytes that ran, 36 of the distance. */
typedef uint64_t csp_branch_code;

enum {
    CSP_BRANCH_CODE_KIND = 4,
    CSP_BRANCH_CODE_RUN = 24,
    CSP_BRANCH_CODE_FAR = (1 << CSP_BRANCH_CODE_KIND) - 1, /* instead of a kind, which follows it */
    CSP_BRANCH_CODES_MOST = 3,                             /* that one branch takes */
};

_Static_assert((int)CSP_BRANCH_EXCEPTION < (int)CSP_BRANCH_CODE_FAR, "kinds");

static inline csp_branch_code csp_branch_code_of(uint64_t ran, uint64_t distance, uint32_t kind)
{
    return kind | ran << CSP_BRANCH_CODE_KIND |
           distance << (CSP_BRANCH_CODE_KIND + CSP_BRANCH_CODE_RUN);
}

/* How many bytes ran. */
static inline uint64_t csp_branch_code_ran(csp_branch_code code)
{
    return code >> CSP_BRANCH_CODE_KIND & ((UINT64_C(1) << CSP_BRANCH_CODE_RUN) - 1);
}

/* 0 when that can be read again. */
static inline uint64_t csp_branch_is_far(uint64_t ran, uint64_t distance)
{
    enum { DISTANCE = 64 - CSP_BRANCH_CODE_KIND - CSP_BRANCH_CODE_RUN };
    return ran >> CSP_BRANCH_CODE_RUN | (distance + (UINT64_C(1) << (DISTANCE - 1))) >> DISTANCE;
}

static inline void csp_branch_put_far(csp_branch_code *codes, const struct csp_branch *branch)
{
    codes[0] = csp_branch_code_of(branch->kind, 0, CSP_BRANCH_CODE_FAR);
    codes[1] = branch->from;
    codes[2] = branch->to;
}

/* Writes a branch, where execution went on at `start` before it, and returns how many codes. */
static inline size_t csp_branch_encode(csp_branch_code *codes, uint64_t start,
                                       const struct csp_branch *branch)
{
    uint64_t ran = branch->from - start, distance = branch->to - branch->from;
    if (!csp_branch_is_far(ran, distance)) {
        codes[0] = csp_branch_code_of(ran, distance, branch->kind);
        return 1;
    }
    csp_branch_put_far(codes, branch);
    return CSP_BRANCH_CODES_MOST;
}

/* Reads the branches of a run, oldest first. */
struct csp_branch_reader {
    const csp_branch_code *next;
    uint64_t address; /* where execution goes on */
};

static inline struct csp_branch csp_branch_decode(struct csp_branch_reader *reader)
{
    csp_branch_code code = *reader->next++;
    uint64_t from = reader->address + csp_branch_code_ran(code);
    uint64_t to = from + (uint64_t)((int64_t)code >> (CSP_BRANCH_CODE_KIND + CSP_BRANCH_CODE_RUN));
    uint32_t kind = code & CSP_BRANCH_CODE_FAR;
    if (__builtin_expect(kind == CSP_BRANCH_CODE_FAR, 0)) {
        kind = (uint32_t)(code >> CSP_BRANCH_CODE_KIND);
        from = *reader->next++;
        to = *reader->next++;
    }
    reader->address = to;
    return (struct csp_branch){from, to, (enum csp_branch_kind)kind};
}

#endif
