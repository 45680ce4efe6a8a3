/* Address spaces in time: what was mapped where, in which process, when.
 *
 * Built from MMAP, MMAP2, COMM (execve), FORK and EXIT records, given in time order. The kernel
 * does not record munmap, so a mapping lasts until another takes its addresses. Lookups may ask
 * about any moment, from any thread, and do not allocate: each change makes a new version of the
 * process's tree that shares what did not change.
 */
#ifndef CSP_PERFDATA_SPACES_H
#define CSP_PERFDATA_SPACES_H

#include "perfdata/reader.h"
#include "perfdata/record.h"

/* A file that was mapped: distinct by path and build-id. */
struct csp_binary {
    const char *path;
    struct csp_build_id build_id; /* size 0 when the recording has none */
};

struct csp_mapping {
    uint64_t start, end;
    uint64_t page_offset;       /* in the file, of `start` */
    uint64_t since;             /* time of its record */
    uint32_t binary;            /* number of its struct csp_binary */
    uint32_t protection, flags; /* PROT_*, MAP_* */
    bool kernel;
};

struct csp_spaces;

struct csp_spaces *csp_spaces_create(void);
void csp_spaces_destroy(struct csp_spaces *spaces);

/* The build-ids that perf collected after the run, by path, for mappings that carry none. */
void csp_spaces_build_ids(struct csp_spaces *spaces, const struct csp_perfdata_info *info);
/* Offers the next record in time order; records that do not change an address space are ignored. */
void csp_spaces_add(struct csp_spaces *spaces, const struct csp_record *record);
/* Adds a mapping by hand (perf-script text, tests): pid CSP_NO_TID is the kernel. */
void csp_spaces_map(struct csp_spaces *spaces, uint64_t time, const struct csp_mmap_event *event,
                    bool kernel);

/* What is at `address` in process `pid` at `time`: the process's own mapping, else the kernel's,
 * else null. Times before the first record see the first version: perf synthesizes what was mapped
 * before it began. Valid until csp_spaces_destroy, but not across csp_spaces_add. */
const struct csp_mapping *csp_spaces_find(const struct csp_spaces *spaces, uint32_t pid,
                                          uint64_t time, uint64_t address);
/* Like csp_spaces_find at `to`; when nothing is at `address` then, what was there last, but not
 * longer ago than `from`: an execve takes away all that was mapped. */
const struct csp_mapping *csp_spaces_find_since(const struct csp_spaces *spaces, uint32_t pid,
                                                uint64_t from, uint64_t to, uint64_t address);
/* Visits the mappings of a process at a moment in address order, the kernel's not among them. */
void csp_spaces_each(const struct csp_spaces *spaces, uint32_t pid, uint64_t time,
                     void (*visit)(void *user, const struct csp_mapping *mapping), void *user);
/* Numbers the versions of a process: equal numbers mean equal mappings (for caches). 0: unknown
 * pid. */
uint32_t csp_spaces_version(const struct csp_spaces *spaces, uint32_t pid, uint64_t time);

/* The time around `time` in which nothing changes in any address space, both ends included. */
void csp_spaces_unchanged(const struct csp_spaces *spaces, uint64_t time, uint64_t *from,
                          uint64_t *to);

size_t csp_spaces_binary_count(const struct csp_spaces *spaces);
const struct csp_binary *csp_spaces_binary(const struct csp_spaces *spaces, uint32_t number);
/* The name of a process (its last COMM record), or null. */
const char *csp_spaces_comm(const struct csp_spaces *spaces, uint32_t pid);

struct csp_spaces_stats {
    uint64_t mappings, replaced, forks, execs, exits, malformed, guest;
};
struct csp_spaces_stats csp_spaces_stats(const struct csp_spaces *spaces);

#endif
