/* Recorded samples, whose addresses are those of their processes, into a set of the program's.
 *
 * Programs repeat themselves: before a branch mostly came the one that came before it the last
 * time. So that one is looked at first, and only another one is looked for. */
#ifndef CSP_PROFGEN_SAMPLE_MAPPER_H
#define CSP_PROFGEN_SAMPLE_MAPPER_H

#include "perfdata/spaces.h"
#include "profgen/sample_set.h"

/* Addresses of a process that one mapping, or one segment of the program, has. */
struct csp_address_stretch {
    uint64_t start, size;
    uint64_t address; /* of `start`, in the program; CSP_EXTERNAL: not of the program */
};

enum { CSP_MAPPER_STRETCHES = 4 };

struct csp_sample_mapper {
    const struct csp_program *program;
    const struct csp_spaces *spaces;
    uint8_t *ours;              /* by number of the file: it is the program */
    struct csp_sample_set *set; /* to add to; may change from sample to sample */
    /* Of the last addresses, in the space `version` of `pid`, which is what it is from `from` to
     * `to`. */
    struct csp_address_stretch stretches[CSP_MAPPER_STRETCHES];
    unsigned oldest;
    uint32_t pid, version;
    uint64_t from, to, time;
    CSP_VEC(uint64_t) frames;
    CSP_VEC(uint32_t) numbers;
    CSP_VEC(uint32_t) before; /* each branch came which; numbers and 1, 0 is none */
};

/* Finds the program among the files of a recording: that of the same build-id or, where one has
 * none, of the same file name. Returns how many files are it; `another` is the build-id of one of
 * that name which is not, or null. Both must outlive the mapper. */
size_t csp_sample_mapper_begin(struct csp_sample_mapper *mapper, const struct csp_program *program,
                               const struct csp_spaces *spaces,
                               const struct csp_build_id **another);
/* Adds a sample. Returns where in the program it was taken, or CSP_EXTERNAL. */
uint64_t csp_sample_mapper_add(struct csp_sample_mapper *mapper, const struct csp_sample *sample);
void csp_sample_mapper_free(struct csp_sample_mapper *mapper);

#endif
