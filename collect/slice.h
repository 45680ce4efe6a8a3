/* A recording in slices, each a complete perf.data image in memory.
 *
 * Pieces overlap, so that windows at their seams are whole in one of them: a slice begins with the
 * newest trace and records of the one before, as context, and a sample counts in one slice alone.
 * Which one follows from its time: AUX records tell up to when the trace of a sink is complete.
 *
 *     slice n    ══ context ══╪════════ counted ════════╪═ not yet ═
 *     slice n+1                          ══ context ════╪═══════════ counted …
 *                             from                      to
 */
#ifndef CSP_COLLECT_SLICE_H
#define CSP_COLLECT_SLICE_H

#include "base/vec.h"
#include "perfdata/writer.h"

/* In how large slices the kernel should announce trace, so that little of it is not yet complete.
 */
enum { CSP_SLICE_AUX_BYTES = 128 * 1024 };

typedef CSP_VEC(uint64_t) csp_cpu_times; /* by CPU number; beyond the last: 0 */

struct csp_slice_view; /* what was read of the image */

/* Zero-initialise. */
struct csp_slice {
    int fd;                 /* of the image; owned */
    char path[32];          /* by which this process can open it */
    csp_cpu_times from, to; /* samples after `from` and not after `to` count */
    csp_cpu_times since;    /* what is newer goes into the next slice as context, too */
    uint64_t samples;       /* SAMPLE records that count */
    uint64_t context; /* bytes of each sink's newest trace that go into the next slice: not less
                         than a window has */
    bool last;
    struct csp_slice_view *view;
};

/* Makes the memory for an image. Errors: CSP_ERR_FAILED. */
int csp_slice_create(struct csp_slice *slice, uint64_t context, struct csp_diag *diag);
/* Looks at a complete image: sets `to`, `since` and `samples`. With `all`, everything counts,
 * whatever AUX records say. False when nothing would count: the next slice goes on with all of it.
 */
bool csp_slice_bound(struct csp_slice *slice, bool all);
/* Lets a slice count from where a bounded one ends. */
void csp_slice_follow(struct csp_slice *slice, const struct csp_slice *before);
/* Writes what the next slice needs of a bounded one. Mappings and threads of processes that have
 * ended are left out. */
void csp_slice_carry(const struct csp_slice *slice, struct csp_writer *next);
/* Whether a sample counts in this slice. */
bool csp_slice_counts(const struct csp_slice *slice, uint32_t cpu, uint64_t time);
/* Frees what csp_slice_bound read, not the image. */
void csp_slice_close_view(struct csp_slice *slice);
void csp_slice_free(struct csp_slice *slice);

#endif
