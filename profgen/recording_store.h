/* Aggregates of single recordings, kept from one run to the next (cache/store.h, kind
 * "aggregates"). An entry holds u32 the size of the messages of decoding, those messages
 * (base/messages.h), and the aggregate's file. Inside of profgen only. */
#ifndef CSP_PROFGEN_RECORDING_STORE_H
#define CSP_PROFGEN_RECORDING_STORE_H

#include "profgen/aggregate.h"
#include "profgen/profgen.h"
#include "profgen/run_key.h"

/* Whether, and under which key, the recording's aggregate may be kept; free the key after false
 * too. */
bool csp_recording_store_key(const struct csp_profgen *gen, struct csp_recording *recording,
                             struct csp_run_key *key);
/* Finds the aggregate and tells the messages again. */
bool csp_recording_store_get(const struct csp_profgen *gen, const struct csp_run_key *key,
                             struct csp_aggregate *aggregate, struct csp_diag *diag);
void csp_recording_store_put(const struct csp_profgen *gen, const struct csp_run_key *key,
                             struct csp_aggregate *aggregate, const struct csp_buf *messages);

#endif
