/* Samples from trace alone, for recordings without any: continuous, or strobed.
 *
 * A trace that never stops shows every call and return, so the call stack can be followed along it,
 * and samples can be cut from it at will: here every so many instructions and at every gap. Each
 * carries the branches since the one before, so that together they tell of all that ran, once.
 *
 * A sample's time is that of the AUX record that its trace came in, or UINT64_MAX where that has
 * none.
 *
 * A stack is known as far back as the trace goes. It begins empty at each enabling of the trace
 * unit; a system call leaves it as it is; in a signal handler it begins anew, and what was
 * interrupted is taken up again where it was left.
 */
#ifndef CSP_DECODE_TRACE_SAMPLER_H
#define CSP_DECODE_TRACE_SAMPLER_H

#include "decode/stitcher.h"
#include "decode/trace_input.h"

struct csp_trace_sampler_options {
    const struct csp_trace_input *input;
    uint64_t period; /* instructions */
    /* The process of a thread; null: the thread's own number. */
    uint32_t (*pid)(void *user, uint32_t tid);
    csp_sample_fn *sample; /* ip and first frame: the instruction that has just run */
    void *user;            /* of both functions */
};

struct csp_trace_sampler;

struct csp_trace_sampler *csp_trace_sampler_create(const struct csp_trace_sampler_options *options);
/* Takes windows of one source, in trace order. */
int csp_trace_sampler_windows(void *sampler, uint32_t source, const struct csp_chunk *chunk,
                              const struct csp_windows *windows);
uint64_t csp_trace_sampler_count(const struct csp_trace_sampler *sampler);
void csp_trace_sampler_destroy(struct csp_trace_sampler *sampler);

#endif
