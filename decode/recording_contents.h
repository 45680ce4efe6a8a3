/* What a recording's records say: read in sections, by several threads, and put together. */
#ifndef CSP_DECODE_RECORDING_CONTENTS_H
#define CSP_DECODE_RECORDING_CONTENTS_H

#include "decode/first_samples.h"
#include "decode/pause_index.h"
#include "decode/thread_owners.h"
#include "perfdata/auxtrace.h"

/* Trace that a sample carries: the newest of its CPU's ring (PERF_SAMPLE_AUX). */
struct csp_sample_trace {
    const uint8_t *data;
    uint64_t size, time, ordinal; /* of the sample */
    uint32_t cpu, pid, tid;
};

/* Of one section, or of all. */
struct csp_recording_contents {
    struct csp_pause_index pauses;
    struct csp_first_samples first_samples;
    struct csp_auxtrace aux; /* AUX and AUXTRACE records alone were added */
    struct csp_thread_owners owners;
    CSP_VEC(struct csp_sample_trace) snapshots; /* in time order */
    CSP_VEC(struct csp_record) others;          /* that tell more, in time order */
    /* SAMPLE records; those of other events than pauses and resumes, with a branch stack and
     * without; what the kernel says it had no room for. */
    uint64_t samples, native, plain, lost;
    uint64_t lost_bytes, cut_offset; /* as in struct csp_record_counts */
};

/* Reads all records by `threads` threads. Those that were compressed live in `*kept`, null without
 * any, which reads them by time. Errors: CSP_ERR_UNSUPPORTED. */
int csp_recording_contents_read(struct csp_recording_contents *contents,
                                const struct csp_perfdata *reader, unsigned threads,
                                struct csp_records **kept, struct csp_diag *diag);
void csp_recording_contents_free(struct csp_recording_contents *contents);

#endif
