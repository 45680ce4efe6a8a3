/* An engine turns trace bytes into elements. There are two behind this interface: `opencsd`,
 * OpenCSD's full decoder, the reference; and `native`, ours. */
#ifndef CSP_DECODE_TRACE_ENGINE_H
#define CSP_DECODE_TRACE_ENGINE_H

#include "base/diag.h"
#include "decode/code/block_table.h"
#include "decode/trace/element.h"

enum csp_protocol { CSP_PROTOCOL_ETMV4, CSP_PROTOCOL_ETE };

/* How one trace unit was configured: register values as recorded (perf's AUXTRACE_INFO, snapshot
 * ini files). Arm ETM architecture specification, "Register descriptions". */
struct csp_trace_config {
    enum csp_protocol protocol;
    uint8_t trace_id; /* CoreSight ID, 1 … 0x6f; 0 for a raw stream */
    uint32_t configr, traceidr, idr0, idr1, idr2, idr8, devarch;
};

/* Which field of the trace's context tells the process. A kernel that runs at EL2 has it traced as
 * the virtual context ID: TRCCONFIGR.VMID and .VMIDOPT; else it is in CONTEXTIDR: TRCCONFIGR.CID.
 */
enum csp_context_field { CSP_CONTEXT_NONE, CSP_CONTEXT_ID, CSP_CONTEXT_VMID };

static inline enum csp_context_field
csp_trace_config_context_field(const struct csp_trace_config *config)
{
    const uint32_t cid = 1u << 6, vmid = 1u << 7, vmidopt = 1u << 15;
    if ((config->configr & (vmid | vmidopt)) == (vmid | vmidopt))
        return CSP_CONTEXT_VMID;
    return config->configr & cid ? CSP_CONTEXT_ID : CSP_CONTEXT_NONE;
}

/* A mapping of code. `blocks` are those of the loadable segment or memory dump that it maps a part
 * of, shared by all its mappings; `base` is the address at which that code would begin, a multiple
 * of 4. Direct branches within the code are followed by distance alone: two segments that can move
 * against each other are two pieces of code. */
struct csp_code_region {
    uint64_t start, end;
    uint64_t base;
    struct csp_block_cache *blocks; /* decode/code/block_table.h */
};

/* The code that ran, by address. `context_id` is what csp_trace_config_context_field selects, 0
 * when nothing does; `source` as in struct csp_element. `fetch` returns how many bytes from
 * `address` on are known (up to what is contiguous in one mapping) and points *bytes at them; 0
 * when none are. Called often. `find` tells the mapping that holds `address`; false when none does.
 * What they say may change between calls of feed and flush, never during one; where `epoch` is not
 * null, only when it has changed. */
struct csp_code_memory {
    size_t (*fetch)(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes);
    bool (*find)(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                 struct csp_code_region *region);
    void *user;
    const uint64_t *epoch;
};

struct csp_engine_stats {
    uint64_t bytes;       /* trace bytes given, framing included */
    uint64_t bad_packets; /* malformed or reserved */
    uint64_t lost_bytes;  /* skipped until the next synchronisation, or of an unknown trace ID */
    uint64_t unsupported; /* times that execution entered code which the engine cannot follow */
};

/* Every engine begins with this; the functions below do nothing but call through it. */
struct csp_engine {
    const struct csp_engine_ops *ops;
};

struct csp_engine_ops {
    int (*feed)(struct csp_engine *engine, const uint8_t *data, size_t size);
    int (*flush)(struct csp_engine *engine);
    struct csp_engine_stats (*stats)(const struct csp_engine *engine);
    void (*destroy)(struct csp_engine *engine);
};

/* Makes an engine for `config_count` trace units sharing one buffer: formatted in CoreSight frames
 * (then each has a trace ID), or raw (exactly one). `code` must live as long as the engine. The
 * sink is called from within feed and flush only. Errors: CSP_ERR_UNSUPPORTED. */
typedef int csp_engine_create_fn(struct csp_engine **engine, const struct csp_trace_config *configs,
                                 size_t config_count, bool formatted,
                                 const struct csp_code_memory *code, csp_element_fn *sink,
                                 void *user, struct csp_diag *diag);
csp_engine_create_fn csp_engine_create_opencsd, csp_engine_create_native;
/* Both at once, compared element by element (but for CSP_ELEMENT_OTHER), delivering what the
 * reference says. The first difference is a failure: CSP_ERR_FAILED. */
csp_engine_create_fn csp_engine_create_both;

/* Decodes the next `size` bytes. Malformed trace is no error: it is counted, told to the sink as
 * CSP_ELEMENT_BAD, and decoding resumes at the next synchronisation. Returns what the sink returned
 * if that was negative. */
static inline int csp_engine_feed(struct csp_engine *engine, const uint8_t *data, size_t size)
{
    return engine->ops->feed(engine, data, size);
}

/* Ends the stream: delivers what is held back and forgets all state, so that the next feed starts
 * afresh (perf resets at each AUX fragment). */
static inline int csp_engine_flush(struct csp_engine *engine)
{
    return engine->ops->flush(engine);
}

static inline struct csp_engine_stats csp_engine_stats(const struct csp_engine *engine)
{
    return engine->ops->stats(engine);
}
/* Adds what was counted between the two. */
static inline void csp_engine_stats_add(struct csp_engine_stats *sum,
                                        const struct csp_engine_stats *before,
                                        const struct csp_engine_stats *after)
{
    sum->bytes += after->bytes - before->bytes;
    sum->bad_packets += after->bad_packets - before->bad_packets;
    sum->lost_bytes += after->lost_bytes - before->lost_bytes;
    sum->unsupported += after->unsupported - before->unsupported;
}

static inline void csp_engine_destroy(struct csp_engine *engine)
{
    if (engine)
        engine->ops->destroy(engine);
}

#endif
