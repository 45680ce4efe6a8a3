/* What the files recording*.c share. */
#ifndef CSP_DECODE_RECORDING_PRIVATE_H
#define CSP_DECODE_RECORDING_PRIVATE_H

#include "base/file.h"
#include "base/map.h"
#include "decode/recording.h"
#include "decode/recording_contents.h"

#include <pthread.h>

/* Code that was needed and is not there. */
struct csp_missing_code {
    uint64_t count; /* how often execution went there */
    uint64_t first; /* the lowest such address */
    const char *why;
};

struct csp_recording {
    struct csp_file file;
    struct csp_perfdata *perfdata;
    struct csp_records *records; /* by time: when they are compressed, or were asked for */
    struct csp_recording_contents contents;
    struct csp_spaces *spaces;
    struct csp_images *images;
    struct csp_trace_input trace;
    struct csp_time_conv_event time_conv; /* the last */
    bool converts;                        /* … and it can be used */
    bool delivered;                       /* csp_recording_samples was called */

    pthread_mutex_t lock;                     /* of what follows */
    CSP_VEC(struct csp_missing_code) missing; /* by binary number */
    struct csp_missing_code unmapped;         /* in no mapping at all */
};

/* Makes the streams from the AUX fragments and from the snapshots. */
void csp_recording_make_streams(struct csp_recording *recording, struct csp_diag *diag);
/* csp_trace_input.open_code of a recording. */
struct csp_code_view *csp_recording_open_code(void *recording, uint32_t stream);

#endif
