/* What the files recording*.c share. */
#ifndef CSP_DECODE_RECORDING_PRIVATE_H
#define CSP_DECODE_RECORDING_PRIVATE_H

#include "base/file.h"
#include "base/map.h"
#include "decode/pause_index.h"
#include "decode/recording.h"

#include <pthread.h>

/* Code that was needed and is not there. */
struct csp_missing_code {
    uint64_t count; /* how often execution went there */
    uint64_t first; /* the lowest such address */
    const char *why;
};

/* Trace that a sample carries: the newest of its CPU's ring (PERF_SAMPLE_AUX). */
struct csp_sample_trace {
    const uint8_t *data;
    uint64_t size, time;
    uint32_t cpu, pid, tid;
};

struct csp_recording {
    struct csp_file file;
    struct csp_perfdata *perfdata;
    struct csp_records *records; /* kept: compressed records live as long as this */
    struct csp_spaces *spaces;
    struct csp_auxtrace aux;
    struct csp_images *images;
    struct csp_map pid_of_tid;   /* pid + 1 */
    uint32_t last_pid, last_tid; /* what it was told last */
    struct csp_trace_input trace;
    CSP_VEC(struct csp_sample_trace) snapshots; /* in time order */
    struct csp_pause_index pauses;
    /* Counted when it was opened: SAMPLE records; those of other events than pauses and resumes,
     * with a branch stack and without; what the kernel says it had no room for. */
    uint64_t samples, native, plain, lost;
    struct csp_time_conv_event time_conv; /* the last */
    bool converts;                        /* … and it can be used */

    pthread_mutex_t lock;                     /* of what follows */
    CSP_VEC(struct csp_missing_code) missing; /* by binary number */
    struct csp_missing_code unmapped;         /* in no mapping at all */
};

/* Makes the streams from the AUX fragments and from the snapshots. */
void csp_recording_make_streams(struct csp_recording *recording, struct csp_diag *diag);
/* csp_trace_input.open_code of a recording. */
struct csp_code_view *csp_recording_open_code(void *recording, uint32_t stream);

#endif
