/* Which program a recording is of: what its processes were started as. */
#ifndef CSP_PROFGEN_RECORDING_PROGRAM_H
#define CSP_PROFGEN_RECORDING_PROGRAM_H

#include "decode/recording.h"

/* The number in csp_spaces of the program with the most samples, and where its file was found, or
 * null. False where no sample tells. */
bool csp_recording_most_sampled(struct csp_recording *recording, uint32_t *number,
                                const struct csp_image **image);

#endif
