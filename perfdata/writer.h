/* Writing perf.data, in place: what was written before the writer died can be read.
 *
 * The header and the attributes go first, with a data size of 0 that means "up to the end of the
 * file"; then records, as far as they were flushed whole, and perhaps the beginning of one behind
 * them; csp_writer_close adds the features and completes the header. sample_id_all is always on:
 * the fields of struct csp_writer_id follow every record of the kernel's kinds, as the sample_type
 * of its attribute has them. Not safe for concurrent use: the caller locks. Errors of writing stay
 * until csp_writer_close, which reports.
 */
#ifndef CSP_PERFDATA_WRITER_H
#define CSP_PERFDATA_WRITER_H

#include "base/diag.h"
#include "perfdata/attr.h"
#include "perfdata/auxtrace.h"
#include "perfdata/record.h"

struct csp_writer;

/* An attribute and its kernel event ids: `ids`, `id_count` and `name` of csp_attr are written too
 * (names as the event_desc feature). Every attribute must have CSP_SAMPLE_IDENTIFIER when there are
 * several. Errors: CSP_ERR_IO. */
int csp_writer_open(struct csp_writer **writer, const char *path, const struct csp_attr *attrs,
                    size_t attr_count, struct csp_diag *diag);

/* Texts of the features; null ones are left out. Copied. */
struct csp_writer_info {
    const char *hostname, *os_release, *arch, *perf_version, *cpu_description, *cpu_id;
    const char *const *command;           /* arguments, null-terminated, or null */
    uint32_t cpus_available, cpus_online; /* left out when 0 */
    const char *const *pmu_names;         /* of PMU numbers that attributes use, or null */
    const uint32_t *pmu_types;
    size_t pmu_count;
};
void csp_writer_info(struct csp_writer *writer, const struct csp_writer_info *info);
/* An entry of the build-id feature. */
void csp_writer_build_id(struct csp_writer *writer, uint16_t cpumode, uint32_t pid,
                         const struct csp_build_id *build_id, const char *path);

/* From here on the records of the kernel's kinds, but for those that tell of trace, are written
 * compressed by zstd, at a level of 1 to 22, as `perf record -z` does. Each flush makes what it
 * writes readable by itself. perf reads such files only when they were closed. False: not enough
 * memory. */
bool csp_writer_compress(struct csp_writer *writer, int level);
/* How many bytes of records were compressed, and to how many. */
void csp_writer_compression(const struct csp_writer *writer, uint64_t *before, uint64_t *after);

/* Hands what is buffered to the kernel. */
void csp_writer_flush(struct csp_writer *writer);
/* Makes the file another user's. False with errno. */
bool csp_writer_give(struct csp_writer *writer, uint32_t uid, uint32_t gid);
/* How many bytes the file has so far, buffered ones included. */
uint64_t csp_writer_size(const struct csp_writer *writer);
/* errno of the first write that failed; 0 while all is well. */
int csp_writer_error(const struct csp_writer *writer);
/* Completes the file; reports the first error of any write. Frees the writer. Errors: CSP_ERR_IO.
 */
int csp_writer_close(struct csp_writer *writer, struct csp_diag *diag);

/* The sample id fields of a record; `attr` is the number of its attribute, which says which of the
 * fields are written. All zero: synthesized at the start. */
struct csp_writer_id {
    uint32_t attr;
    uint32_t pid, tid, cpu;
    uint64_t time, id, stream_id;
};

void csp_write_mmap2(struct csp_writer *writer, const struct csp_writer_id *id, uint16_t cpumode,
                     const struct csp_mmap_event *event);
void csp_write_mmap(struct csp_writer *writer, const struct csp_writer_id *id, uint16_t cpumode,
                    const struct csp_mmap_event *event);
void csp_write_comm(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_comm_event *event);
void csp_write_fork(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_task_event *event);
void csp_write_exit(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_task_event *event);
void csp_write_itrace_start(struct csp_writer *writer, const struct csp_writer_id *id,
                            const struct csp_itrace_start_event *event);
void csp_write_aux(struct csp_writer *writer, const struct csp_writer_id *id,
                   const struct csp_aux_event *event);
/* `event->raw` is ignored: made from the other fields. */
void csp_write_hw_id(struct csp_writer *writer, const struct csp_writer_id *id,
                     const struct csp_hw_id_event *event);
/* SWITCH, or SWITCH_CPU_WIDE when `event` names another task. */
void csp_write_switch(struct csp_writer *writer, const struct csp_writer_id *id,
                      const struct csp_switch_event *event);
void csp_write_lost(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_lost_event *event);
void csp_write_lost_samples(struct csp_writer *writer, const struct csp_writer_id *id,
                            uint64_t lost);
void csp_write_throttle(struct csp_writer *writer, const struct csp_writer_id *id, bool throttled,
                        const struct csp_throttle_event *event);

/* perf's own records. */
void csp_write_auxtrace_info(struct csp_writer *writer, const struct csp_cs_etm_info *info);
/* Writes AUXTRACE_INFO again where it was written before: trace IDs become known only while
 * recording. The number of CPUs and of their parameters must be the same, and the version not 0. */
void csp_writer_update_auxtrace_info(struct csp_writer *writer, const struct csp_cs_etm_info *info);
/* The record and its `event->size` bytes, and an entry of the auxtrace index. Sizes that are no
 * multiple of 8 are filled up with zeroes, which the AUX records do not announce. */
void csp_write_auxtrace(struct csp_writer *writer, const struct csp_auxtrace_event *event,
                        const void *bytes);
void csp_write_id_index(struct csp_writer *writer, const struct csp_id_index_event *entries,
                        size_t count);
void csp_write_time_conv(struct csp_writer *writer, const struct csp_time_conv_event *event);
/* Promises that no record written later is older than the newest before the last round: perf sorts
 * by rounds. Leave it out when in doubt. */
void csp_write_finished_round(struct csp_writer *writer);

/* A sample with the fields of its attribute's sample_type; those of struct csp_writer_id come from
 * `id`. Arrays may be null when their length is 0. */
struct csp_writer_sample {
    uint16_t misc; /* enum csp_record_misc: the cpumode of ip */
    uint64_t ip, addr, period;
    const uint64_t *callchain; /* with CSP_CONTEXT_* markers */
    uint32_t callchain_len;
    const struct csp_writer_branch {
        uint64_t from, to, flags; /* enum csp_branch_flag */
    } *branches;                  /* newest first */
    uint32_t branch_len;
    const uint64_t *regs_user; /* one for each bit of sample_regs_user, or null for none (ABI 0) */
    const void *aux;
    uint64_t aux_size;
};
/* False, and nothing is written, when it would not fit in a record (65,528 bytes), or when its
 * sample_type has fields that are not above. */
bool csp_write_sample(struct csp_writer *writer, const struct csp_writer_id *id,
                      const struct csp_writer_sample *sample);

/* Any record, as it is: for `collect`, which copies what the kernel wrote. `size` bytes with
 * header. */
void csp_write_raw(struct csp_writer *writer, const void *record, size_t size);

#endif
