/* Trace in a perf.data file: where the bytes are, and how the trace units were configured.
 *
 * The kernel announces trace with AUX records (offset and size in a ring); perf stores the bytes in
 * AUXTRACE records, one queue per ring. csp_auxtrace joins the two into fragments.
 */
#ifndef CSP_PERFDATA_AUXTRACE_H
#define CSP_PERFDATA_AUXTRACE_H

#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "perfdata/record.h"

/* ---- AUXTRACE_INFO ---- */

enum csp_auxtrace_type { /* tools/perf/util/auxtrace.h */
                         CSP_AUXTRACE_UNKNOWN = 0,
                         CSP_AUXTRACE_INTEL_PT = 1,
                         CSP_AUXTRACE_INTEL_BTS = 2,
                         CSP_AUXTRACE_CS_ETM = 3,
                         CSP_AUXTRACE_ARM_SPE = 4,
};

/* Which trace unit wrote: by TRCDEVARCH when it is known, else by the metadata's magic. */
enum csp_trace_unit { CSP_UNIT_ETMV3, CSP_UNIT_ETMV4, CSP_UNIT_ETE, CSP_UNIT_UNKNOWN };

#define CSP_CS_ETM_MAGIC_ETMV3 UINT64_C(0x3030303030303030)
#define CSP_CS_ETM_MAGIC_ETMV4 UINT64_C(0x4040404040404040)
#define CSP_CS_ETM_MAGIC_ETE UINT64_C(0x5050505050505050)

/* Order of the parameters: tools/perf/util/cs-etm.h. */
enum csp_cs_etm_param {
    CSP_ETM_CONFIGR,
    CSP_ETM_TRACEIDR,
    CSP_ETM_IDR0,
    CSP_ETM_IDR1,
    CSP_ETM_IDR2,
    CSP_ETM_IDR8,
    CSP_ETM_AUTHSTATUS,
    CSP_ETM_TS_SOURCE = 7, /* ETMv4 metadata */
    CSP_ETE_DEVARCH = 7,   /* ETE metadata */
    CSP_ETE_TS_SOURCE = 8,
    CSP_CS_ETM_PARAMS_MAX = 16, /* later ones are skipped */
};

struct csp_cs_etm_cpu {
    uint64_t magic;
    uint32_t cpu;
    uint32_t param_count;
    uint64_t params[CSP_CS_ETM_PARAMS_MAX]; /* by enum csp_cs_etm_param; zero beyond param_count */
    enum csp_trace_unit unit;
    uint8_t trace_id; /* from TRACEIDR or from an AUX_OUTPUT_HW_ID record; 0: none */
    uint32_t sink_id; /* of HW_ID; 0: not told */
    bool hw_id_seen;
    int64_t ts_source; /* 1 virtual, 2 guest physical, 3 physical counter; -1 none, 0 not told */
};

struct csp_cs_etm_info {
    uint64_t version; /* 0, 1, 2 */
    uint32_t pmu_type;
    bool snapshot;
    CSP_VEC(struct csp_cs_etm_cpu) cpus;
};

/* The type of PMU and what it says, after the type: 8-byte words. False when too short. */
bool csp_record_auxtrace_info(const struct csp_record *record, enum csp_auxtrace_type *type,
                              const uint8_t **words, size_t *word_count);
/* Parses AUXTRACE_INFO of a CoreSight recording; `path` is for messages.
 * Errors: CSP_ERR_INPUT, CSP_ERR_UNSUPPORTED. */
int csp_cs_etm_info_parse(struct csp_cs_etm_info *info, const struct csp_record *record,
                          const char *path, struct csp_diag *diag);
/* Takes a CPU's trace ID from a HW_ID record (version 2, and good for 1). False: no such CPU. */
bool csp_cs_etm_info_hw_id(struct csp_cs_etm_info *info, uint32_t cpu,
                           const struct csp_hw_id_event *event);
/* Null when that CPU is not in the recording. */
const struct csp_cs_etm_cpu *csp_cs_etm_info_cpu(const struct csp_cs_etm_info *info, uint32_t cpu);
void csp_cs_etm_info_free(struct csp_cs_etm_info *info);

/* ---- trace bytes ---- */

/* Bytes of trace that lie together in a file. */
struct csp_aux_piece {
    const uint8_t *data;
    uint64_t size;
    uint64_t aux_offset; /* in the ring's stream */
};

/* What one AUX record announced. A recording has one for each window. */
struct csp_aux_fragment {
    uint32_t queue;                /* number in csp_auxtrace.queues */
    uint32_t cpu, pid, tid;        /* of the AUX record; CSP_NO_TID when not recorded */
    uint64_t time, id;             /* of the AUX record: when the trace was stored */
    uint64_t aux_offset, aux_size; /* as announced */
    union {
        const uint8_t *data; /* of one that is whole, as most often, or … */
        struct {
            uint32_t piece_first, piece_count; /* … in csp_auxtrace.pieces, in stream order */
        };
    };
    uint64_t ordinal : 44; /* records are in memory, of 8 bytes at least */
    bool is_whole : 1;     /* all that was announced is one piece */
    bool raw : 1;          /* no CoreSight frames */
    /* Records of its ring were lost since the AUX record before: maybe AUX records. */
    bool after_loss : 1;
    uint16_t flags; /* enum csp_aux_flag */
};

