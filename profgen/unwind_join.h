/* The unwinders of several threads become one: all take their counts to the first. */
#ifndef CSP_PROFGEN_UNWIND_JOIN_H
#define CSP_PROFGEN_UNWIND_JOIN_H

#include "profgen/unwind_step.h"

/* Ends the logs of the first one, and adds the statistics of all to `stats`. */
void csp_unwinders_join(struct csp_unwinder *const *unwinders, unsigned count, unsigned threads,
                        struct csp_unwind_stats *stats);

#endif
