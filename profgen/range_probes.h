/* The probes of ranges, looked up once for each range that ran. */
#ifndef CSP_PROFGEN_RANGE_PROBES_H
#define CSP_PROFGEN_RANGE_PROBES_H

#include "profgen/counters.h"
#include "profgen/program.h"

struct csp_range_probes {
    const struct csp_program *program;
    uint64_t *known; /* by range: where its probes begin + 1 << 32, their number; 0: unknown */
    CSP_VEC(uint32_t) probes; /* at instructions of the ranges */
};

void csp_range_probes_begin(struct csp_range_probes *probes, const struct csp_program *program,
                            size_t ranges);
/* Where the probes of a range begin in `probes`. */
uint32_t csp_range_probes_of(struct csp_range_probes *probes, const struct csp_counter *range,
                             size_t *count);
void csp_range_probes_free(struct csp_range_probes *probes);

#endif
