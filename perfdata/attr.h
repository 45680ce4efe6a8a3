/* Event attributes: struct perf_event_attr of linux/perf_event.h, of whatever size it was written.
 *
 * Our own constants, because the headers of the build host may be older than the recording's
 * kernel.
 */
#ifndef CSP_PERFDATA_ATTR_H
#define CSP_PERFDATA_ATTR_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* attr.sample_type: what a sample carries, in the order in which it carries it, except IDENTIFIER,
 * which comes first. */
enum csp_sample_type {
    CSP_SAMPLE_IP = 1 << 0,
    CSP_SAMPLE_TID = 1 << 1,
    CSP_SAMPLE_TIME = 1 << 2,
    CSP_SAMPLE_ADDR = 1 << 3,
    CSP_SAMPLE_READ = 1 << 4,
    CSP_SAMPLE_CALLCHAIN = 1 << 5,
    CSP_SAMPLE_ID = 1 << 6,
    CSP_SAMPLE_CPU = 1 << 7,
    CSP_SAMPLE_PERIOD = 1 << 8,
    CSP_SAMPLE_STREAM_ID = 1 << 9,
    CSP_SAMPLE_RAW = 1 << 10,
    CSP_SAMPLE_BRANCH_STACK = 1 << 11,
    CSP_SAMPLE_REGS_USER = 1 << 12,
    CSP_SAMPLE_STACK_USER = 1 << 13,
    CSP_SAMPLE_WEIGHT = 1 << 14,
    CSP_SAMPLE_DATA_SRC = 1 << 15,
    CSP_SAMPLE_IDENTIFIER = 1 << 16,
    CSP_SAMPLE_TRANSACTION = 1 << 17,
    CSP_SAMPLE_REGS_INTR = 1 << 18,
    CSP_SAMPLE_PHYS_ADDR = 1 << 19,
    CSP_SAMPLE_AUX = 1 << 20,
    CSP_SAMPLE_CGROUP = 1 << 21,
    CSP_SAMPLE_DATA_PAGE_SIZE = 1 << 22,
    CSP_SAMPLE_CODE_PAGE_SIZE = 1 << 23,
    CSP_SAMPLE_WEIGHT_STRUCT = 1 << 24,
    CSP_SAMPLE_KNOWN = (1 << 25) - 1,
};

/* attr.read_format: the shape of PERF_SAMPLE_READ and of PERF_RECORD_READ. */
enum csp_read_format {
    CSP_READ_TIME_ENABLED = 1 << 0,
    CSP_READ_TIME_RUNNING = 1 << 1,
    CSP_READ_ID = 1 << 2,
    CSP_READ_GROUP = 1 << 3,
    CSP_READ_LOST = 1 << 4,
};

/* attr.branch_sample_type: the two bits that change the shape of a branch stack. */
#define CSP_BRANCH_SAMPLE_HW_INDEX (UINT64_C(1) << 17)
#define CSP_BRANCH_SAMPLE_COUNTERS (UINT64_C(1) << 19)

/* The one-bit fields of the attribute, as bits of its sixth u64. */
enum csp_attr_flag {
    CSP_ATTR_DISABLED = 0,
    CSP_ATTR_INHERIT = 1,
    CSP_ATTR_PINNED = 2,
    CSP_ATTR_EXCLUDE_USER = 4,
    CSP_ATTR_EXCLUDE_KERNEL = 5,
    CSP_ATTR_EXCLUDE_HV = 6,
    CSP_ATTR_EXCLUDE_IDLE = 7,
    CSP_ATTR_MMAP = 8,
    CSP_ATTR_COMM = 9,
    CSP_ATTR_FREQ = 10,
    CSP_ATTR_ENABLE_ON_EXEC = 12,
    CSP_ATTR_TASK = 13,
    CSP_ATTR_MMAP_DATA = 17,
    CSP_ATTR_SAMPLE_ID_ALL = 18,
    CSP_ATTR_MMAP2 = 23,
    CSP_ATTR_COMM_EXEC = 24,
    CSP_ATTR_USE_CLOCKID = 25,
    CSP_ATTR_CONTEXT_SWITCH = 26,
    CSP_ATTR_BUILD_ID = 34,
};

enum csp_aux_action {
    CSP_AUX_START_PAUSED = 1 << 0,
    CSP_AUX_PAUSE = 1 << 1,
    CSP_AUX_RESUME = 1 << 2,
};

/* Fields that a short attribute does not reach are zero. */
struct csp_attr {
    uint32_t type; /* PERF_TYPE_*, or the number of a PMU */
    uint64_t config, config1, config2, config3;
    uint64_t sample_period; /* a frequency when CSP_ATTR_FREQ is set */
    uint64_t sample_type;   /* enum csp_sample_type */
    uint64_t read_format;   /* enum csp_read_format */
    uint64_t flags;         /* 1 << enum csp_attr_flag */
    uint64_t branch_sample_type;
    uint64_t sample_regs_user, sample_regs_intr; /* one bit per register */
    uint32_t sample_stack_user;
    int32_t clockid;
    uint32_t wakeup;
    uint32_t aux_watermark, aux_sample_size;
    uint32_t aux_action; /* enum csp_aux_action */
    uint16_t sample_max_stack;

    const char *name;    /* "cpu_cycles/…/u" when the recording tells, else null */
    const uint64_t *ids; /* of the kernel's events opened from this attribute */
    size_t id_count;
    const uint8_t *raw; /* as written, later fields included; null when not read from a file */
    uint32_t raw_size;
};

static inline bool csp_attr_has(const struct csp_attr *attr, enum csp_attr_flag flag)
{
    return attr->flags >> flag & 1;
}

/* Whether a window of trace ends with each of its samples: the trace unit is stopped for it, or
 * what it wrote so far is copied into it. */
static inline bool csp_attr_closes_window(const struct csp_attr *attr)
{
    return attr->aux_action & CSP_AUX_PAUSE || attr->sample_type & CSP_SAMPLE_AUX;
}

enum {
    CSP_ATTR_SIZE_MIN = 64,      /* PERF_ATTR_SIZE_VER0 */
    CSP_ATTR_SIZE_SAFE = 128,    /* VER7: the largest that perf 6.1 reads */
    CSP_ATTR_SIZE_CONFIG3 = 136, /* VER8: with config3, the largest that is written here */
};

/* Decodes the `size` bytes at `data`, at least CSP_ATTR_SIZE_MIN. `raw` points at them. */
void csp_attr_decode(struct csp_attr *attr, const uint8_t *data, uint32_t size);
/* Appends the first `size` bytes of the attribute, at most CSP_ATTR_SIZE_CONFIG3. */
void csp_attr_encode(const struct csp_attr *attr, uint32_t size, struct csp_buf *out);

#endif
