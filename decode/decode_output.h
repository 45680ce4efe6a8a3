/* The output of `csprof decode`: takes what decoding delivers and writes it in one of the formats.
 */
#ifndef CSP_DECODE_DECODE_OUTPUT_H
#define CSP_DECODE_DECODE_OUTPUT_H

#include "base/distinct.h"
#include "decode/preagg.h"
#include "decode/recording.h"
#include "decode/trace_decode.h"

#include <stdio.h>

enum csp_decode_format {
    CSP_DECODE_SCRIPT,   /* mappings, then samples (without any: runs) as branch stacks */
    CSP_DECODE_SAMPLES,  /* csp_text_stitched_sample */
    CSP_DECODE_PERFDATA, /* decode/perfdata_output.h: nothing is written here */
    CSP_DECODE_PREAGG,   /* decode/preagg.h */
    CSP_DECODE_PACKETS,  /* `offset source text`, with the opencsd engine only */
    CSP_DECODE_RANGES,
    CSP_DECODE_NONE,
};

/* Zero-initialise, then set the first six. */
struct csp_decode_output {
    enum csp_decode_format format;
    struct csp_recording *recording; /* null: a snapshot */
    FILE *stream;                    /* null: nothing is written */
    uint32_t limit;                  /* of branches in a stack; 0: none */
    bool by_sample;                  /* the recording has samples: script tells of those */
    bool count_distinct;             /* `distinct` is wanted */

    struct csp_buf text; /* not yet in the stream */
    struct csp_preagg preagg;
    struct csp_distinct distinct; /* windows by what they did, without when and whose it was */
    /* Samples or runs without a branch, which a script has no place for. Changed atomically. */
    uint64_t empty_stacks;
};

/* Writes what comes before everything else. */
void csp_decode_output_begin(struct csp_decode_output *output);
/* To be given to csp_trace_decode, with csp_decode_output_started where the format is packets. */
struct csp_trace_consumer csp_decode_output_consumer(struct csp_decode_output *output);
void csp_decode_output_started(void *output, struct csp_engine *engine);
/* A csp_sample_print_fn and its csp_text_fn, for the two formats that tell of samples. */
void csp_decode_output_print(void *output, const struct csp_sample *sample, struct csp_buf *text);
int csp_decode_output_text(void *output, const struct csp_buf *text);
/* Writes what is left. */
void csp_decode_output_end(struct csp_decode_output *output);
void csp_decode_output_free(struct csp_decode_output *output);

#endif
