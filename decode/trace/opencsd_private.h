/* What the parts of the OpenCSD engine share. Inside of this folder only. */
#ifndef CSP_DECODE_TRACE_OPENCSD_PRIVATE_H
#define CSP_DECODE_TRACE_OPENCSD_PRIVATE_H

#include "decode/trace/opencsd_engine.h"

#include <opencsd/c_api/opencsd_c_api.h>

enum { BATCH = 1024, FRAME = OCSD_DFRMTR_FRAME_SIZE, PENDING = 64 };

struct csp_opencsd_engine;

/* One trace unit. */
struct csp_opencsd_source {
    struct csp_opencsd_engine *engine;
    uint8_t id;     /* that OpenCSD knows it by */
    uint8_t number; /* of struct csp_element.source: `id`, or 0 when the stream is raw */
    enum csp_context_field context_field;
    uint64_t context_id;
    bool synced; /* nothing but context and time since the last Trace Info packet */
    /* Positions of TRACE_ON packets that enable the unit, and whose elements are still to come:
     * elements are held back while they are speculative. A ring. */
    ocsd_trc_index_t enablings[PENDING];
    unsigned first, count;
    uint64_t missing; /* address of the newest CSP_ELEMENT_NO_CODE, if no range came since */
    bool is_missing, is_missing_again;
};

struct csp_opencsd_engine {
    struct csp_engine base;
    dcd_tree_handle_t tree;
    struct csp_code_memory code;
    csp_element_fn *sink;
    void *user;
    csp_packet_fn *print;
    void *print_user;
    int status; /* negative once the sink has refused */
    bool formatted;
    uint8_t carry[FRAME]; /* the incomplete frame at the end of what was fed */
    size_t carry_len;
    uint64_t start;    /* of the stream since the last reset, in all bytes given */
    uint64_t position; /* behind what OpenCSD was given, from `start` */
    uint64_t bad_packets, lost_bytes;
    size_t batch_len, source_count;
    struct csp_element batch[BATCH];
    struct csp_opencsd_source *by_id[128];
    struct csp_opencsd_source sources[];
};

/* Appends an element; delivers those before it when there is no more room. */
struct csp_element *csp_opencsd_add(struct csp_opencsd_engine *engine,
                                    const struct csp_opencsd_source *source,
                                    enum csp_element_type type);
void csp_opencsd_deliver(struct csp_opencsd_engine *engine);
size_t csp_opencsd_fetch(const struct csp_opencsd_engine *engine,
                         const struct csp_opencsd_source *source, uint64_t address,
                         const uint8_t **bytes);

/* What OpenCSD calls: for elements, the context being the engine, and for packets, it being the
 * source. */
ocsd_datapath_resp_t csp_opencsd_on_element(const void *context, const ocsd_trc_index_t index,
                                            const uint8_t id, const ocsd_generic_trace_elem *from);
void csp_opencsd_on_packet(const void *context, const ocsd_datapath_op_t op,
                           const ocsd_trc_index_t index, const void *packet, const uint32_t size,
                           const uint8_t *data);

#endif
