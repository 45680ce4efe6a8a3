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

static inline bool csp_thread_owner_is_older(const struct csp_thread_owner *owner, uint64_t time,
                                             uint64_t ordinal)
{
    return owner->time != time ? owner->time < time : owner->ordinal < ordinal;
}

/* Takes what a record says, in any order. */
void csp_thread_owners_add(struct csp_thread_owners *owners, const struct csp_record *record);
/* The same, of one that says itself whose it is, as most are, of the thread before. */
static inline void csp_thread_owners_add_usual(struct csp_thread_owners *owners,
                                               const struct csp_record *record)
{
    struct csp_thread_owner *last = owners->owners.data + owners->last;
    if (owners->last >= owners->owners.len || last->tid != record->tid || last->pid != record->pid)
        csp_thread_owners_add(owners, record);
    else if (csp_thread_owner_is_older(last, record->time, record->ordinal)) {
        last->time = record->time;
        last->ordinal = record->ordinal;
    }
}
/* The process of a thread; the thread itself when no record tells. */
uint32_t csp_thread_owners_pid(const struct csp_thread_owners *owners, uint32_t tid);
/* Moves all of `more`, which is empty then. */
void csp_thread_owners_append(struct csp_thread_owners *owners, struct csp_thread_owners *more);
void csp_thread_owners_free(struct csp_thread_owners *owners);

#endif
