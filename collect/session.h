/* A recording in progress: events opened, rings drained into a file, from the first byte to the
 * last. */
#ifndef CSP_COLLECT_SESSION_H
#define CSP_COLLECT_SESSION_H

#include "collect/event_set.h"
#include "collect/privileges.h"
#include "collect/processes.h"
#include "collect/ring.h"
#include "collect/slice.h"

/* Who takes a recording in slices, while it goes on (collect/slice.h), instead of a file. None of
 * its functions may wait. */
struct csp_live_taker {
    bool (*ready)(void *user); /* for a slice now; else slices grow, and are dropped at the limit */
    /* Takes the slice over. `cut`: the user asked for what is known up to here (SIGUSR2). */
    void (*take)(void *user, struct csp_slice *slice, bool cut);
    bool (*enough)(void *user); /* recording is to end */
    void *user;
    uint64_t slice_size, slice_ns; /* when a slice is taken; 0: chosen */
};

struct csp_session_options {
    const struct csp_target *target;
    const struct csp_plan *plan;
    const char *output;                /* a file; or … */
    const struct csp_live_taker *live; /* … null */
    /* What to record: a command, or tasks (with the threads and children they make), or whole CPUs
     * when both are empty. With a plan that has a phase it is whole CPUs until those end. */
    char *const *command; /* null-terminated, or null */
    struct csp_tids pids, tids;
    const char *cgroup; /* of whole CPUs what runs in this control group alone; or null */
    const struct csp_cpu_list *cpus;     /* null: all */
    const char *const *recorder_command; /* our own command line, for the header */
    uint64_t duration_ns, size_limit;    /* 0: none */
    int compression;                     /* of records, by zstd: 1 to 22; 0: none */
    uint32_t keep_files; /* with size_limit: go on in OUTPUT.2, ...; so many stay. 0: stop */
    uint64_t data_size, aux_size; /* of each CPU's rings; powers of two; 0: chosen */
    bool output_to_stderr;
    const struct csp_user *user; /* to become once everything is open; or null */
    /* With `live`: what the profile is of; null: the command, or what most samples are taken in. A
     * user who may not read it, or make the profile, is not become. */
    const char *program;
};

enum csp_session_stop {
    CSP_STOP_ENDED, /* what was recorded has ended */
    CSP_STOP_SIGNAL,
    CSP_STOP_DURATION,
    CSP_STOP_SIZE,
    CSP_STOP_WRITE_ERROR, /* the disk is full, for example */
    CSP_STOP_ENOUGH,      /* csp_live_taker.enough */
};

struct csp_session_result {
    struct csp_ring_totals totals;
    enum csp_session_stop stop;
    int exit_code;  /* of the command, 128 + N when signal N killed it; else 0 */
    uint64_t bytes; /* of the file, or of all slices */
    uint64_t plain_bytes, packed_bytes; /* of records before and after compression */
    uint32_t files;                     /* begun, with keep_files */
    uint32_t slices;                    /* taken */
    uint64_t taken_samples;             /* that count in them; of all events */
    /* In slices that nobody took in time. */
    uint32_t dropped_slices;
    uint64_t dropped_samples;
    double seconds;            /* of recording */
    double own_seconds;        /* CPU time that csprof itself used */
    uint32_t rings;            /* of what is recorded: one for each CPU */
    uint32_t events;           /* opened, on other CPUs, too */
    uint32_t threads;          /* attached to */
    uint32_t unscheduled;      /* event groups that the kernel did not run all the time */
    uint32_t trace_units_seen; /* CPUs whose trace ID the kernel told */
    uint64_t mappings_at_start, not_readable;
    /* With a plan that has a phase: what was reached, and on how many CPUs it is not near. */
    uint64_t least_phase, most_phase;
    uint32_t bad_phases;
    bool became_user;
};

/* Records until what was asked for ends, or SIGINT, SIGTERM or SIGHUP comes. They are passed on to
 * the command, which is waited for: SIGINT as SIGTERM, unless it came from a terminal, which has
 * sent it to the command, too. SIGUSR2 asks the taker for what it knows. Errors: CSP_ERR_ENV,
 * CSP_ERR_INPUT, CSP_ERR_IO, CSP_ERR_FAILED. After CSP_ERR_IO the file is readable up to its last
 * complete record. */
int csp_session_run(const struct csp_session_options *options, struct csp_session_result *result,
                    struct csp_diag *diag);
/* Processor time that this process has used. */
double csp_session_own_seconds(void);

#endif
