/* An engine turns trace bytes into elements. There are two behind this interface: `opencsd`,
 * OpenCSD's full decoder, the reference; and `native`, ours. */
#ifndef CSP_DECODE_TRACE_ENGINE_H
#define CSP_DECODE_TRACE_ENGINE_H

#include "base/diag.h"
#include "decode/trace/element.h"

enum csp_protocol { CSP_PROTOCOL_ETMV4, CSP_PROTOCOL_ETE };

/* How one trace unit was configured: register values as recorded (perf's AUXTRACE_INFO, snapshot
 * ini files). Arm ETM architecture specification, "Register descriptions". */
struct csp_trace_config {
    enum csp_protocol protocol;
    uint8_t trace_id; /* CoreSight ID, 1 … 0x6f; 0 for a raw stream */
    uint32_t configr, traceidr, idr0, idr1, idr2, idr8, devarch;
};

/* The code that ran, by address. `fetch` returns how many bytes from `address` on are known (up to
 * what is contiguous in one mapping) and points *bytes at them; 0 when none are. Called often. */
struct csp_code_memory {
    size_t (*fetch)(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes);
    void *user;
};

struct csp_engine_stats {
    uint64_t bytes;       /* trace bytes given, framing included */
    uint64_t bad_packets; /* malformed or reserved */
    uint64_t lost_bytes;  /* skipped until the next synchronisation */
};

struct csp_engine;

/* Makes an engine for `config_count` trace units sharing one buffer: formatted in CoreSight frames
 * (then each has a trace ID), or raw (exactly one). Errors: CSP_ERR_UNSUPPORTED. */
int csp_engine_create_opencsd(struct csp_engine **engine, const struct csp_trace_config *configs,
                              size_t config_count, bool formatted,
                              const struct csp_code_memory *code, csp_element_fn *sink, void *user,
                              struct csp_diag *diag);
/* Decodes the next `size` bytes. Malformed trace is no error: it is counted, told to the sink as
 * CSP_ELEMENT_BAD, and decoding resumes at the next synchronisation. */
int csp_engine_feed(struct csp_engine *engine, const uint8_t *data, size_t size);
/* Ends the stream: delivers what is held back and forgets all state, so that the next feed starts
 * afresh (perf resets at each AUX fragment). */
int csp_engine_flush(struct csp_engine *engine);
struct csp_engine_stats csp_engine_stats(const struct csp_engine *engine);
void csp_engine_destroy(struct csp_engine *engine);

#endif
