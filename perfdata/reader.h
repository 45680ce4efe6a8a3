/* Reading perf.data: the header and its features, and the records in file or time order.
 *
 * Both forms of the format are read: the file with its header (magic, attributes, data, features at
 * the end) and the pipe, whose header is 16 bytes and whose attributes and features are records. A
 * recording whose writer died (data size 0, or a record cut short) is read up to its last complete
 * record, with a warning that names the offset. Files written on big-endian hosts are refused.
 *
 * A reader does not change after it was opened: several threads may each iterate it.
 */
#ifndef CSP_PERFDATA_READER_H
#define CSP_PERFDATA_READER_H

#include "base/file.h"
#include "perfdata/attr.h"
#include "perfdata/record.h"
#include "perfdata/sample_record.h"

struct csp_perfdata;

/* What files begin with: "PERFILE2", read as a little-endian number. */
#define CSP_PERFDATA_MAGIC UINT64_C(0x32454c4946524550)

/* Opens a mapped file, which must outlive the reader.
 * Errors: CSP_ERR_INPUT (not perf.data, a header that makes no sense), CSP_ERR_UNSUPPORTED. */
int csp_perfdata_open(struct csp_perfdata **reader, const struct csp_file *file,
                      struct csp_diag *diag);
void csp_perfdata_close(struct csp_perfdata *reader);

size_t csp_perfdata_attr_count(const struct csp_perfdata *reader);
const struct csp_attr *csp_perfdata_attr(const struct csp_perfdata *reader, size_t number);
/* csp_sample_find_place, of a record of this file. */
bool csp_perfdata_sample_place(const struct csp_perfdata *reader, const struct csp_record *record,
                               struct csp_sample_place *place);
/* The attribute number of a kernel event id, or -1. */
int csp_perfdata_attr_of_id(const struct csp_perfdata *reader, uint64_t id);

/* An entry of the build-id feature (or of HEADER_BUILD_ID records): what perf found after the run.
 */
struct csp_build_id_entry {
    uint16_t misc; /* cpumode */
    uint32_t pid;  /* CSP_NO_TID: any */
    struct csp_build_id build_id;
    const char *path;
};

/* What the features say of the machine and the run; null or 0 when they do not. */
struct csp_perfdata_info {
    bool pipe;
    bool simpleperf; /* written by Android's simpleperf */
    bool unfinished; /* the writer died: data size 0 */
    const char *hostname, *os_release, *arch, *perf_version, *cpu_description, *cpu_id;
    const char *command_line; /* arguments joined by spaces */
    uint32_t cpus_available, cpus_online;
    uint64_t first_sample_time, last_sample_time;
    const struct csp_build_id_entry *build_ids;
    size_t build_id_count;
};
const struct csp_perfdata_info *csp_perfdata_info(const struct csp_perfdata *reader);
/* The bytes between two places in the file will hardly be read again (csp_file_done). Places
 * outside of it, as in records that were compressed, are let pass. */
void csp_perfdata_done(const struct csp_perfdata *reader, const uint8_t *from, const uint8_t *to);
/* The name of the file, for messages. */
const char *csp_perfdata_path(const struct csp_perfdata *reader);

enum csp_record_order {
    CSP_ORDER_FILE,
    /* By time, then by position in the file; records without a time come first. Needs memory in
     * proportion to the number of records (24 bytes each; compressed ones with their contents). */
    CSP_ORDER_TIME,
};

struct csp_records;

/* Errors: CSP_ERR_INPUT (a compressed recording that does not decompress). */
int csp_records_open(struct csp_records **records, const struct csp_perfdata *reader,
                     enum csp_record_order order, struct csp_diag *diag);
/* The next record; false at the end. In file order, records that were compressed live until the
 * next call, all others as long as the file's mapping; in time order all live until
 * csp_records_close. Compressed records themselves are not delivered, only what they hold. */
bool csp_records_next(struct csp_records *records, struct csp_record *record);
/* Back to the first record; CSP_ORDER_TIME only. */
void csp_records_rewind(struct csp_records *records);
void csp_records_close(struct csp_records *records);

/* How many records of each type were met so far (all of them at once in time order). */
struct csp_record_counts {
    uint64_t by_type[CSP_RECORD_TYPES];
    uint64_t other; /* types of CSP_RECORD_TYPES and above */
    uint64_t total;
    uint64_t
        unknown_ids; /* records of events that the file does not describe: given to attribute 0 */
    uint64_t lost_bytes; /* after a cut or malformed record: not read */
    uint64_t cut_offset; /* where that record is, when lost_bytes is not 0 */
};
const struct csp_record_counts *csp_records_counts(const struct csp_records *records);

#endif
