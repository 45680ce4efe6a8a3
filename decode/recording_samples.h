/* The samples of a recording, whatever recorded them: stitched to trace windows, or with a branch
 * stack of their own (LBR, BRBE). */
#ifndef CSP_DECODE_RECORDING_SAMPLES_H
#define CSP_DECODE_RECORDING_SAMPLES_H

#include "base/progress.h"
#include "decode/recording.h"
#include "decode/stitcher.h"

struct csp_recording_samples_stats {
    struct csp_trace_stats trace;
    struct csp_stitch_stats stitch;
    uint64_t samples; /* SAMPLE records */
    uint64_t pauses, resumes;
    uint64_t cut;       /* delivered, cut from the trace because nothing else was sampled */
    uint64_t native;    /* delivered with a branch stack of their own */
    uint64_t plain;     /* of other events and without one: not delivered */
    uint64_t malformed; /* cannot be parsed: not delivered */
    uint64_t lost;      /* the kernel says it had no room for so many */
};

struct csp_recording_samples_options {
    csp_engine_create_fn *create; /* makes the decoding engine */
    unsigned threads;
    /* As in struct csp_stitcher_options: samples, or what is written of them; each may be null. */
    csp_sample_fn *sample;
    csp_any_sample_fn *any_sample;
    csp_stretch_fn *stretch; /* as in struct csp_stitched_maker */
    csp_samples_end_fn *samples_end;
    csp_sample_print_fn *print;
    csp_text_fn *text;
    bool all_stats;
    void *user;                           /* of these functions */
    const struct csp_trace_consumer *tee; /* also gets what is decoded; may be null */
    void (*started)(void *user, struct csp_engine *engine); /* as of csp_trace_decode, tee's user */
    struct csp_progress *progress;                          /* counts trace bytes; may be null */
    bool recorded_stacks; /* leave callchains as the kernel wrote them */
    uint64_t period;      /* instructions per sample cut from a trace without pauses; 0: cut none */
};

/* Can be called once: what is known of the recording's windows and samples is forgotten on the way.
 * Decodes the trace, stitches, and delivers every pause sample and every sample with a branch
 * stack, by stream and in time order. Errors: those of decoding, and negative returns of `sample`
 * and tee. A recording without any sample delivers none: no error here. */
int csp_recording_samples(struct csp_recording *recording,
                          const struct csp_recording_samples_options *options,
                          struct csp_recording_samples_stats *stats, struct csp_diag *diag);

#endif
