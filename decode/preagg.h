/* Runs counted by branch and by fall-through, for BOLT: perf2bolt's pre-aggregated format.
 *
 *     B FROM TO COUNT MISPREDICTED
 *     F FIRST LAST COUNT            executed in order, LAST being the last instruction's address
 *
 * with locations BUILDID:ADDRESS, as linked; BOLT takes those of the binary's own build-id and
 * counts the others as outside of it. Without a build-id, the address alone.
 */
#ifndef CSP_DECODE_PREAGG_H
#define CSP_DECODE_PREAGG_H

#include "base/buf.h"
#include "base/intern.h"
#include "decode/recording.h"
#include "decode/window.h"

struct csp_preagg_count {
    uint64_t count;
    uint64_t time; /* when it was first seen */
};

/* Zero-initialise, set `recording`; null (a snapshot): addresses are as traced. */
struct csp_preagg {
    struct csp_recording *recording;
    struct csp_intern keys;
    CSP_VEC(struct csp_preagg_count) counts; /* by key */
};

void csp_preagg_add(struct csp_preagg *preagg, const struct csp_chunk *chunk,
                    const struct csp_windows *windows);
/* Everything that was added, sorted. */
void csp_preagg_text(struct csp_preagg *preagg, struct csp_buf *out);
void csp_preagg_free(struct csp_preagg *preagg);

#endif
