/* The reference engine: OpenCSD's full decoder, through its C API, behind decode/trace/engine.h. */
#include "decode/trace/opencsd_private.h"

#include "base/alloc.h"

#include <opencsd/ocsd_if_version.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* OpenCSD keeps its decode trees in one unguarded list. */
static pthread_mutex_t tree_list = PTHREAD_MUTEX_INITIALIZER;

static struct csp_opencsd_engine *from_base(struct csp_engine *engine)
{
    return (struct csp_opencsd_engine *)engine;
}

static uint32_t on_fetch(const void *context, const ocsd_vaddr_t address,
                         const ocsd_mem_space_acc_t space, const uint8_t id, const uint32_t want,
                         uint8_t *out)
{
    const struct csp_opencsd_engine *engine = context;
    const struct csp_opencsd_source *source = engine->by_id[id & 127];
    const uint8_t *bytes;
    (void)space;
    if (!source)
        return 0;
    size_t got = csp_opencsd_fetch(engine, source, address, &bytes);
    if (got > want)
        got = want;
    if (got)
        memcpy(out, bytes, got);
    return (uint32_t)got;
}

/* Forgets what belongs to the stream so far. */
static void reset(struct csp_opencsd_engine *engine)
{
    uint32_t used = 0;
    ocsd_dt_process_data(engine->tree, OCSD_OP_RESET, 0, 0, NULL, &used);
    engine->start += engine->position;
    engine->position = 0;
    for (size_t i = 0; i < engine->source_count; i++) {
        struct csp_opencsd_source *source = &engine->sources[i];
        source->context_id = 0;
        source->synced = source->is_missing = false;
        source->count = 0;
    }
}

/* After an error that OpenCSD does not recover from: starts afresh behind the byte that it failed
 * at, with the next frame of a formatted stream. */
static void recover(struct csp_opencsd_engine *engine)
{
    engine->bad_packets++;
    for (size_t i = 0; i < engine->source_count; i++)
        csp_opencsd_add(engine, &engine->sources[i], CSP_ELEMENT_BAD)->a =
            engine->start + engine->position;
    reset(engine);
}

static int process(struct csp_opencsd_engine *engine, const uint8_t *data, size_t size)
{
    while (size && engine->status >= 0) {
        uint32_t used = 0, block = size > 1u << 30 ? 1u << 30 : (uint32_t)size;
        ocsd_datapath_resp_t answer = ocsd_dt_process_data(
            engine->tree, OCSD_OP_DATA, (ocsd_trc_index_t)engine->position, block, data, &used);
        while (OCSD_DATA_RESP_IS_WAIT(answer)) {
            uint32_t none = 0;
            answer = ocsd_dt_process_data(engine->tree, OCSD_OP_FLUSH, 0, 0, NULL, &none);
        }
        bool failed = OCSD_DATA_RESP_IS_FATAL(answer) && engine->status >= 0;
        if (failed || !used) {
            uint32_t step = engine->formatted ? FRAME : 1;
            used = used / step * step + step;
        }
        if (used > block)
            used = block;
        engine->position += used;
        data += used;
        size -= used;
        if (failed)
            recover(engine);
    }
    return engine->status;
}

static int feed(struct csp_engine *base, const uint8_t *data, size_t size)
{
    struct csp_opencsd_engine *engine = from_base(base);
    if (engine->formatted && engine->carry_len) {
        size_t missing = FRAME - engine->carry_len;
        size_t taken = size < missing ? size : missing;
        memcpy(engine->carry + engine->carry_len, data, taken);
        engine->carry_len += taken;
        data += taken;
        size -= taken;
        if (engine->carry_len < FRAME)
            return engine->status;
        engine->carry_len = 0;
        process(engine, engine->carry, FRAME);
    }
    size_t rest = engine->formatted ? size % FRAME : 0;
    process(engine, data, size - rest);
    memcpy(engine->carry, data + size - rest, rest);
    engine->carry_len = rest;
    csp_opencsd_deliver(engine);
    return engine->status;
}

static int flush(struct csp_engine *base)
{
    struct csp_opencsd_engine *engine = from_base(base);
    uint32_t used = 0;
    engine->lost_bytes += engine->carry_len; /* a frame that was cut off cannot be unpacked */
    engine->position += engine->carry_len;
    engine->carry_len = 0;
    if (engine->status >= 0)
        ocsd_dt_process_data(engine->tree, OCSD_OP_EOT, 0, 0, NULL, &used);
    reset(engine);
    csp_opencsd_deliver(engine);
    return engine->status;
}

static struct csp_engine_stats stats(const struct csp_engine *base)
{
    const struct csp_opencsd_engine *engine = (const struct csp_opencsd_engine *)base;
    struct csp_engine_stats total = {
        .bytes = engine->start + engine->position + engine->carry_len,
        .bad_packets = engine->bad_packets,
        .lost_bytes = engine->lost_bytes,
    };
    for (size_t i = 0; i < engine->source_count; i++) {
        ocsd_decode_stats_t *one;
        if (ocsd_dt_get_decode_stats(engine->tree, engine->sources[i].id, &one) != OCSD_OK)
            continue;
        total.bad_packets += one->bad_header_errs + one->bad_sequence_errs;
        total.lost_bytes += one->channel_unsynced;
        if (i == 0 && engine->formatted) /* the same for all */
            total.lost_bytes += one->demux.no_id_bytes + one->demux.unknown_id_bytes;
    }
    return total;
}

