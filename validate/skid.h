/* Where samples landed, beside where the time went.
 *
 * An interrupt is not taken at the instruction that the time went to: the core finishes what it has
 * begun, and what the sample shows is the next instruction that is not done yet. */
#ifndef CSP_VALIDATE_SKID_H
#define CSP_VALIDATE_SKID_H

#include "base/json.h"
#include "decode/recording.h"
#include "validate/spe_table.h"

/* An instruction or a function of a workload. */
struct csp_skid_place {
    uint64_t start, end; /* addresses in its process, `end` exclusive */
    double time;         /* share of the workload's time, measured */
    char *what;
    uint64_t samples;
    uint64_t records; /* of SPE, when there are some */
};

struct csp_skid {
    char *about;
    CSP_VEC(struct csp_skid_place) places;
    uint64_t samples, elsewhere; /* in the places; all others of the recording */
    uint64_t records;
    bool instructions; /* the places are instructions, not functions */
};

/* What the workload wrote (validate/workload/workload.h). Errors: CSP_ERR_FAILED. */
int csp_skid_read(struct csp_skid *skid, const char *path, struct csp_diag *diag);
/* Counts the samples of a recording of it. Errors: CSP_ERR_INPUT. */
int csp_skid_count(struct csp_skid *skid, struct csp_recording *recording, struct csp_diag *diag);
/* Counts SPE records of the same program, whose addresses are fixed. */
void csp_skid_count_spe(struct csp_skid *skid, const struct csp_spe_table *table);
void csp_skid_free(struct csp_skid *skid);

/* The place that has most time, and the one that has most samples; null without samples. */
const struct csp_skid_place *csp_skid_slowest(const struct csp_skid *skid);
const struct csp_skid_place *csp_skid_most_sampled(const struct csp_skid *skid);

/* The table and what it means, for somebody who has never heard of skid. */
void csp_skid_text(const struct csp_skid *skid, struct csp_buf *out);
void csp_skid_svg(const struct csp_skid *skid, struct csp_buf *out);
/* Members of an object that the caller opened. */
void csp_skid_json(const struct csp_skid *skid, struct csp_json *json);

#endif
