/* What ran before the recording began: names, threads and executable mappings, from procfs. */
#ifndef CSP_COLLECT_PROCESSES_H
#define CSP_COLLECT_PROCESSES_H

#include "base/map.h"
#include "base/vec.h"
#include "perfdata/writer.h"

struct csp_tids {
    CSP_VEC(uint32_t) tids;
};

/* The threads of a process; false when it is not there. */
bool csp_process_threads(uint32_t pid, struct csp_tids *tids);
/* The process of a thread; 0 when it is not there. */
uint32_t csp_thread_process(uint32_t tid);
/* Whether a thread has ended: it is not there, or a zombie. */
bool csp_thread_ended(uint32_t tid);
/* All processes of this PID namespace. */
void csp_processes_list(struct csp_tids *pids);

struct csp_known_file { /* whose build-id was looked for */
    uint32_t major, minor;
    uint64_t inode;
    bool has_build_id;
    struct csp_build_id build_id;
};

struct csp_process_writer {
    struct csp_writer *writer;
    uint32_t tracker;                     /* number of the attribute that the records belong to */
    uint64_t mappings;                    /* written */
    uint64_t no_build_id;                 /* executable files in which none was found */
    uint64_t not_readable;                /* processes whose mappings may not be seen */
    CSP_VEC(struct csp_known_file) files; /* thousands of processes map the same C library */
    struct csp_map file_of;               /* its number + 1, by a mix of what tells it apart */
};
/* Writes COMM, FORK and MMAP2 records of a process, as if they had just happened. */
void csp_process_write(struct csp_process_writer *out, uint32_t pid);
void csp_process_writer_free(struct csp_process_writer *out);

#endif
