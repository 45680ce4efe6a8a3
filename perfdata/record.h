/* The records of a perf.data file: their types, what they all share, and what each one says.
 *
 * Layouts: linux/perf_event.h (types below 64, written by the kernel) and tools/lib/perf's
 * perf/event.h (from 64 on, written by perf itself). Every pointer points into the file or, for
 * records that were compressed, into memory of the reader: see perfdata/reader.h for how long.
 */
#ifndef CSP_PERFDATA_RECORD_H
#define CSP_PERFDATA_RECORD_H

#include "base/build_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csp_record_type {
    CSP_RECORD_MMAP = 1,
    CSP_RECORD_LOST = 2,
    CSP_RECORD_COMM = 3,
    CSP_RECORD_EXIT = 4,
    CSP_RECORD_THROTTLE = 5,
    CSP_RECORD_UNTHROTTLE = 6,
    CSP_RECORD_FORK = 7,
    CSP_RECORD_READ = 8,
    CSP_RECORD_SAMPLE = 9,
    CSP_RECORD_MMAP2 = 10,
    CSP_RECORD_AUX = 11,
    CSP_RECORD_ITRACE_START = 12,
    CSP_RECORD_LOST_SAMPLES = 13,
    CSP_RECORD_SWITCH = 14,
    CSP_RECORD_SWITCH_CPU_WIDE = 15,
    CSP_RECORD_NAMESPACES = 16,
    CSP_RECORD_KSYMBOL = 17,
    CSP_RECORD_BPF_EVENT = 18,
    CSP_RECORD_CGROUP = 19,
    CSP_RECORD_TEXT_POKE = 20,
    CSP_RECORD_AUX_OUTPUT_HW_ID = 21,
    CSP_RECORD_CALLCHAIN_DEFERRED = 22,
    CSP_RECORD_USER = 64, /* from here on written by perf, without sample id fields */
    CSP_RECORD_HEADER_ATTR = 64,
    CSP_RECORD_HEADER_EVENT_TYPE = 65,
    CSP_RECORD_HEADER_TRACING_DATA = 66,
    CSP_RECORD_HEADER_BUILD_ID = 67,
    CSP_RECORD_FINISHED_ROUND = 68,
    CSP_RECORD_ID_INDEX = 69,
    CSP_RECORD_AUXTRACE_INFO = 70,
    CSP_RECORD_AUXTRACE = 71,
    CSP_RECORD_AUXTRACE_ERROR = 72,
    CSP_RECORD_THREAD_MAP = 73,
    CSP_RECORD_CPU_MAP = 74,
    CSP_RECORD_STAT_CONFIG = 75,
    CSP_RECORD_STAT = 76,
    CSP_RECORD_STAT_ROUND = 77,
    CSP_RECORD_EVENT_UPDATE = 78,
    CSP_RECORD_TIME_CONV = 79,
    CSP_RECORD_HEADER_FEATURE = 80,
    CSP_RECORD_COMPRESSED = 81,
    CSP_RECORD_FINISHED_INIT = 82,
    CSP_RECORD_COMPRESSED2 = 83,
    CSP_RECORD_TYPES = 96, /* above every known number below simpleperf's own (32768 …) */
};

/* record.misc */
enum csp_record_misc {
    CSP_MISC_CPUMODE_MASK = 7,
    CSP_MISC_CPUMODE_KERNEL = 1,
    CSP_MISC_CPUMODE_USER = 2,
    CSP_MISC_CPUMODE_HYPERVISOR = 3,
    CSP_MISC_CPUMODE_GUEST_KERNEL = 4,
    CSP_MISC_CPUMODE_GUEST_USER = 5,
    CSP_MISC_MMAP_DATA = 1 << 13,      /* MMAP: not executable */
    CSP_MISC_COMM_EXEC = 1 << 13,      /* COMM: because of execve */
    CSP_MISC_SWITCH_OUT = 1 << 13,     /* SWITCH */
    CSP_MISC_EXACT_IP = 1 << 14,       /* SAMPLE */
    CSP_MISC_SWITCH_PREEMPT = 1 << 14, /* SWITCH, with OUT */
    CSP_MISC_MMAP_BUILD_ID = 1 << 14,  /* MMAP2: carries a build-id instead of the inode */
};

#define CSP_NO_TID UINT32_MAX /* a pid, tid or cpu that is "none" or "all" (-1) */

struct csp_record {
    uint32_t type;          /* enum csp_record_type, or one we do not know */
    uint16_t misc;          /* enum csp_record_misc */
    uint16_t size;          /* as in its header; without the payload of AUXTRACE */
    const uint8_t *body;    /* after the 8-byte header */
    size_t body_size;       /* without the sample id fields at its end */
    const uint8_t *payload; /* AUXTRACE, HEADER_TRACING_DATA: the bytes that follow the record */
    uint64_t payload_size;
    uint64_t offset;  /* in the file; of the compressed record when it came out of one */
    uint64_t ordinal; /* rises in file order; decompressed records have one each */
    /* Sample id fields: of samples, and of the kernel's records under sample_id_all. `ids` tells
     * which are there (enum csp_sample_type: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER; the last
     * two kinds of id both land in `id`). The others are 0, or CSP_NO_TID for pid, tid and cpu; a
     * CPU that the record does not say, but ID_INDEX for its id, is filled in.
     * Records that perf synthesized when it started have all of them zero. */
    uint32_t ids;
    uint32_t pid, tid, cpu;
    uint32_t attr;   /* number of the attribute it belongs to: 0 when nothing tells */
    uint32_t unused; /* 0: tests compare records as bytes */
    uint64_t time, id, stream_id;
};

