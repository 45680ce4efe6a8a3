/* Samples that become counters as they come, a batch at a time, and are forgotten: where nobody
 * wants the aggregate (profgen/aggregate.h), which holds them all. The profile and what is told of
 * it are the same, but how many samples were distinct is an estimate beyond CSP_DISTINCT_MAX
 * (base/distinct.h).
 *
 * Each thread has a set to add to, which keeps what an aggregate does. Whether there are contexts
 * is decided by the first sample with a callchain, where the mode does not say: until then all are
 * kept. */
#ifndef CSP_PROFGEN_FOLDING_H
#define CSP_PROFGEN_FOLDING_H

#include "profgen/profgen.h"

struct csp_folding;

/* For so many threads; more than one by probes, or where the mode says that there are no contexts,
 * as their lines are looked up one at a time: with several threads an aggregate is made instead. */
struct csp_folding *csp_folding_begin(struct csp_profgen *gen, unsigned threads);
struct csp_sample_set *csp_folding_set(struct csp_folding *folding, unsigned thread);
/* After a sample was added to the thread's set: makes counters of the batch when it is large. */
void csp_folding_added(struct csp_folding *folding, unsigned thread);
/* The thread has no more samples for now: makes counters of those that it has, if they are not few.
 * Threads that do so at the same time do not wait for each other. */
void csp_folding_pause(struct csp_folding *folding, unsigned thread);
/* Decides the mode: without a callchain in any sample there are no contexts. */
void csp_folding_decide(struct csp_folding *folding);
/* Completes the counters and statistics of `gen`. Returns whether any sample was used, of which
 * gen->stats tells how many were distinct if that was asked for. */
bool csp_folding_end(struct csp_folding *folding);
void csp_folding_free(struct csp_folding *folding);

#endif
