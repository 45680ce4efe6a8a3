/* A progress line for work that takes over a second; drawn on a terminal only. */
#ifndef CSP_BASE_PROGRESS_H
#define CSP_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct csp_progress {
    const char *what; /* "decoding"; null draws nothing, ever */
    uint64_t total;   /* in the unit of csp_progress_at; 0 when unknown */
    uint64_t started_ns, drawn_ns;
    bool drawn;
};

/* `quiet` (or a standard error that is no terminal) makes every later call a no-op. */
void csp_progress_begin(struct csp_progress *progress, const char *what, uint64_t total,
                        bool quiet);
/* Tells how far the work is. Cheap enough for every few thousand items, not for every one. */
void csp_progress_at(struct csp_progress *progress, uint64_t done);
/* Removes the line. */
void csp_progress_end(struct csp_progress *progress);

#endif
