/* Samples of a recording (perf.data), for a profile of one program in it. */
#ifndef CSP_PROFGEN_RECORDING_INPUT_H
#define CSP_PROFGEN_RECORDING_INPUT_H

#include "decode/recording_samples.h"
#include "profgen/profgen.h"

/* The program that most of the recording's samples with callchains were taken in: not the file of
 * their code, which may be a library's, but what the process was started as. *path is where its
 * file was found, and lives as long as the recording. Errors: CSP_ERR_INPUT: there are no samples,
 * or the file is missing; the message names it. */
int csp_recording_main_program(struct csp_recording *recording, const char **path,
                               struct csp_diag *diag);
/* The same, which also tells its number in csp_spaces, which follows from the recording alone. */
int csp_recording_main_binary(struct csp_recording *recording, uint32_t *number, const char **path,
                              struct csp_diag *diag);

/* Fails, as csp_profgen_recording would, where the recording is of another program than that of
 * `gen`, be it one that could not be used: a binary that did not run may well lack what the one
 * that ran has, and which of both is to be given comes first. What has no build-id is not another.
 * Errors: CSP_ERR_INPUT. */
int csp_profgen_check_ran(const struct csp_profgen *gen, struct csp_recording *recording,
                          struct csp_diag *diag);
/* Opens a program that is wanted for a recording. Errors: those of csp_profgen_check_ran, then
 * those of csp_profgen_open. Close after an error too. */
int csp_profgen_open_for(struct csp_profgen *gen, const struct csp_profgen_options *options,
                         struct csp_recording *recording, struct csp_diag *diag);

/* Who else wants to see what is read; each may be null. A negative return stops. */
struct csp_recording_watch {
    /* A sample as it was recorded, and where in the program it was taken, or CSP_EXTERNAL. */
    int (*sample)(void *user, const struct csp_sample *recorded, uint64_t leaf);
    const struct csp_trace_consumer *trace; /* with a user of its own */
    /* Which samples to add; the others are counted elsewhere. Given, the recording is a slice of a
     * longer one: neither the program nor samples need be in it, and it is no input by itself. */
    bool (*counts)(void *user, const struct csp_sample *recorded);
    void *user;
};

struct csp_recording_how {
    csp_engine_create_fn *engine;
    unsigned threads;
    const struct csp_recording_watch *watch;   /* may be null */
    struct csp_progress *progress;             /* may be null */
    struct csp_recording_samples_stats *stats; /* of decoding, where that was done; may be null */
};

/* Adds the samples of a recording, as an aggregate of it has them. Where the options name a store
 * and nobody watches, that aggregate is looked for and kept there: then nothing is decoded. Its
 * program is the one of the same build-id or, where the recording knows none, of the same file
 * name. Errors: those of csp_recording_samples; CSP_ERR_INPUT when the program is not in the
 * recording, or with another build-id. */
int csp_profgen_recording(struct csp_profgen *gen, struct csp_recording *recording,
                          const struct csp_recording_how *how, struct csp_diag *diag);
/* The aggregate of a recording, likewise; `gen` was opened to make an aggregate, and does not
 * change. Free it after an error too. */
int csp_recording_aggregate(struct csp_profgen *gen, struct csp_recording *recording,
                            const struct csp_recording_how *how, struct csp_aggregate *aggregate,
                            struct csp_diag *diag);

#endif
