/* PERF_RECORD_SAMPLE, parsed by its attribute: linux/perf_event.h, the comment at that record.
 *
 * Nothing is copied. Arrays of u64 may be unaligned: read them with csp_load64 or the accessors.
 */
#ifndef CSP_PERFDATA_SAMPLE_RECORD_H
#define CSP_PERFDATA_SAMPLE_RECORD_H

#include "base/bytes.h"
#include "perfdata/attr.h"
#include "perfdata/record.h"

/* Markers among callchain entries: what follows belongs to that mode. */
#define CSP_CONTEXT_HV ((uint64_t)-32)
#define CSP_CONTEXT_KERNEL ((uint64_t)-128)
#define CSP_CONTEXT_USER ((uint64_t)-512)
#define CSP_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define CSP_CONTEXT_GUEST ((uint64_t)-2048)
#define CSP_CONTEXT_GUEST_KERNEL ((uint64_t)-2176)
#define CSP_CONTEXT_GUEST_USER ((uint64_t)-2560)
#define CSP_CONTEXT_MAX ((uint64_t)-4095) /* this and above are markers */

/* Bits of the flags word of a branch entry: struct perf_branch_entry. */
enum csp_branch_flag {
    CSP_BRANCH_FLAG_MISPRED = 1 << 0,
    CSP_BRANCH_FLAG_PREDICTED = 1 << 1,
    CSP_BRANCH_FLAG_IN_TX = 1 << 2,
    CSP_BRANCH_FLAG_ABORT = 1 << 3,
};

struct csp_sample_record {
    uint64_t sample_type; /* which of the fields below are there */
    uint64_t ip, time, addr, id, stream_id, period;
    uint32_t pid, tid, cpu; /* CSP_NO_TID when not there */
    const uint8_t *read;    /* the values of PERF_SAMPLE_READ, shaped by attr.read_format */
    size_t read_size;
    const uint8_t *callchain; /* u64 entries */
    uint64_t callchain_len;
    const uint8_t *raw;
    uint32_t raw_size;
    const uint8_t *branches; /* entries of 24 bytes: from, to, flags; newest first */
    uint64_t branch_len;
    uint64_t branch_hw_index;       /* UINT64_MAX when unknown */
    const uint8_t *branch_counters; /* u64 for each branch, or null */
    uint64_t regs_user_abi;         /* 0: none, 1: 32 bits, 2: 64 bits */
    const uint8_t *regs_user;       /* u64 for each bit of attr.sample_regs_user, in order */
    const uint8_t *stack_user;
    uint64_t stack_user_size, stack_user_dynamic_size;
    uint64_t weight, data_source, transaction;
    uint64_t regs_intr_abi;
    const uint8_t *regs_intr;
    uint64_t physical_address, cgroup, data_page_size, code_page_size;
    const uint8_t *aux; /* PERF_SAMPLE_AUX: trace of this sample's own */
    uint64_t aux_size;
};

/* Parses a sample of this attribute. False when it is malformed: lengths beyond its end. */
bool csp_sample_parse(const struct csp_attr *attr, const struct csp_record *record,
                      struct csp_sample_record *sample);

/* Where a sample was taken. */
struct csp_sample_place {
    uint64_t ip;
    const uint8_t *callchain; /* u64 entries */
    uint64_t callchain_len;
};

/* What an attribute's samples have in common that csp_sample_find_place asks for each time. */
struct csp_sample_shape {
    bool is_simple; /* an address, fields of fixed size, a callchain and registers alone */
    bool has_callchain, has_registers;
    uint8_t ip, head;   /* where the address is, and where those fields end */
    uint16_t registers; /* bytes of them, where there are any */
};
struct csp_sample_shape csp_sample_shape_of(const struct csp_attr *attr);

/* Of a SAMPLE record, all that csp_sample_parse finds of this, and whether it is malformed, in less
 * time where there is little else in it. */
bool csp_sample_find_place(const struct csp_attr *attr, const struct csp_sample_shape *shape,
                           const struct csp_record *record, struct csp_sample_place *place);

static inline uint64_t csp_sample_frame(const struct csp_sample_record *sample, uint64_t index)
{
    return csp_load64(sample->callchain + 8 * index);
}

struct csp_branch_entry {
    uint64_t from, to;
    uint64_t flags; /* enum csp_branch_flag, and cycles in bits 4 … 19, type in 20 … 23 */
};
static inline struct csp_branch_entry csp_sample_branch(const struct csp_sample_record *sample,
                                                        uint64_t index)
{
    const uint8_t *at = sample->branches + 24 * index;
    return (struct csp_branch_entry){csp_load64(at), csp_load64(at + 8), csp_load64(at + 16)};
}

/* A register of the sample's user registers by its perf number (arm64: x0 … x28 are 0 … 28, x29 29,
 * lr 30, sp 31, pc 32). False when it was not recorded. */
bool csp_sample_user_register(const struct csp_attr *attr, const struct csp_sample_record *sample,
                              unsigned number, uint64_t *value);

#endif
