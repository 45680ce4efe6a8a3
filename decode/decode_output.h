/* The output of `csprof decode`: takes what decoding delivers and writes it in one of the formats.
 */
#ifndef CSP_DECODE_DECODE_OUTPUT_H
#define CSP_DECODE_DECODE_OUTPUT_H

#include "base/map.h"
#include "decode/preagg.h"
#include "decode/recording.h"

#include <stdio.h>

enum csp_decode_format {
    CSP_DECODE_SCRIPT,  /* mappings, then per run its branch stack: for llvm-profgen */
    CSP_DECODE_PREAGG,  /* decode/preagg.h */
    CSP_DECODE_PACKETS, /* `offset source text`, with the opencsd engine only */
    CSP_DECODE_RANGES,
    CSP_DECODE_NONE,
};

/* Zero-initialise, then set the first four. */
struct csp_decode_output {
    enum csp_decode_format format;
    struct csp_recording *recording; /* null: a snapshot */
    FILE *stream;                    /* null: nothing is written */
    uint32_t limit;                  /* of branches in a stack; 0: none */

    struct csp_buf text; /* not yet in the stream */
    struct csp_preagg preagg;
    struct csp_map distinct; /* hashes of windows */
    uint64_t empty_runs;     /* runs without a branch, which the script format leaves out */
};

/* Errors: CSP_ERR_INPUT. */
int csp_decode_output_begin(struct csp_decode_output *output, struct csp_diag *diag);
/* To be given to csp_trace_decode, with csp_decode_output_started. */
struct csp_trace_consumer csp_decode_output_consumer(struct csp_decode_output *output);
void csp_decode_output_started(void *output, struct csp_engine *engine);
/* Writes what is left. */
void csp_decode_output_end(struct csp_decode_output *output);
void csp_decode_output_free(struct csp_decode_output *output);

#endif
