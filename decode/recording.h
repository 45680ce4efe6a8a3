/* A perf.data recording with CoreSight trace: its streams, and the code that they ran through. */
#ifndef CSP_DECODE_RECORDING_H
#define CSP_DECODE_RECORDING_H

#include "decode/code/image.h"
#include "decode/trace_input.h"
#include "perfdata/auxtrace.h"
#include "perfdata/reader.h"
#include "perfdata/spaces.h"

struct csp_recording;
struct csp_recording_contents;

/* Opens a recording, by so many threads (0: one). That it holds trace is not required: see
 * csp_recording_trace. Trace that cannot be decoded is named in a warning: queues without a trace
 * ID, ETMv3, PTM. Errors: CSP_ERR_INPUT, CSP_ERR_UNSUPPORTED, CSP_ERR_USAGE (options), CSP_ERR_IO.
 */
int csp_recording_open(struct csp_recording **recording, const char *path,
                       const struct csp_image_options *options, unsigned threads,
                       struct csp_diag *diag);
void csp_recording_close(struct csp_recording *recording);

/* One stream per AUX queue, format and (when the trace is raw) CPU; none without trace. */
const struct csp_trace_input *csp_recording_trace(const struct csp_recording *recording);
/* Fails with a message unless there is trace to decode, or was before it was lost: then the warning
 * given by csp_recording_open says what is missing. Errors: CSP_ERR_INPUT, CSP_ERR_UNSUPPORTED. */
int csp_recording_require_trace(const struct csp_recording *recording, struct csp_diag *diag);

const struct csp_perfdata *csp_recording_perfdata(const struct csp_recording *recording);
/* Its records from the first on, by time. For one reader at a time; belongs to the recording. */
struct csp_records *csp_recording_records(struct csp_recording *recording);
/* What its records said when they were read; they themselves need not be read again for that. */
const struct csp_recording_contents *csp_recording_contents(const struct csp_recording *recording);
const struct csp_auxtrace *csp_recording_auxtrace(const struct csp_recording *recording);
const struct csp_spaces *csp_recording_spaces(const struct csp_recording *recording);
/* Whether it has samples with a branch history: of pause events, or with a branch stack. */
bool csp_recording_has_samples(const struct csp_recording *recording);
/* The process of a thread; the thread itself when no record tells. */
uint32_t csp_recording_pid(const struct csp_recording *recording, uint32_t tid);

/* What is found for a file that was mapped, by its number in csp_spaces; null: it is missing. */
const struct csp_image *csp_recording_image(struct csp_recording *recording, uint32_t binary);

/* Where an address is in the files that were mapped. */
struct csp_location {
    uint32_t binary;               /* number in csp_spaces */
    uint64_t offset;               /* in the file */
    const struct csp_image *image; /* null: the file is missing */
    uint64_t address; /* as linked; the offset when the file is missing or no segment has it */
};
/* False when nothing is mapped there. */
bool csp_recording_locate(struct csp_recording *recording, uint32_t pid, uint64_t time,
                          uint64_t address, struct csp_location *location);

/* After decoding `ranges` ranges: names each file whose code was needed and missing, once, with how
 * often execution went there. When nothing was decoded, or execution went to missing files more
 * often than there are ranges, the result is none: the worst is named and CSP_ERR_INPUT returned.
 */
int csp_recording_report_missing(struct csp_recording *recording, uint64_t ranges,
                                 struct csp_diag *diag);
/* The same without a verdict: for who can use what was decoded all the same. */
void csp_recording_warn_of_missing(struct csp_recording *recording, struct csp_diag *diag);

#endif
