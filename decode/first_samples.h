/* The first samples of a recording, by time: enough to tell what it is of. */
#ifndef CSP_DECODE_FIRST_SAMPLES_H
#define CSP_DECODE_FIRST_SAMPLES_H

#include "base/vec.h"
#include "perfdata/record.h"

enum { CSP_FIRST_SAMPLES = 20000 };

/* Where a sample's record is. */
struct csp_first_sample {
    uint64_t time, ordinal;
    const uint8_t *body;
    uint32_t body_size, attr;
};

struct csp_first_samples {
    CSP_VEC(struct csp_first_sample) list; /* at most CSP_FIRST_SAMPLES when they are finished */
    /* That many are not younger than this, so that those which come later have to be older. */
    bool is_bounded;
    uint64_t bound;
};

/* Adds a sample that may be one of the first. */
void csp_first_samples_take(struct csp_first_samples *samples, const struct csp_record *record);
/* Notes a sample if it may be one of the first. Those of equal time come in that of their ordinals.
 */
static inline void csp_first_samples_add(struct csp_first_samples *samples,
                                         const struct csp_record *record)
{
    if (!samples->is_bounded || record->time < samples->bound)
        csp_first_samples_take(samples, record);
}
/* Moves all of `more` behind what is there: `more` is empty then, and can be used for samples that
 * come behind all of these. */
void csp_first_samples_append(struct csp_first_samples *samples, struct csp_first_samples *more);
/* When all were added: puts them in order. */
void csp_first_samples_finish(struct csp_first_samples *samples);
void csp_first_samples_free(struct csp_first_samples *samples);

#endif
