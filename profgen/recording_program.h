/* Which program a recording is of: what its processes were started as. */
#ifndef CSP_PROFGEN_RECORDING_PROGRAM_H
#define CSP_PROFGEN_RECORDING_PROGRAM_H

#include "decode/recording.h"

#define CSP_NO_PROGRAM UINT32_MAX

/* The number in csp_spaces of the program with the most samples, or CSP_NO_PROGRAM where no sample
 * tells, and where its file was found, or null. Errors: those of csp_records_open. */
int csp_recording_most_sampled(struct csp_recording *recording, uint32_t *number,
                               const struct csp_image **image, struct csp_diag *diag);

#endif
