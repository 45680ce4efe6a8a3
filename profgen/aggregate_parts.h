/* Aggregates added up by several threads, each a part of the list. What is written does not depend
 * on how aggregates were grouped, so neither does it on the number of threads. */
#ifndef CSP_PROFGEN_AGGREGATE_PARTS_H
#define CSP_PROFGEN_AGGREGATE_PARTS_H

#include "profgen/aggregate.h"

struct csp_aggregate_input {
    const char *path;
    uint64_t weight; /* 0 is 1 */
};

struct csp_aggregate_parts {
    const struct csp_aggregate_input *inputs;
    size_t count;
    unsigned threads; /* at least 1 */
    bool duplicates;  /* an input may be counted twice */
    size_t memory;    /* bytes that the samples of all parts together may take */
    /* How many inputs have been read, about; from the calling thread. May be null. */
    void (*progress)(void *user, size_t done);
    void *user;
};

/* Reads into an empty aggregate what can be, and says of which inputs: `read` has `count` places,
 * all false. Nothing is when they are too few to be worth threads. What does not fit into memory is
 * left; and from the first part on that has an error, is not of the others' binary or would count
 * something twice, all is: who then reads what is left one by one finds out what it is, and tells
 * it as one thread does. */
void csp_aggregate_read_parts(struct csp_aggregate *aggregate,
                              const struct csp_aggregate_parts *parts, bool *read);
/* Reads all of them into an empty aggregate, whatever memory that takes. Errors: those of
 * csp_aggregate_read. */
int csp_aggregate_read_all(struct csp_aggregate *aggregate, const struct csp_aggregate_parts *parts,
                           struct csp_diag *diag);

#endif
