/* A pause sample together with the window it was stitched to: its branch history and its repaired
 * call stack. */
#ifndef CSP_DECODE_STITCHED_SAMPLE_H
#define CSP_DECODE_STITCHED_SAMPLE_H

#include "decode/callchain.h"
#include "decode/pause_index.h"

/* What making samples tells, for statistics. */
struct csp_stitched_stats {
    uint64_t joined_runs; /* gaps bridged in histories */
    uint64_t repaired_by_history, repaired_by_lr;
    uint64_t missing_callers; /* stacks that lack a frame, and nothing told which */
};

/* Takes the branches of a sample that is being made, of which times, process and thread are known,
 * and picks out their turns. */
typedef void csp_stretch_fn(void *user, unsigned worker, const struct csp_sample *sample,
                            const struct csp_stretch *stretch, csp_branches *turns);

/* What one thread needs to make samples, one at a time. Zero-initialise, then set the first six.
 */
struct csp_stitched_maker {
    const struct csp_perfdata *reader;
    unsigned worker; /* number of the thread, for `leaf` */
    /* What the unwind table says of a PC; null: nothing is known. */
    struct csp_leaf (*leaf)(void *user, unsigned worker, uint32_t pid, uint64_t time, uint64_t pc);
    /* Gets the branches instead of the sample, which then has no array of them; may be null. */
    csp_stretch_fn *stretch;
    void *user;           /* of these functions */
    bool recorded_stacks; /* leave callchains as the kernel wrote them */

    struct csp_stitched_stats stats;
    csp_branches turns, branches;
    csp_frames chain, frames;
};

/* Pause number `number` of a stream, with the window it belongs to (null without any). The sample
 * lives until the maker's next one. */
struct csp_sample csp_stitched_sample(struct csp_stitched_maker *maker,
                                      const struct csp_pause_stream *stream, size_t number,
                                      const struct csp_stitch_pair *pair,
                                      const struct csp_windows *windows,
                                      const struct csp_window *window);
void csp_stitched_maker_free(struct csp_stitched_maker *maker);

#endif
