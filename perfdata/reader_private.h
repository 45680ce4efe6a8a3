/* What the sources of the reader share. */
#ifndef CSP_PERFDATA_READER_PRIVATE_H
#define CSP_PERFDATA_READER_PRIVATE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "perfdata/reader.h"

/* Where a record has what csp_identify tells, in bytes from where all of it begins. */
struct csp_id_layout {
    uint32_t ids; /* what of it is there: csp_record.ids */
    uint8_t tid, time, id, stream_id, cpu;
    uint8_t size; /* of all of it */
};
enum { CSP_ID_BYTES = 64 /* at most */ };

/* Of one attribute's records. */
struct csp_id_layouts {
    struct csp_id_layout samples, others;
};

struct csp_id_layouts csp_id_layouts_of(const struct csp_attr *attr);

/* Where the records of all events have the id that tells whose they are, in bytes: from a sample's
 * beginning, and from the end of the others. */
struct csp_event_id_place {
    bool is_there;
    uint8_t in_samples, from_end;
};

struct csp_event_id_place csp_event_id_place_of(uint64_t sample_type);

struct csp_perfdata {
    const struct csp_file *file;
    uint64_t data_offset, data_end; /* of the records in the file */
    CSP_VEC(struct csp_attr) attrs;
    CSP_VEC(struct csp_id_layouts) layouts; /* one per attribute */
    CSP_VEC(struct csp_sample_shape) shapes;
    struct csp_event_id_place event_id; /* by the first attribute */
    struct csp_map attr_of_id;          /* attribute number + 1 */
    CSP_VEC(struct csp_build_id_entry) build_ids;
    const uint8_t *auxtrace_index; /* pairs of u64: where an AUXTRACE record is said to begin, and
                                      its size */
    uint64_t auxtrace_index_len;   /* pairs */
    struct csp_perfdata_info info;
    struct csp_arena arena; /* texts and ids */
    uint64_t id_bytes;      /* read so far: never more than the file has */
};

/* The numbers of header features: tools/perf/util/header.h, and simpleperf's from 128 on. */
enum csp_feature {
    CSP_FEATURE_BUILD_ID = 2,
    CSP_FEATURE_HOSTNAME = 3,
    CSP_FEATURE_OSRELEASE = 4,
    CSP_FEATURE_VERSION = 5,
    CSP_FEATURE_ARCH = 6,
    CSP_FEATURE_NRCPUS = 7,
    CSP_FEATURE_CPUDESC = 8,
    CSP_FEATURE_CPUID = 9,
    CSP_FEATURE_CMDLINE = 11,
    CSP_FEATURE_EVENT_DESC = 12,
    CSP_FEATURE_PMU_MAPPINGS = 16,
    CSP_FEATURE_AUXTRACE = 18,
    CSP_FEATURE_SAMPLE_TIME = 21,
    CSP_FEATURE_COMPRESSED = 27,
    CSP_FEATURE_SIMPLEPERF_META_INFO = 129,
    CSP_FEATURE_BITS = 256,
};

/* CSP_PERFDATA_MAGIC as a big-endian host writes it. */
#define CSP_PERFDATA_MAGIC_SWAPPED UINT64_C(0x50455246494c4532)
#define CSP_PERFDATA_HEADER_SIZE 104
#define CSP_PERFDATA_PIPE_HEADER_SIZE 16

/* Adds an attribute with its ids (`id_size` bytes of u64). False when there are more ids than the
 * file can hold. */
bool csp_reader_add_attr(struct csp_perfdata *reader, const uint8_t *attr, uint32_t attr_size,
                         const uint8_t *ids, uint64_t id_size);
/* Names the attribute that owns this id, unless it has a name. */
void csp_reader_name_attr(struct csp_perfdata *reader, uint64_t id, const char *name);

/* Reads the contents of a feature; unknown and malformed ones are passed over with a debug note. */
void csp_reader_feature(struct csp_perfdata *reader, unsigned feature, const uint8_t *data,
                        size_t size, struct csp_diag *diag);
/* An entry of the build-id feature or the body of a HEADER_BUILD_ID record. */
void csp_reader_build_id(struct csp_perfdata *reader, uint16_t misc, const uint8_t *body,
                         size_t size);

/* Records of this type have a payload behind them, of which they tell the size. */
static inline bool csp_record_has_payload(uint32_t type)
{
    return type == CSP_RECORD_AUXTRACE || type == CSP_RECORD_HEADER_TRACING_DATA;
}

/* Fills in the size of the payload. False when the record is malformed. */
bool csp_record_find_payload(struct csp_record *record);

/* Splits off the record at `at`, of which `left` bytes are there. Type, misc, size, body and
 * payload are filled in. False when it is cut short or malformed. */
static inline bool csp_record_split(struct csp_record *record, const uint8_t *at, uint64_t left)
{
    enum { HEADER = 8 }; /* u32 type, u16 misc, u16 size */
    bool is_there = left >= HEADER;
    uint16_t size = is_there ? csp_load16(at + 6) : 0;
    bool is_whole = size >= HEADER && size <= left;
    /* All of it is set one by one: clearing it first takes four times as long. */
    *record = (struct csp_record){
        .type = is_there ? csp_load32(at) : 0,
        .misc = is_there ? csp_load16(at + 4) : 0,
        .size = size,
        .body = is_whole ? at + HEADER : NULL,
        .body_size = is_whole ? size - (size_t)HEADER : 0,
        .payload = is_whole ? at + size : NULL,
        .payload_size = 0,
        .offset = 0,
        .ordinal = 0,
        .ids = 0,
        .pid = CSP_NO_TID,
        .tid = CSP_NO_TID,
        .cpu = CSP_NO_TID,
        .attr = 0,
        .unused = 0,
        .time = 0,
        .id = 0,
        .stream_id = 0,
    };
    if (!is_whole)
        return false;
    if (csp_record_has_payload(record->type) && !csp_record_find_payload(record))
        return false;
    return record->payload_size <= left - size;
}

#endif
