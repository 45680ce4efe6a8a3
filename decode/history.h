/* The branch history that a window gives its pause sample. */
#ifndef CSP_DECODE_HISTORY_H
#define CSP_DECODE_HISTORY_H

#include "decode/window.h"

/* Two neighbouring runs of one window are one stretch of execution when the second begins, in the
 * same context, where the first one's exception returned to. */
bool csp_run_joins(const struct csp_run *run, const struct csp_run *next);

/* The last stretch of a window, as a sample wants it: without the exception that ended it. */
struct csp_stretch {
    const struct csp_windows *list;
    const struct csp_run *runs; /* oldest first */
    uint32_t run_len;           /* how many were joined */
    uint32_t branch_len;
};

struct csp_stretch csp_stretch_of_window(const struct csp_windows *list,
                                         const struct csp_window *window);
/* Fetches the newest of its branches, for windows that were decoded long ago. */
void csp_stretch_fetch(const struct csp_windows *list, const struct csp_window *window);

typedef CSP_VEC(struct csp_branch) csp_branches;

/* Turns are the branches that open or close calls, by kind: one from a register may be a longjmp.
 * A number, to be added. */
static const uint8_t csp_is_turn[CSP_BRANCH_EXCEPTION + 1] = {
    [CSP_BRANCH_CALL] = 1,
    [CSP_BRANCH_INDIRECT] = 1,
    [CSP_BRANCH_INDIRECT_CALL] = 1,
    [CSP_BRANCH_RETURN] = 1,
};

/* Visits the branches of a stretch, oldest first, and picks out the turns: there are
 * hundreds in a window, and each pass over them is felt. Inlined, so that the visitor is, too. */
static inline __attribute__((always_inline)) void
csp_stretch_visit(const struct csp_stretch *stretch, csp_branches *turns,
                  void (*visit)(void *user, struct csp_branch branch), void *user)
{
    turns->len = 0;
    csp_vec_reserve(turns, stretch->branch_len + 1);
    struct csp_branch *turn = turns->data;
    for (uint32_t run = 0; run < stretch->run_len; run++) {
        struct csp_branch_reader reader = csp_run_branches(stretch->list, &stretch->runs[run]);
        for (uint32_t left = stretch->runs[run].branch_len; left; left--) {
            const struct csp_branch branch = csp_branch_decode(&reader);
            /* Written whether or not it is one, which no processor can predict; in two steps, or
             * compilers pack both addresses first, which takes longer. */
            turn->from = branch.from;
            visit(user, branch);
            turn->to = branch.to;
            turn->kind = branch.kind;
            turn += csp_is_turn[branch.kind];
        }
    }
    turns->len = (size_t)(turn - turns->data);
}

/* The branches of a stretch, newest first, and its turns. */
void csp_stretch_branches(const struct csp_stretch *stretch, csp_branches *turns,
                          csp_branches *newest_first);

#endif
