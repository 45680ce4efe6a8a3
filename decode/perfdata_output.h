/* Stitched samples as a perf.data file: each with its callchain and branch stack, as a processor
 * with a branch buffer would have been recorded, for perf and everything that reads its files. */
#ifndef CSP_DECODE_PERFDATA_OUTPUT_H
#define CSP_DECODE_PERFDATA_OUTPUT_H

#include "decode/recording.h"
#include "decode/sample.h"

struct csp_perfdata_output;

/* Begins the file at `path`, in place, with what the recording says of its tasks and mappings. The
 * caller closes it, after an error too. Errors: CSP_ERR_IO. */
int csp_perfdata_output_open(struct csp_perfdata_output **output, const char *path,
                             struct csp_recording *recording, struct csp_diag *diag);
/* A csp_sample_fn. Samples without a branch are left out: the readers take them for damage. */
int csp_perfdata_output_sample(void *output, const struct csp_sample *sample);

struct csp_perfdata_output_stats {
    uint64_t samples;
    uint64_t empty_stacks; /* left out */
    uint64_t cut_stacks;   /* whose oldest branches a record has no room for */
};
/* Completes and frees it. Errors: CSP_ERR_IO. */
int csp_perfdata_output_close(struct csp_perfdata_output *output,
                              struct csp_perfdata_output_stats *stats, struct csp_diag *diag);

#endif