struct csp_aux_queue {
    uint32_t idx;      /* as in the file */
    uint32_t cpu, tid; /* of its AUXTRACE records; CSP_NO_TID: per thread, per CPU */
    uint32_t fragment_first, fragment_count; /* in csp_auxtrace.fragments */
    uint64_t bytes;                          /* in its AUXTRACE records */
    uint64_t end;                            /* where the last of those ends in the ring's stream */
    uint64_t last_time, last_ordinal;        /* of its last fragment */
    bool is_by_time; /* all of its fragments are in CoreSight frames, have a time, and are in order
                      * of that */
};

struct csp_aux_chunk; /* an AUXTRACE record */
struct csp_aux_hw_id; /* an AUX_OUTPUT_HW_ID record */

/* Zero-initialise, set `path`. A stored byte is delivered at most once: where snapshots overlap, by
 * the first AUX record that announces it. Where the recording has no AUX records and lost none, all
 * that is stored is delivered as it is. */
struct csp_auxtrace {
    const char *path; /* of the recording, for messages */
    enum csp_auxtrace_type type;
    bool has_info;
    struct csp_cs_etm_info cs_etm; /* when type is CSP_AUXTRACE_CS_ETM */
    /* Ready after csp_auxtrace_finish: queues by idx, then those of which no trace is stored;
     * fragments by queue, and there in the order of their AUX records. */
    CSP_VEC(struct csp_aux_queue) queues;
    CSP_VEC(struct csp_aux_fragment) fragments;
    CSP_VEC(struct csp_aux_piece) pieces;
    uint64_t announced_bytes;   /* in AUX records */
    uint64_t stored_bytes;      /* in AUXTRACE records */
    uint64_t missing_bytes;     /* announced, not stored */
    uint64_t missing_fragments; /* AUX records of which nothing is stored */
    uint64_t unannounced_bytes; /* stored, not announced, not delivered */
    uint64_t repeated_bytes;    /* in several AUX records (snapshots that overlap) */
    uint64_t malformed;         /* AUX, AUXTRACE and HW_ID records that make no sense */
    uint64_t hw_id_unknown_cpu; /* HW_ID records of CPUs that AUXTRACE_INFO does not have */

    /* Private. */
    CSP_VEC(struct csp_aux_chunk) chunks;
    CSP_VEC(struct csp_aux_hw_id) hw_ids;
    CSP_VEC(struct csp_aux_fragment)
    losses;                   /* LOST records: where they belong, and their ordinal */
    struct csp_map idx_of_id; /* from ID_INDEX: ring number + 1 */
    bool is_disordered;       /* fragments were not added in the order of their records */
};

/* Offers a record: AUXTRACE_INFO, AUXTRACE, AUX, AUX_OUTPUT_HW_ID and ID_INDEX are taken, all
 * others ignored. Any order will do. Errors: CSP_ERR_INPUT, CSP_ERR_UNSUPPORTED (AUXTRACE_INFO). */
int csp_auxtrace_add(struct csp_auxtrace *aux, const struct csp_record *record,
                     struct csp_diag *diag);
/* Moves all AUX and AUXTRACE records of `more`, to which nothing else was added, behind those that
 * are there. */
void csp_auxtrace_append(struct csp_auxtrace *aux, struct csp_auxtrace *more);
static inline uint32_t csp_aux_piece_count(const struct csp_aux_fragment *fragment)
{
    return fragment->is_whole ? 1 : fragment->piece_count;
}

static inline struct csp_aux_piece csp_aux_piece(const struct csp_auxtrace *aux,
                                                 const struct csp_aux_fragment *fragment,
                                                 uint32_t number)
{
    return fragment->is_whole
               ? (struct csp_aux_piece){fragment->data, fragment->aux_size, fragment->aux_offset}
               : aux->pieces.data[fragment->piece_first + number];
}

/* How many bytes are in a fragment's pieces; the rest of aux_size is missing. */
uint64_t csp_auxtrace_found(const struct csp_auxtrace *aux,
                            const struct csp_aux_fragment *fragment);
/* Joins what was added; warns of what is missing. */
void csp_auxtrace_finish(struct csp_auxtrace *aux, struct csp_diag *diag);
/* Fragments and pieces are of no more use, because their trace is known elsewhere: there is as much
 * memory in them as in all else that is kept of a recording. */
void csp_auxtrace_forget(struct csp_auxtrace *aux);
void csp_auxtrace_free(struct csp_auxtrace *aux);

#endif
