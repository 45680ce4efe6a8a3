/* What the samples of a recording depend on, for results that are kept. */
#ifndef CSP_DECODE_RECORDING_KEY_H
#define CSP_DECODE_RECORDING_KEY_H

#include "decode/recording.h"

/* XXH3-128 of the recording's bytes, canonical. */
void csp_recording_digest(const struct csp_recording *recording, uint8_t digest[16]);
/* Appends lines of text: the recording's digest, and of each file that was mapped its name,
 * build-id and either a digest of what was found for it or why nothing was. False when that is not
 * all, because a process that still runs may yet show a missing file. */
bool csp_recording_key(struct csp_recording *recording, struct csp_buf *key);

#endif
