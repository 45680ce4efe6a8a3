/* The branch history that a window gives its pause sample. */
#ifndef CSP_DECODE_HISTORY_H
#define CSP_DECODE_HISTORY_H

#include "decode/window.h"

/* Two neighbouring runs of one window are one stretch of execution when the second begins, in the
 * same context, where the first one's exception returned to. */
bool csp_run_joins(const struct csp_run *run, const struct csp_run *next);

/* The last stretch of a window, as a sample wants it: branches newest first, without the exception
 * that ended it, and the partial ranges at both ends. */
struct csp_history {
    CSP_VEC(struct csp_branch) branches; /* reused from call to call */
    uint64_t start, end;
    uint32_t runs; /* how many were joined */
};

/* Keeps at most `limit` branches, the newest (0: all). When some were left out,
 * `start` is 0: what ran before the oldest one kept is not claimed. */
void csp_history_of_window(const struct csp_windows *list, const struct csp_window *window,
                           uint32_t limit, struct csp_history *history);
/* Fetches the newest of what that will read, for windows that were decoded long ago. */
void csp_history_fetch(const struct csp_windows *list, const struct csp_window *window);
void csp_history_free(struct csp_history *history);

#endif
