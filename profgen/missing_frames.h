/* Frames that tail calls took out of a context.
 *
 * A function that jumps to its last callee leaves no frame: the callchain shows a call to one
 * function and the frame of another. Where the tail calls seen in the branch histories lead from
 * the one to the other by exactly one path, the jumps of that path are put back. A path goes
 * through no function twice. (llvm-profgen 22 remembers what it found while parts of a circle of
 * tail calls were closed to it, so that its answer depends on the order of its samples.)
 */
#ifndef CSP_PROFGEN_MISSING_FRAMES_H
#define CSP_PROFGEN_MISSING_FRAMES_H

#include "profgen/counters.h"
#include "profgen/program.h"

struct csp_missing_frames;

/* Learns from all branches of `counters`; paths have at most `depth` jumps (no more than 1000). */
struct csp_missing_frames *csp_missing_frames_create(const struct csp_program *program,
                                                     const struct csp_counters *counters,
                                                     uint32_t depth);
/* The same for another thread, without learning again. It does not outlive the one that learned. */
struct csp_missing_frames *csp_missing_frames_beside(const struct csp_missing_frames *learned);
/* The jumps that are missing between a call and the next frame: the address of its call, or the
 * leaf's. They live until the next call. */
const uint64_t *csp_missing_frames_between(struct csp_missing_frames *frames, uint64_t call,
                                           uint64_t next, size_t *count);
void csp_missing_frames_destroy(struct csp_missing_frames *frames);

#endif
