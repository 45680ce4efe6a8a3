/* Samples of a piece of a perf-script text. Inside of profgen only. */
#ifndef CSP_PROFGEN_PERF_SCRIPT_READER_H
#define CSP_PROFGEN_PERF_SCRIPT_READER_H

#include "profgen/perf_script.h"

/* Reads the lines from `start`, where a sample begins, to `end` into a set and into a map, which
 * both have what was before them. Errors: CSP_ERR_INPUT. */
int csp_script_read(const struct csp_input *source, uint64_t start, uint64_t end,
                    struct csp_address_map *map, struct csp_sample_set *set,
                    struct csp_perf_script_stats *stats, struct csp_diag *diag);

#endif
