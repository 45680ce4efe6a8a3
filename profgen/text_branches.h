/* The distinct branches of a perf-script text. Inside of profgen only.
 *
 * Programs repeat themselves: after a branch mostly comes one of the two that came after it before.
 * So what a branch looked like is kept, and compared with what stands in the text. Only
 * where that is another branch, its addresses are read and looked for. */
#ifndef CSP_PROFGEN_TEXT_BRANCHES_H
#define CSP_PROFGEN_TEXT_BRANCHES_H

#include "base/pairs.h"
#include "base/vec.h"
#include "profgen/perf_script_text.h"

#include <string.h>

#define CSP_NO_TEXT_BRANCH UINT32_MAX

struct csp_text_branch {
    uint64_t count;   /* for the reader */
    uint32_t number;  /* for the reader */
    uint32_t next[2]; /* the branches that came after it, the last one first */
    uint8_t length;   /* of the text; 0: too short or too long to be compared */
    char text[43];    /* "0xFROM/0xTO/" */
};

struct csp_text_branches {
    struct csp_pairs addresses; /* from and to, as the text has them */
    CSP_VEC(struct csp_text_branch) list;
};

/* The number of a branch; that of a new one is `list.len`, and the list has no such entry yet. */
static inline uint32_t csp_text_branches_at(struct csp_text_branches *branches, uint64_t from,
                                            uint64_t to)
{
    return csp_pairs_at(&branches->addresses, from, to);
}

/* Keeps what a branch looks like: from `at` on to the slash before `end`. */
static inline void csp_text_branch_keep(struct csp_text_branch *branch, const char *at,
                                        const char *end)
{
    size_t length = *end == '/' ? (size_t)(end + 1 - at) : 0;
    if (length < 16 || length > sizeof branch->text)
        length = 0;
    branch->length = (uint8_t)length;
    memcpy(branch->text, at, length);
}

/* Sixteen bytes of one differ from those of the other. */
static inline uint64_t csp_text_differ16(const char *a, const char *b)
{
    return (csp_load64(a) ^ csp_load64(b)) | (csp_load64(a + 8) ^ csp_load64(b + 8));
}

/* Remembers that `next` came after a branch. */
static inline void csp_text_branch_then(struct csp_text_branch *branch, uint32_t next)
{
    branch->next[1] = branch->next[0];
    branch->next[0] = next;
}

/* Whether this branch stands at `at`. */
static inline bool csp_text_branch_is(const struct csp_text_branch *branch, const char *at)
{
    size_t length = branch->length, last = length - 16, middle = last < 16 ? last : 16;
    return length && !(csp_text_differ16(at, branch->text) |
                       csp_text_differ16(at + middle, branch->text + middle) |
                       csp_text_differ16(at + last, branch->text + last));
}

static inline void csp_text_branches_free(struct csp_text_branches *branches)
{
    csp_pairs_free(&branches->addresses);
    csp_vec_free(&branches->list);
}

#endif
