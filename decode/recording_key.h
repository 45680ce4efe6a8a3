/* What the samples of a recording depend on, for results that are kept. */
#ifndef CSP_DECODE_RECORDING_KEY_H
#define CSP_DECODE_RECORDING_KEY_H

#include "base/vec.h"
#include "decode/recording.h"

/* What the key is made of, which follows from the recording's bytes alone: who kept it need not
 * open the recording again. */
struct csp_recording_outline {
    uint8_t digest[16];               /* XXH3-128 of the recording's bytes, canonical */
    CSP_VEC(struct csp_binary) files; /* that were mapped, by their numbers in csp_spaces */
    CSP_VEC(uint32_t) processes;
};

/* XXH3-128 of the recording's bytes, canonical. */
void csp_recording_digest(const struct csp_recording *recording, uint8_t digest[16]);
/* The outline's texts are the recording's. */
void csp_recording_outline(const struct csp_recording *recording,
                           struct csp_recording_outline *outline);
void csp_recording_outline_free(struct csp_recording_outline *outline);
/* Appends lines of text: the recording's digest, and of each file that was mapped its name,
 * build-id and either a digest of what is found for it or why nothing is. False when that is not
 * all, because a process that still runs may yet show a missing file. */
bool csp_recording_outline_key(const struct csp_recording_outline *outline,
                               struct csp_images *images, struct csp_buf *key);
/* The same of a recording that is open. */
bool csp_recording_key(struct csp_recording *recording, struct csp_buf *key);

#endif
