/* The files that a recording's samples were taken in: programs and libraries. */
#ifndef CSP_PROFGEN_RECORDING_BINARIES_H
#define CSP_PROFGEN_RECORDING_BINARIES_H

#include "decode/recording.h"

struct csp_sampled_binary {
    const char *path; /* where its file was found; lives as long as the recording */
    uint64_t samples;
};

typedef CSP_VEC(struct csp_sampled_binary) csp_sampled_binaries;

/* Those whose files were found, the one with the most samples first. */
void csp_recording_binaries(struct csp_recording *recording, csp_sampled_binaries *binaries);

#endif
