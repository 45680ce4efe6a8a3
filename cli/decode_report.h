/* The command line of csprof decode, and what it tells in the end. */
#ifndef CSP_CLI_DECODE_REPORT_H
#define CSP_CLI_DECODE_REPORT_H

#include "base/file.h"
#include "cli/cli.h"
#include "decode/decode_output.h"
#include "decode/perfdata_output.h"
#include "decode/recording_samples.h"
#include "decode/snapshot.h"

struct decode {
    struct csp_cli *cli;
    const char *input, *snapshot_path, *output_path, *symfs;
    CSP_VEC(const char *) code;
    csp_engine_create_fn *engine;
    struct csp_snapshot *snapshot;
    struct csp_recording *recording;
    const struct csp_trace_input *trace;
    struct csp_output file;
    struct csp_decode_output output;
    struct csp_perfdata_output *perfdata; /* null: another format */
    struct csp_perfdata_output_stats written;
    struct csp_trace_stats stats;
    struct csp_recording_samples_stats samples;
    uint64_t period;
    bool recorded_stacks;
};

/* The statistics, as one object on standard output. */
void csp_decode_print_json(const struct decode *decode, double seconds);
/* … or in a few notes. */
void csp_decode_print_summary(const struct decode *decode);

#endif
