/* Whole results of profile generation, kept from one run to the next (cache/store.h, kind
 * "profiles"). An entry holds how it went (struct csp_profgen_stats as it lies in memory: the key
 * names the program to the byte), u32 the size of the messages, those messages (base/messages.h),
 * and the output. */
#ifndef CSP_PROFGEN_RESULT_STORE_H
#define CSP_PROFGEN_RESULT_STORE_H

#include "profgen/profgen.h"
#include "profgen/run_key.h"

/* Finds a result, appends it to `out` and tells its messages again. Of `gen`, which was not opened,
 * it sets what csp_profgen_json needs. */
bool csp_result_store_get(struct csp_store *store, const struct csp_run_key *key,
                          struct csp_profgen *gen, struct csp_buf *out, struct csp_diag *diag);
/* Keeps a result, unless it depends on more than the key knows. */
void csp_result_store_put(struct csp_store *store, const struct csp_run_key *key,
                          const struct csp_profgen *gen, const struct csp_buf *messages,
                          const struct csp_buf *out);

#endif
