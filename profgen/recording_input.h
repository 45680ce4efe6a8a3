/* Samples of a recording (perf.data), for a profile of one program in it. */
#ifndef CSP_PROFGEN_RECORDING_INPUT_H
#define CSP_PROFGEN_RECORDING_INPUT_H

#include "decode/recording_samples.h"
#include "profgen/profgen.h"

/* The program that most frames of the recording's callchains are in. *path is where its file was
 * found, and lives as long as the recording. Errors: CSP_ERR_INPUT: there are no samples, or the
 * file is missing; the message names it. */
int csp_recording_main_program(struct csp_recording *recording, const char **path,
                               struct csp_diag *diag);

/* Adds the samples of a recording. Its program is the one of the same build-id or, where the
 * recording knows none, of the same file name. Errors: those of csp_recording_samples;
 * CSP_ERR_INPUT when the program is not in the recording, or with another build-id. */
int csp_profgen_recording(struct csp_profgen *gen, struct csp_recording *recording,
                          csp_engine_create_fn *engine, struct csp_progress *progress,
                          struct csp_recording_samples_stats *stats, struct csp_diag *diag);

#endif
