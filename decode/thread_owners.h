/* Which process a thread belongs to: what the newest record says that names it. */
#ifndef CSP_DECODE_THREAD_OWNERS_H
#define CSP_DECODE_THREAD_OWNERS_H

#include "base/map.h"
#include "base/vec.h"
#include "perfdata/record.h"

struct csp_thread_owner {
    uint32_t tid, pid;
    uint64_t time, ordinal; /* of the record */
};

/* Zero-initialise. */
struct csp_thread_owners {
    CSP_VEC(struct csp_thread_owner) owners;
    struct csp_map number_of_tid; /* + 1 */
    size_t last;                  /* the one asked for last */
};

/* Takes what a record says, in any order. */
void csp_thread_owners_add(struct csp_thread_owners *owners, const struct csp_record *record);
/* Moves all of `more`, which is empty then. */
void csp_thread_owners_append(struct csp_thread_owners *owners, struct csp_thread_owners *more);
void csp_thread_owners_free(struct csp_thread_owners *owners);

#endif
