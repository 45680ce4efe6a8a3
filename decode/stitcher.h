/* From windows and pause samples to stitched samples, in bounded memory.
 *
 * A trace consumer (decode/trace_input.h): it collects the windows of each source, stitches them in
 * batches to the pauses of that source's CPU, and delivers every pause sample once, with its
 * verdict, its branch history and its repaired call stack.
 */
#ifndef CSP_DECODE_STITCHER_H
#define CSP_DECODE_STITCHER_H

#include "decode/callchain.h"
#include "decode/pause_index.h"
#include "decode/trace_input.h"

/* A negative return stops. The sample and its arrays live until the function returns. */
typedef int csp_sample_fn(void *user, const struct csp_sample *sample);

struct csp_stitch_stats {
    uint64_t pauses;                           /* delivered */
    uint64_t verdicts[CSP_VERDICT_COUNT];      /* of those */
    uint64_t unstitched[CSP_UNSTITCHED_COUNT]; /* those without a history, by reason */
    uint64_t windows, windows_alone;           /* the latter: no sample was written for them */
    uint64_t joined_runs;                      /* gaps bridged in delivered histories */
    uint64_t repaired_by_history, repaired_by_lr;
    uint64_t start_agrees;         /* pairs whose resume sample fits too */
    uint64_t no_stream;            /* windows of a CPU without pause samples */
    struct csp_stitch_clock clock; /* of the last batch with a learnt lag */
};

struct csp_stitcher_options {
    const struct csp_trace_input *input;
    const struct csp_pause_index *index;
    const struct csp_perfdata *reader;
    uint64_t tolerance; /* as in struct csp_stitch_stream */
    /* Trace timestamps to the samples' clock; null: they are that already. */
    uint64_t (*to_sample_time)(void *user, uint64_t timestamp);
    /* What the unwind table says of a PC; null: nothing is known. */
    enum csp_leaf_state (*leaf)(void *user, uint32_t pid, uint64_t time, uint64_t pc);
    csp_sample_fn *sample;
    void *user; /* of the three functions above */
};

struct csp_stitcher;

struct csp_stitcher *csp_stitcher_create(const struct csp_stitcher_options *options);
/* The `windows` of a csp_trace_consumer whose user is the stitcher. */
int csp_stitcher_windows(void *stitcher, uint32_t source, const struct csp_chunk *chunk,
                         const struct csp_windows *windows);
/* Stitches what is left and delivers the pauses of CPUs without any trace. */
int csp_stitcher_finish(struct csp_stitcher *stitcher);
const struct csp_stitch_stats *csp_stitcher_stats(const struct csp_stitcher *stitcher);
void csp_stitcher_destroy(struct csp_stitcher *stitcher);

#endif
