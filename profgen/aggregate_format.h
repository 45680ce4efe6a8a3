/* The header of an aggregate's file (profgen/aggregate.h). Inside of profgen only. */
#ifndef CSP_PROFGEN_AGGREGATE_FORMAT_H
#define CSP_PROFGEN_AGGREGATE_FORMAT_H

#define CSP_AGGREGATE_MAGIC "CSPRAGGR"

enum {
    CSP_AGGREGATE_VERSION = 1,
    CSP_AGGREGATE_HEADER = 48, /* bytes; the last 8 are the checksum of those before */
    CSP_AGGREGATE_PLAIN = 0,
    CSP_AGGREGATE_ZSTD = 1,
    /* Nothing is compressed further than this, so that a reader knows what to expect at most. */
    CSP_AGGREGATE_LARGEST_RATIO = 1024,
};

#endif
