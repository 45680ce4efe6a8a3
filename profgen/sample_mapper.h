/* Recorded samples, whose addresses are those of their processes, into a set of the program's. */
#ifndef CSP_PROFGEN_SAMPLE_MAPPER_H
#define CSP_PROFGEN_SAMPLE_MAPPER_H

#include "decode/history.h"
#include "perfdata/spaces.h"
#include "profgen/sample_set.h"

/* Addresses of a process that one mapping, or one segment of the program, has. */
struct csp_address_stretch {
    uint64_t start, size;
    uint64_t address; /* of `start`, in the program; CSP_EXTERNAL: not of the program */
};

enum { CSP_MAPPER_STRETCHES = 4 };

/* A branch as it was recorded, and which of the set's branches it is. */
struct csp_mapped_branch {
    uint64_t from, to;
    uint32_t version; /* of the space that it was recorded in; 0: none */
    uint32_t number;  /* CSP_NO_BRANCH: no end of it is in the program */
    uint32_t counts;  /* 1: an end is; else 0 */
    uint32_t inside;  /* 1: both are; else 0 */
};

/* One that is not known yet, and where its number is to go. */
struct csp_unknown_branch {
    uint64_t from, to;
    uint32_t *number;
};

struct csp_sample_mapper {
    const struct csp_program *program;
    const struct csp_spaces *spaces;
    uint8_t *ours;                   /* by number of the file: it is the program */
    struct csp_sample_set *set;      /* to add to */
    struct csp_mapped_branch *known; /* branches that were met lately, each at its own place */
    /* Of the last addresses, in the space `version` of `pid`, which is what it is from `from` to
     * `to`. */
    struct csp_address_stretch stretches[CSP_MAPPER_STRETCHES];
    unsigned oldest;
    uint32_t pid, version;
    uint64_t from, to, time;
    CSP_VEC(uint64_t) frames;
    /* Of the branches of the sample at hand: `branch_len` numbers from `newest` on. */
    CSP_VEC(uint32_t) numbers;
    CSP_VEC(struct csp_unknown_branch) unknown;
    const uint32_t *newest;
    uint32_t branch_len;
    struct csp_branch_tally tally;
};

/* Finds the program among the files of a recording: that of the same build-id or, where one has
 * none, of the same file name. Returns how many files are it; `another` is the build-id of one of
 * that name which is not, or null. Both must outlive the mapper. */
size_t csp_sample_mapper_begin(struct csp_sample_mapper *mapper, const struct csp_program *program,
                               const struct csp_spaces *spaces,
                               const struct csp_build_id **another);
/* Samples go into this set from now on, after it was emptied too. */
void csp_sample_mapper_into(struct csp_sample_mapper *mapper, struct csp_sample_set *set);
/* Numbers the branches of a sample that is added next and has no array of them. */
void csp_sample_mapper_stretch(struct csp_sample_mapper *mapper, const struct csp_sample *sample,
                               const struct csp_stretch *stretch, csp_branches *turns);
/* Adds a sample. Returns where in the program it was taken, or CSP_EXTERNAL. */
uint64_t csp_sample_mapper_add(struct csp_sample_mapper *mapper, const struct csp_sample *sample);
void csp_sample_mapper_free(struct csp_sample_mapper *mapper);

#endif
