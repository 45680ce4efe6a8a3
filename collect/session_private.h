/* What the sources of the session share. */
#ifndef CSP_COLLECT_SESSION_PRIVATE_H
#define CSP_COLLECT_SESSION_PRIVATE_H

#include "collect/session.h"
#include "collect/workload.h"

struct csp_session_event { /* one of the kernel's */
    int fd;
    uint32_t event; /* number in the set */
    uint64_t id;
    uint32_t cpu;
    int64_t tid; /* -1: all that runs on the CPU */
    uint32_t ring;
};

struct csp_session {
    const struct csp_session_options *options;
    struct csp_session_result *result;
    struct csp_diag *diag;
    struct csp_event_set set;
    struct csp_workload workload;
    bool has_workload;
    int cgroup;                /* folder of options->cgroup, or -1 */
    bool interrupted;          /* by SIGINT, once */
    CSP_VEC(int64_t) tasks;    /* events are opened for: tids, or -1 alone */
    CSP_VEC(uint32_t) watched; /* tids with whose end the recording ends */
    CSP_VEC(struct csp_session_event) events;
    CSP_VEC(struct csp_ring) rings;
    struct csp_writer *writer;
    struct csp_cs_etm_info trace_info;
    const char *output;  /* where the writer writes */
    char *file_name;     /* the same with options->keep_files; else null */
    uint64_t file_begun; /* how large it was before the first new record */
    /* With options->live. */
    struct csp_slice slice, slice_given; /* the one being written, and the one to be taken */
    bool cut_wanted;
    uint64_t slice_began_ns;
    bool sinks_share_ids; /* a trace ID was told for two sinks */
};

/* Opens the events of every CPU and task, and a ring for each CPU. Errors: CSP_ERR_ENV,
 * CSP_ERR_INPUT (no such task). */
int csp_session_open_events(struct csp_session *session);
void csp_session_close_events(struct csp_session *session);
/* Finds the folder of options->cgroup. Errors: CSP_ERR_INPUT. */
int csp_session_open_cgroup(struct csp_session *session);
/* Sets the pauses of every CPU off against its resumes, when the plan says so. Errors: CSP_ERR_ENV.
 */
int csp_session_stagger(struct csp_session *session);

/* Opens the file and writes what comes before the first record of the kernel. */
int csp_session_open_file(struct csp_session *session);
/* The same without the processes, which the slice before knew. */
int csp_session_open_slice_file(struct csp_session *session);
/* Takes a CPU's trace ID as the kernel tells it. */
void csp_session_hw_id(void *session, uint32_t cpu, const struct csp_hw_id_event *event);
/* Writes what is known only at the end, and closes the file. */
int csp_session_close_file(struct csp_session *session);

uint64_t csp_session_now_ns(void);
/* Trackers, or the leaders of all groups, whose members follow. */
void csp_session_switch(struct csp_session *session, bool trackers, unsigned long request);
/* Moves what the rings hold; the `last` time also trace of which no record tells yet. */
void csp_session_drain(struct csp_session *session, bool last);
/* Whether the file has the size at which options want something else. */
bool csp_session_is_full(const struct csp_session *session);
/* With options->keep_files: what csp_session_open_file is without, and the step to the next file.
 */
int csp_session_begin_files(struct csp_session *session);
int csp_session_next_file(struct csp_session *session);
/* How much trace the kernel should announce at a time, so that little is not yet complete. */
uint64_t csp_session_context(const struct csp_session *session);
/* Begins the first slice: what csp_session_open_file is for a file. */
int csp_session_begin_live(struct csp_session *session);
/* Gives the taker what has been recorded, when it is time or the last; begins the next slice. */
int csp_session_pass_slice(struct csp_session *session, bool last);
void csp_session_end_live(struct csp_session *session);

#endif
