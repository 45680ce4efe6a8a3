/* From windows and pause samples to stitched samples, in bounded memory.
 *
 * Collects the windows of each source, stitches them in batches to the pauses of that source's CPU,
 * and delivers every pause sample once, with its verdict, its branch history and its repaired call
 * stack. What is written of samples may be made by several threads.
 */
#ifndef CSP_DECODE_STITCHER_H
#define CSP_DECODE_STITCHER_H

#include "base/buf.h"
#include "decode/stitched_sample.h"
#include "decode/trace_decode.h"

/* A negative return stops. The sample and its arrays live until the function returns. */
typedef int csp_sample_fn(void *user, const struct csp_sample *sample);
/* The same without an order: called by any thread, `worker` being a number below that of threads
 * and no other thread's meanwhile. */
typedef void csp_any_sample_fn(void *user, unsigned worker, const struct csp_sample *sample);
/* There are no more samples for this worker for now, and all others will wait for it. */
typedef void csp_samples_end_fn(void *user, unsigned worker);
/* Appends to `text` what is to be written of a sample. Called by any thread. */
typedef void csp_sample_print_fn(void *user, const struct csp_sample *sample, struct csp_buf *text);
/* Gets such texts in the samples' order. A negative return stops. */
typedef int csp_text_fn(void *user, const struct csp_buf *text);

struct csp_stitch_stats {
    uint64_t pauses;                           /* delivered */
    uint64_t verdicts[CSP_VERDICT_COUNT];      /* of those */
    uint64_t unstitched[CSP_UNSTITCHED_COUNT]; /* those without a history, by reason */
    uint64_t windows_repeated;                 /* in snapshots that overlap: not counted below */
    uint64_t windows, windows_alone;           /* the latter: no sample was written for them */
    struct csp_stitched_stats made;            /* of samples that were made */
    uint64_t start_agrees;                     /* pairs whose resume sample fits too */
    uint64_t no_stream;                        /* windows of a CPU without pause samples */
    struct csp_stitch_clock clock;             /* of the last batch with a learnt lag */
};

struct csp_stitcher_options {
    const struct csp_trace_input *input;
    const struct csp_pause_index *index;
    const struct csp_perfdata *reader;
    uint64_t tolerance; /* as in struct csp_stitch_stream */
    /* Trace timestamps to the samples' clock; null: they are that already. */
    uint64_t (*to_sample_time)(void *user, uint64_t timestamp);
    /* As in struct csp_stitched_maker. */
    struct csp_leaf (*leaf)(void *user, unsigned worker, uint32_t pid, uint64_t time, uint64_t pc);
    bool recorded_stacks;
    csp_stretch_fn *stretch;
    /* Samples one after another; or several at a time; or what is written of them; or nothing: then
     * they are made only for the sake of the statistics, if at all. */
    csp_sample_fn *sample;
    csp_any_sample_fn *any_sample;
    csp_samples_end_fn *samples_end; /* with `any_sample` */
    csp_sample_print_fn *print;
    csp_text_fn *text; /* with `print` */
    bool all_stats;    /* csp_stitch_stats.made is wanted */
    unsigned threads;
    void *user; /* of the functions above */
};

struct csp_stitcher;

struct csp_stitcher *csp_stitcher_create(const struct csp_stitcher_options *options);
/* Takes the windows of a part, which it keeps until they are stitched. */
int csp_stitcher_part(struct csp_stitcher *stitcher, struct csp_trace_part *part);
/* Stitches what is left and delivers the pauses of CPUs without any trace. */
int csp_stitcher_finish(struct csp_stitcher *stitcher);
struct csp_stitch_stats csp_stitcher_stats(const struct csp_stitcher *stitcher);
void csp_stitcher_destroy(struct csp_stitcher *stitcher);

#endif
