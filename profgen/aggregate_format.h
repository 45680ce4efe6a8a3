/* What the files aggregate*.c share. */
#ifndef CSP_PROFGEN_AGGREGATE_FORMAT_H
#define CSP_PROFGEN_AGGREGATE_FORMAT_H

#include "profgen/aggregate.h"
#include "profgen/blocks.h"

#define CSP_AGGREGATE_MAGIC "CSPRAGGR"

enum {
    CSP_AGGREGATE_VERSION = 2,
    CSP_AGGREGATE_HEADER = 16, /* bytes */
    CSP_AGGREGATE_BLOCK = 1 << 20,
    /* Of zstd: a fifth smaller than the usual one, and a recording's is still written in 50 ms. */
    CSP_AGGREGATE_LEVEL = 7,
};

/* Everything of csp_aggregate_merge but the samples and statistics. */
int csp_aggregate_begin_merge(struct csp_aggregate *aggregate, const struct csp_aggregate *other,
                              const char *path, bool duplicates, struct csp_diag *diag);

#endif
