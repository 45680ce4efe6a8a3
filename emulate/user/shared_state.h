/* What all threads of the emulated program share: settings, the virtual clock, the journal, the
 * trace IDs. One per process, because a plugin's callbacks carry no context. */
#ifndef CSP_EMULATE_USER_SHARED_STATE_H
#define CSP_EMULATE_USER_SHARED_STATE_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "emulate/journal.h"
#include "emulate/settings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct csp_vcpu;

/* The trace sink of all processors together. */
struct csp_etr {
    struct csp_buf bytes; /* frames that no AUX record has announced */
    uint64_t newest;      /* when they were written */
    unsigned owners;      /* threads that run with their event, paused or not */
    bool lost;            /* older bytes were overwritten */
};

struct csp_machine {
    struct csp_emulate_settings settings;
    atomic_bool recording;       /* false in a forked child, and after the end */
    atomic_ullong farthest;      /* the latest that any thread's clock is known to show */
    atomic_bool handles_signals; /* the program has installed a handler */

    struct csp_map cover_at; /* address → 1, of settings.cover_at */

    pthread_mutex_t lock; /* for what follows */
    bool cpu_used[CSP_EMULATE_CPUS];
    CSP_VEC(struct csp_vcpu *) vcpus; /* of all threads, ended ones too */
    struct csp_map signal_handlers;   /* address → 1 */
    struct csp_journal_totals totals; /* of threads that ended */
    struct csp_etr etr;
    bool failed; /* a write to the journal failed: said once */
};

extern struct csp_machine csp_machine;

/* Reads the settings that the launcher wrote to `fd`. Null, or what is wrong with them. */
const char *csp_machine_start(int fd);

/* Whether windows are to end early at this address. */
bool csp_machine_covers(uint64_t address);

/* Appends to the journal. */
void csp_machine_record(struct csp_journal_record *record, const void *tail, size_t tail_size);
/* The lowest processor that is free, or CSP_EMULATE_CPUS. */
unsigned csp_machine_take_cpu(void);
void csp_machine_release_cpu(unsigned cpu);

void csp_machine_add_handler(uint64_t address);
bool csp_machine_is_handler(uint64_t address);

/* Totals and exact counts so far, to journal and truth file. Every thread must stand still. */
void csp_machine_conclude(void);

#endif
