/* A sample of the set (profgen/sample_set.h) as decode's history and callchain, so that both know
 * one way to tell which calls are open.
 *
 * There frames are return addresses and here they are addresses of calls, whatever their length: a
 * call is handed over as its address, what it returns to as that address and CSP_CALL_SIZE.
 */
#ifndef CSP_PROFGEN_SAMPLE_HISTORY_H
#define CSP_PROFGEN_SAMPLE_HISTORY_H

#include "decode/callchain.h"
#include "profgen/sample_set.h"

enum { CSP_CALL_SIZE = 4 };

/* The branches of a sample with their kinds, newest first, up to the first run between two of them
 * that cannot have been: what is beyond it does not lead here. Replaces what `history` held. */
void csp_sample_history(const struct csp_program *program, const struct csp_flat_sample *sample,
                        struct csp_history *history);

/* The calls of a history that had not returned at its end, innermost first. */
void csp_sample_open_calls(const struct csp_history *history, csp_frames *out);

/* The call stack of a sample, leaf first, with the callers that its callchain lacks: those whose
 * calls the history shows. Returns whether it lacked any. */
bool csp_sample_callchain(const struct csp_program *program, const struct csp_flat_sample *sample,
                          const struct csp_history *history, csp_frames *scratch, csp_frames *out);

#endif