/* "MMAP2"; null for types without a name here. */
const char *csp_record_type_name(uint32_t type);

/* What each record says. The parsers return false when the record is not of that type or too short
 * for it; then the record is malformed and to be counted as such. Texts are NUL-terminated. */

struct csp_mmap_event { /* MMAP and MMAP2 */
    uint32_t pid, tid;  /* pid CSP_NO_TID: the kernel */
    uint64_t start, length, page_offset;
    const char *path;
    bool has_build_id;
    struct csp_build_id build_id;
    uint32_t major, minor; /* MMAP2 without a build-id */
    uint64_t inode, inode_generation;
    uint32_t protection, flags; /* PROT_*, MAP_*; MMAP: read and execute, private, or not execute */
};
bool csp_record_mmap(const struct csp_record *record, struct csp_mmap_event *event);

struct csp_comm_event {
    uint32_t pid, tid;
    const char *name;
    bool exec;
};
bool csp_record_comm(const struct csp_record *record, struct csp_comm_event *event);

struct csp_task_event { /* FORK and EXIT */
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time;
};
bool csp_record_task(const struct csp_record *record, struct csp_task_event *event);

enum csp_aux_flag {
    CSP_AUX_TRUNCATED = 1,
    CSP_AUX_OVERWRITE = 2, /* snapshot mode */
    CSP_AUX_PARTIAL = 4,   /* gaps */
    CSP_AUX_COLLISION = 8, /* lost data */
    CSP_AUX_FORMAT_MASK = 0xff00,
    CSP_AUX_FORMAT_RAW = 0x0100, /* CoreSight: no frames; 0 is formatted */
};
struct csp_aux_event {
    uint64_t aux_offset, aux_size;
    uint64_t flags; /* enum csp_aux_flag */
};
bool csp_record_aux(const struct csp_record *record, struct csp_aux_event *event);

struct csp_auxtrace_event { /* its bytes are record->payload */
    uint64_t size, aux_offset, reference;
    uint32_t idx;      /* the queue: perf's ring buffer number */
    uint32_t tid, cpu; /* CSP_NO_TID: per CPU, or per thread */
};
bool csp_record_auxtrace(const struct csp_record *record, struct csp_auxtrace_event *event);

struct csp_hw_id_event { /* AUX_OUTPUT_HW_ID as CoreSight uses it; cpu is in the record */
    uint64_t raw;
    uint8_t major, minor;
    uint8_t trace_id;
    uint32_t sink_id; /* minor >= 1, else 0 */
};
bool csp_record_hw_id(const struct csp_record *record, struct csp_hw_id_event *event);

struct csp_itrace_start_event {
    uint32_t pid, tid;
};
bool csp_record_itrace_start(const struct csp_record *record, struct csp_itrace_start_event *event);

struct csp_time_conv_event {
    uint64_t time_shift, time_mult, time_zero;
    uint64_t time_cycles, time_mask; /* 0 when the record is of the short, older form */
    bool cap_user_time_zero, cap_user_time_short;
};
bool csp_record_time_conv(const struct csp_record *record, struct csp_time_conv_event *event);
/* perf time in nanoseconds of a hardware timestamp. */
uint64_t csp_time_conv_ns(const struct csp_time_conv_event *conv, uint64_t cycles);

struct csp_switch_event { /* SWITCH and SWITCH_CPU_WIDE; who switched is in the record */
    bool out, preempt;
    uint32_t other_pid, other_tid; /* SWITCH_CPU_WIDE: the next or previous, else CSP_NO_TID */
};
bool csp_record_switch(const struct csp_record *record, struct csp_switch_event *event);

struct csp_lost_event { /* LOST and LOST_SAMPLES */
    uint64_t id, lost;  /* id 0 for LOST_SAMPLES */
};
bool csp_record_lost(const struct csp_record *record, struct csp_lost_event *event);

struct csp_throttle_event { /* THROTTLE and UNTHROTTLE */
    uint64_t time, id, stream_id;
};
bool csp_record_throttle(const struct csp_record *record, struct csp_throttle_event *event);

struct csp_ksymbol_event {
    uint64_t address;
    uint32_t length;
    uint16_t type, flags; /* flags 1: unregistered */
    const char *name;
};
bool csp_record_ksymbol(const struct csp_record *record, struct csp_ksymbol_event *event);

struct csp_text_poke_event {
    uint64_t address;
    uint16_t old_length, new_length;
    const uint8_t *bytes; /* old, then new */
};
bool csp_record_text_poke(const struct csp_record *record, struct csp_text_poke_event *event);

struct csp_cgroup_event {
    uint64_t id;
    const char *path;
};
bool csp_record_cgroup(const struct csp_record *record, struct csp_cgroup_event *event);

struct csp_id_index_event { /* entry `index` of an ID_INDEX record; false past the last */
    uint64_t id;
    uint32_t idx, cpu, tid;
};
bool csp_record_id_index(const struct csp_record *record, size_t index,
                         struct csp_id_index_event *event);

#endif
