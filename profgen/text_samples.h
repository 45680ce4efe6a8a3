/* The distinct samples of a perf-script text, by how they look. Inside of profgen only.
 *
 * Programs repeat themselves: half of the samples and more look like others but for the instruction
 * that they were taken at, of which next to nothing matters (profgen/sample_set.h). So the text
 * behind that is hashed, before anything in it is read, and only a new one is. */
#ifndef CSP_PROFGEN_TEXT_SAMPLES_H
#define CSP_PROFGEN_TEXT_SAMPLES_H

#include "profgen/sample_set.h"

/* What a sample did to the set. */
struct csp_text_sample {
    struct csp_sample_outcome outcome;
    struct csp_branch_tally tally;
};

/* The same as it is kept, of a sample that has not too many branches. */
struct csp_kept_sample {
    uint32_t number;
    uint8_t reason;
    bool truncated;
    uint16_t inside, impossible, external;
};

/* The text of a sample: lines up to its branches. */
struct csp_sample_text {
    const char *at, *end;
    const char *rest;    /* behind its own address; null: it does not look as samples do */
    bool has_leaf;       /* that is the first frame of a callchain … */
    uint64_t leaf;       /* … this one */
    struct csp_pair key; /* with a number for the leaf: of samples that are the same */
};

struct csp_text_samples {
    struct csp_pairs keys;
    CSP_VEC(struct csp_kept_sample) list;
};

/* The text of the next sample in whole lines that are followed by CSP_TEXT_MARGIN bytes; false when
 * there is none. The key is left out. */
bool csp_sample_text_next(const char *at, const char *end, struct csp_sample_text *text);
/* Tells a sample by its text; `leaf` is a number for what matters of the leaf. Fetches where it is
 * looked for. */
void csp_text_samples_key(const struct csp_text_samples *samples, struct csp_sample_text *text,
                          uint32_t leaf);
/* Fetches what will be looked at when it is found, some samples after its key was made. */
void csp_text_samples_fetch(const struct csp_text_samples *samples,
                            const struct csp_sample_text *text);
/* Finds the sample that looks like this one; false when there is none. */
bool csp_text_samples_find(const struct csp_text_samples *samples,
                           const struct csp_sample_text *text, struct csp_text_sample *sample);
/* Remembers a sample that is new, unless there are very many, or it has very many branches. */
void csp_text_samples_keep(struct csp_text_samples *samples, const struct csp_sample_text *text,
                           const struct csp_text_sample *sample);
void csp_text_samples_free(struct csp_text_samples *samples);

#endif
