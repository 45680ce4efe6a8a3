/* The distinct branches of a perf-script text. Inside of profgen only.
 *
 * Programs repeat themselves: six of seven branches are the one that came after the same branch
 * before. So what a branch looked like is kept, and compared with what stands in the text. Where
 * that is another branch, it is looked up by its text; only of a new one are the digits read. */
#ifndef CSP_PROFGEN_TEXT_BRANCHES_H
#define CSP_PROFGEN_TEXT_BRANCHES_H

#include "base/pairs.h"
#include "base/vec.h"
#include "profgen/perf_script_text.h"

/* What a branch looks like: "0xFROM/0xTO/", up to the second slash. */
struct csp_branch_text {
    uint64_t words[4]; /* its first and last 16 bytes */
    uint32_t length;   /* 16 to 32; 0: it is not looked up by its text */
};

struct csp_text_branch {
    struct csp_branch_text text;
    uint32_t next;   /* the branch that came after it last: a place in the list */
    uint32_t number; /* for the reader */
    uint64_t tally;  /* for the reader */
};

struct csp_text_branches {
    struct csp_pairs addresses; /* from and to, as the text has them */
    /* What nothing looks like, and the branches in the order of `addresses`. */
    CSP_VEC(struct csp_text_branch) list;
    uint32_t *slots; /* by text: place in the list, 0 is free; `mask` + 1 of them */
    uint32_t mask;
};

/* Looks at 32 bytes from `at` on. */
static inline struct csp_branch_text csp_branch_text(const char *at)
{
    uint32_t slashes = csp_text_slashes(at);
    slashes &= slashes - 1;
    uint32_t length = slashes ? (uint32_t)__builtin_ctz(slashes) + 1 : 0;
    if (length < 16)
        return (struct csp_branch_text){.length = 0};
    const char *last = at + length - 16;
    return (struct csp_branch_text){
        {csp_load64(at), csp_load64(at + 8), csp_load64(last), csp_load64(last + 8)}, length};
}

static inline uint32_t csp_branch_text_hash(const struct csp_branch_text *text)
{
    uint64_t hash = text->words[0] * UINT64_C(0x9e3779b97f4a7c15) +
                    text->words[1] * UINT64_C(0xbf58476d1ce4e5b9) +
                    text->words[2] * UINT64_C(0x94d049bb133111eb) +
                    text->words[3] * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)((hash ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Whether what stands at `at` is what a branch looks like. That must be known. */
static inline bool csp_branch_text_is(const struct csp_branch_text *text, const char *at)
{
    const char *last = at + text->length - 16;
    return !((text->words[0] ^ csp_load64(at)) | (text->words[1] ^ csp_load64(at + 8)) |
             (text->words[2] ^ csp_load64(last)) | (text->words[3] ^ csp_load64(last + 8)));
}

/* The place of the branch whose text is at `at`, or 0 when it is not known by its text. */
static inline uint32_t csp_text_branches_find(const struct csp_text_branches *branches,
                                              const char *at)
{
    const struct csp_branch_text text = csp_branch_text(at);
    if (!text.length)
        return 0;
    for (uint32_t i = csp_branch_text_hash(&text);; i++) {
        uint32_t place = branches->slots[i & branches->mask];
        if (!place || csp_branch_text_is(&branches->list.data[place].text, at))
            return place;
    }
}

void csp_text_branches_begin(struct csp_text_branches *branches);
/* The place of a branch; that of a new one is `list.len`, and the list has no such entry yet. */
static inline uint32_t csp_text_branches_at(struct csp_text_branches *branches, uint64_t from,
                                            uint64_t to)
{
    return csp_pairs_at(&branches->addresses, from, to) + 1;
}

/* Remembers what a branch looks like, whose text is from `at` to `end` and behind it, where it can
 * be looked up by that. */
void csp_text_branches_keep(struct csp_text_branches *branches, uint32_t branch, const char *at,
                            const char *end);
void csp_text_branches_free(struct csp_text_branches *branches);

#endif
