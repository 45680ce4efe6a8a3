/* Which program a recording is of: what its processes were started as. */
#ifndef CSP_PROFGEN_RECORDING_PROGRAM_H
#define CSP_PROFGEN_RECORDING_PROGRAM_H

#include "decode/recording.h"

#define CSP_NO_PROGRAM UINT32_MAX

/* The number in csp_spaces of the program with the most of the first samples, or CSP_NO_PROGRAM
 * where none tells, and where its file was found, or null. */
uint32_t csp_recording_most_sampled(struct csp_recording *recording,
                                    const struct csp_image **image);

#endif
