/* How far a recording can be trusted: what became of its samples, by whom they were taken, what its
 * windows were like, and how much of them contradicts itself. */
#ifndef CSP_VALIDATE_RECORDING_TRUST_H
#define CSP_VALIDATE_RECORDING_TRUST_H

#include "profgen/recording_input.h"
#include "validate/interval.h"

/* What became of the samples of a thread, file or function. */
struct csp_trust_row {
    char *name;
    uint64_t samples;
    uint64_t verdicts[CSP_VERDICT_COUNT];
    uint64_t unstitched[CSP_UNSTITCHED_COUNT];
};

/* Samples with a history that can be used. */
uint64_t csp_trust_stitched(const struct csp_trust_row *row);

typedef CSP_VEC(struct csp_trust_row) csp_trust_rows;

/* What the events say that the windows should be like. */
struct csp_window_plan {
    uint64_t resume_period, pause_period; /* 0: the recording does not tell */
    bool free_running; /* both count the same; else the second counts while the trace unit runs */
    bool staggered;    /* both count the same in one period, set off against each other */
    double
        length; /* mean, in the pause event's unit: cycles; 0: staggered, by how much is not told */
    double duty; /* share of the time in which the trace unit should run */
};

struct csp_recording_trust {
    const char *recording, *binary; /* binary: null when it is not known */
    struct csp_recording_samples_stats samples;
    struct csp_trust_row all;
    csp_trust_rows threads, files, functions; /* those with most samples first */

    struct csp_window_plan plan;
    uint64_t windows, cut_windows;
    CSP_VEC(uint64_t) lengths; /* instructions of each window, ascending */
    double duty; /* from each resume's sample to the pause's, of the time; 0: not known */

    /* Of the binary alone. */
    unsigned rules; /* as asked for */
    struct csp_sample_check_stats checks;
    double density;           /* as in struct csp_profile_result */
    double branches_per_byte; /* taken branches in the histories for each byte of code */
    uint64_t hot_functions;   /* the fewest that together have 90 % of the samples … */
    uint64_t hot_not_covered; /* … and how many of those no history tells of */
    struct csp_rate covered;  /* samples in functions of which at least one history tells */
};

struct csp_recording_trust_options {
    const char *path, *binary; /* binary: null: the one most callchains are in */
    const char *symfs;
    unsigned rules; /* 1 << csp_sample_rule: what counts as a contradiction */
    unsigned threads;
    csp_engine_create_fn *engine;
    struct csp_progress *progress;
};

/* The rules that no honest sample breaks. */
#define CSP_TRUST_RULES                                                                            \
    (1U << CSP_RULE_LEAF | 1U << CSP_RULE_STACK | 1U << CSP_RULE_FALL_THROUGH |                    \
     1U << CSP_RULE_BRANCH | 1U << CSP_RULE_RETURN)

/* Reads a recording. When its program cannot be found, that is a warning, and what needs it stays
 * zero. Errors: CSP_ERR_INPUT (no recording, or one without samples that could have a history),
 * CSP_ERR_UNSUPPORTED, CSP_ERR_IO. Free after an error too. */
int csp_recording_trust(struct csp_recording_trust *trust,
                        const struct csp_recording_trust_options *options, struct csp_diag *diag);
void csp_recording_trust_free(struct csp_recording_trust *trust);

/* Rejected by the rules, of those checked. */
struct csp_rate csp_trust_bogus(const struct csp_recording_trust *trust);
/* At most `most` rows of each table. */
void csp_recording_trust_text(const struct csp_recording_trust *trust, size_t most,
                              struct csp_buf *out);
/* Members of an object that the caller opened: all rows. */
void csp_recording_trust_json(const struct csp_recording_trust *trust, struct csp_json *json);

#endif
