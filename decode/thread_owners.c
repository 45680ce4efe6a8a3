#include "decode/thread_owners.h"

#include "perfdata/attr.h"

static struct csp_thread_owner *owner_of(struct csp_thread_owners *owners, uint32_t tid)
{
    if (owners->last < owners->owners.len && owners->owners.data[owners->last].tid == tid)
        return &owners->owners.data[owners->last];
    uint64_t *number = csp_map_at(&owners->number_of_tid, tid);
    if (!*number) {
        csp_vec_push(&owners->owners, (struct csp_thread_owner){.tid = tid, .pid = CSP_NO_TID});
        *number = owners->owners.len;
    }
    owners->last = *number - 1;
    return &owners->owners.data[owners->last];
}

static void note(struct csp_thread_owners *owners, const struct csp_thread_owner *owner)
{
    if (owner->pid == CSP_NO_TID || owner->tid == CSP_NO_TID || !owner->tid)
        return;
    struct csp_thread_owner *known = owner_of(owners, owner->tid);
    if (known->pid == CSP_NO_TID || csp_thread_owner_is_older(known, owner->time, owner->ordinal))
        *known = *owner;
}

void csp_thread_owners_add(struct csp_thread_owners *owners, const struct csp_record *record)
{
    struct csp_thread_owner owner = {
        .pid = record->pid, .tid = record->tid, .time = record->time, .ordinal = record->ordinal};
    struct csp_task_event task;
    struct csp_comm_event comm;
    struct csp_itrace_start_event start;
    if (record->type == CSP_RECORD_FORK && csp_record_task(record, &task)) {
        owner.pid = task.pid;
        owner.tid = task.tid;
    } else if (record->type == CSP_RECORD_COMM && csp_record_comm(record, &comm)) {
        owner.pid = comm.pid;
        owner.tid = comm.tid;
    } else if (record->type == CSP_RECORD_ITRACE_START && csp_record_itrace_start(record, &start)) {
        owner.pid = start.pid;
        owner.tid = start.tid;
    } else if (!(record->ids & CSP_SAMPLE_TID)) {
        return;
    }
    note(owners, &owner);
}

uint32_t csp_thread_owners_pid(const struct csp_thread_owners *owners, uint32_t tid)
{
    const uint64_t *number = csp_map_find(&owners->number_of_tid, tid);
    return number ? owners->owners.data[*number - 1].pid : tid;
}

void csp_thread_owners_append(struct csp_thread_owners *owners, struct csp_thread_owners *more)
{
    for (size_t i = 0; i < more->owners.len; i++)
        note(owners, &more->owners.data[i]);
    csp_thread_owners_free(more);
}

void csp_thread_owners_free(struct csp_thread_owners *owners)
{
    csp_vec_free(&owners->owners);
    csp_map_free(&owners->number_of_tid);
    *owners = (struct csp_thread_owners){0};
}
