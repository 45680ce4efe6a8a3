#include "base/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_DRAW_NS = 1000000000, REDRAW_NS = 100000000 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void csp_progress_begin(struct csp_progress *progress, const char *what, uint64_t total, bool quiet)
{
    *progress = (struct csp_progress){.total = total};
    if (quiet || !isatty(STDERR_FILENO))
        return;
    progress->what = what;
    progress->started_ns = now_ns();
}

void csp_progress_at(struct csp_progress *progress, uint64_t done)
{
    if (!progress->what)
        return;
    uint64_t now = now_ns();
    if (now - progress->started_ns < FIRST_DRAW_NS || now - progress->drawn_ns < REDRAW_NS)
        return;
    progress->drawn_ns = now;
    progress->drawn = true;
    if (progress->total)
        fprintf(stderr, "\r%s: %3.0f %%\033[K", progress->what,
                100.0 * (double)done / (double)progress->total);
    else
        fprintf(stderr, "\r%s: %llu\033[K", progress->what, (unsigned long long)done);
    fflush(stderr);
}

void csp_progress_end(struct csp_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    *progress = (struct csp_progress){0};
}