static void destroy(struct csp_engine *base)
{
    struct csp_opencsd_engine *engine = from_base(base);
    if (engine->tree != C_API_INVALID_TREE_HANDLE) {
        pthread_mutex_lock(&tree_list);
        ocsd_destroy_dcd_tree(engine->tree);
        pthread_mutex_unlock(&tree_list);
    }
    free(engine);
}

static const struct csp_engine_ops operations = {feed, flush, stats, destroy};

/* TRCIDR1 of an ETE holds ones where an ETMv4 has its version; ETE's is in TRCDEVARCH (ARCHID's
 * upper digit, REVISION). */
static uint32_t id_register_1(const struct csp_trace_config *config)
{
    if (config->protocol != CSP_PROTOCOL_ETE)
        return config->idr1;
    uint32_t major = config->devarch >> 12 & 15, minor = config->devarch >> 16 & 15;
    return (config->idr1 & ~0xff0u) | major << 8 | minor << 4;
}

/* ETE, too, goes through the ETMv4 decoder, as version 5 of it: that is what OpenCSD's ETE decoder
 * amounts to, but 1.3.3 lets nobody watch the packets of that one. Code is decoded as the newest
 * architecture whatever the core: what that adds (PAuth branches, WFET) is unallocated before. */
static ocsd_err_t create_decoder(dcd_tree_handle_t tree, const struct csp_trace_config *config,
                                 uint8_t *id)
{
    ocsd_etmv4_cfg etm = {
        .reg_idr0 = config->idr0,
        .reg_idr1 = id_register_1(config),
        .reg_idr2 = config->idr2,
        .reg_idr8 = config->idr8,
        .reg_configr = config->configr,
        .reg_traceidr = config->traceidr,
        .arch_ver = ARCH_AA64,
        .core_prof = profile_CortexA,
    };
    return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, OCSD_CREATE_FLG_FULL_DECODER, &etm,
                                  id);
}

static ocsd_err_t add_source(struct csp_opencsd_engine *engine, struct csp_opencsd_source *source,
                             const struct csp_trace_config *config)
{
    ocsd_err_t error = create_decoder(engine->tree, config, &source->id);
    if (error != OCSD_OK)
        return error;
    source->engine = engine;
    source->number = engine->formatted ? source->id : 0;
    source->context_field = csp_trace_config_context_field(config);
    engine->by_id[source->id & 127] = source;
    engine->source_count++;
    return ocsd_dt_attach_packet_callback(engine->tree, source->id, OCSD_C_API_CB_PKT_MON,
                                          (void *)csp_opencsd_on_packet, source);
}

static ocsd_err_t build_tree(struct csp_opencsd_engine *engine,
                             const struct csp_trace_config *configs, size_t config_count)
{
    pthread_mutex_lock(&tree_list);
    engine->tree = ocsd_create_dcd_tree(
        engine->formatted ? OCSD_TRC_SRC_FRAME_FORMATTED : OCSD_TRC_SRC_SINGLE,
        engine->formatted ? OCSD_DFRMTR_FRAME_MEM_ALIGN | OCSD_DFRMTR_RESET_ON_4X_FSYNC : 0);
    pthread_mutex_unlock(&tree_list);
    if (engine->tree == C_API_INVALID_TREE_HANDLE)
        return OCSD_ERR_MEM;
    ocsd_err_t error = OCSD_OK;
    for (size_t i = 0; i < config_count && error == OCSD_OK; i++)
        error = add_source(engine, &engine->sources[i], &configs[i]);
    if (error == OCSD_OK)
        error = ocsd_dt_set_gen_elem_outfn(engine->tree, csp_opencsd_on_element, engine);
    if (error == OCSD_OK)
        error = ocsd_dt_add_callback_trcid_mem_acc(engine->tree, 0, ~UINT64_C(0),
                                                   OCSD_MEM_SPACE_ANY, on_fetch, engine);
    return error;
}

int csp_engine_create_opencsd(struct csp_engine **out, const struct csp_trace_config *configs,
                              size_t config_count, bool formatted,
                              const struct csp_code_memory *code, csp_element_fn *sink, void *user,
                              struct csp_diag *diag)
{
    if (!config_count || (!formatted && config_count > 1))
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "a raw trace stream has one trace unit, not %zu",
                        config_count);
    struct csp_opencsd_engine *engine =
        csp_calloc(1, sizeof *engine + config_count * sizeof *engine->sources);
    engine->base.ops = &operations;
    engine->code = *code;
    engine->sink = sink;
    engine->user = user;
    engine->formatted = formatted;
    ocsd_err_t error = build_tree(engine, configs, config_count);
    if (error != OCSD_OK) {
        char text[256];
        ocsd_err_str(error, text, sizeof text);
        destroy(&engine->base);
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "OpenCSD %s refuses the trace configuration: %s",
                        ocsd_get_version_str(), text);
    }
    *out = &engine->base;
    return 0;
}

void csp_engine_opencsd_print_packets(struct csp_engine *base, csp_packet_fn *print, void *user)
{
    struct csp_opencsd_engine *engine = from_base(base);
    engine->print = print;
    engine->print_user = user;
}
