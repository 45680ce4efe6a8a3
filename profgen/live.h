/* A profile that grows while it is recorded: takes a recording slice by slice, decodes each in a
 * thread of its own, and keeps counters alone (profgen/counters.h), whose number depends on the
 * program and not on time. */
#ifndef CSP_PROFGEN_LIVE_H
#define CSP_PROFGEN_LIVE_H

#include "profgen/profgen.h"
#include "profgen/recording_input.h"

struct csp_live_slice {
    char path[32]; /* a perf.data file; read only once, then `done` is called */
    /* Whether a sample counts in this slice; the others do in others. */
    bool (*counts)(void *slice, uint32_t cpu, uint64_t time);
    void (*done)(void *slice);
    void *slice; /* of both functions */
    bool cut;    /* write what is known up to here */
};

struct csp_live_options {
    const char *binary_path; /* null: the program that most callchains of the first slice are in */
    const char *output;      /* the profile */
    struct csp_image_options images;
    /* How alike, in per cent, the counts of both halves of all samples must be for the profile to
     * be stable (profgen/live_stable.h); 0: nobody asks. */
    double stable_percent;
    double cpu_percent; /* of one processor that decoding may take; 0: no limit */
};

struct csp_live_stats {
    uint64_t slices, samples, stitched, used;
    uint64_t unstitched[CSP_UNSTITCHED_COUNT]; /* samples without a history, by reason */
    uint64_t rejected[CSP_REJECT_COUNT];
    uint64_t counters, contexts;
    double seconds;        /* of processor time that decoding took */
    double steady_seconds; /* of these, after the first slice, with which the program is opened */
    double alike;          /* per cent, of the last two halves; 0: never compared */
    bool stable;
    struct csp_profile_result profile;
};

struct csp_live;

/* Errors: CSP_ERR_FAILED (no thread). `diag` and what `options` points to must outlive it. */
int csp_live_start(struct csp_live **live, const struct csp_live_options *options,
                   struct csp_diag *diag);
/* Whether a slice would be taken at once: none waits, and decoding is within its share of time. */
bool csp_live_ready(struct csp_live *live);
/* Hands a slice over; waits while another one waits to be decoded. */
void csp_live_take(struct csp_live *live, const struct csp_live_slice *slice);
/* Whether to go on makes no sense: the profile is stable, or something failed. */
bool csp_live_enough(struct csp_live *live);
/* Waits for all slices and writes the profile, unless there is nothing in it. Errors: those of
 * decoding; CSP_ERR_IO; CSP_ERR_INPUT: no sample of the program. */
int csp_live_finish(struct csp_live *live, struct csp_live_stats *stats);
void csp_live_free(struct csp_live *live);

#endif
