/* The reference engine: OpenCSD's full decoder, through its C API, behind decode/trace/engine.h. */
#include "decode/trace/opencsd_engine.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "decode/code/aarch64.h"

#include <opencsd/c_api/opencsd_c_api.h>
#include <opencsd/ocsd_if_version.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1024, FRAME = OCSD_DFRMTR_FRAME_SIZE, PENDING = 64 };

struct opencsd_engine;

/* One trace unit. */
struct source {
    struct opencsd_engine *engine;
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

struct opencsd_engine {
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
    struct source *by_id[128];
    struct source sources[];
};

/* OpenCSD keeps its decode trees in one unguarded list. */
static pthread_mutex_t tree_list = PTHREAD_MUTEX_INITIALIZER;

static struct opencsd_engine *from_base(struct csp_engine *engine)
{
    return (struct opencsd_engine *)engine;
}

static void deliver(struct opencsd_engine *engine)
{
    if (engine->batch_len && engine->status >= 0)
        engine->status = engine->sink(engine->user, engine->batch, engine->batch_len);
    engine->batch_len = 0;
}

static struct csp_element *add(struct opencsd_engine *engine, const struct source *source,
                               enum csp_element_type type)
{
    if (engine->batch_len == BATCH)
        deliver(engine);
    struct csp_element *element = &engine->batch[engine->batch_len++];
    *element = (struct csp_element){.type = (uint8_t)type, .source = source->number};
    return element;
}

static size_t fetch(const struct opencsd_engine *engine, const struct source *source,
                    uint64_t address, const uint8_t **bytes)
{
    return engine->code.fetch(engine->code.user, source->number, source->context_id, address,
                              bytes);
}

/* Kind of a branch of the 32-bit instruction sets, which we do not classify ourselves. */
static enum csp_branch_kind kind_by_opencsd(const ocsd_generic_trace_elem *element)
{
    bool link = element->last_i_subtype == OCSD_S_INSTR_BR_LINK;
    if (element->last_i_type == OCSD_INSTR_BR) {
        if (link)
            return CSP_BRANCH_CALL;
        return element->last_instr_cond ? CSP_BRANCH_CONDITIONAL : CSP_BRANCH_DIRECT;
    }
    if (element->last_i_type != OCSD_INSTR_BR_INDIRECT)
        return CSP_BRANCH_UNKNOWN;
    switch (element->last_i_subtype) {
    case OCSD_S_INSTR_BR_LINK:
        return CSP_BRANCH_INDIRECT_CALL;
    case OCSD_S_INSTR_V8_RET:
    case OCSD_S_INSTR_V7_IMPLIED_RET:
        return CSP_BRANCH_RETURN;
    case OCSD_S_INSTR_V8_ERET:
        return CSP_BRANCH_EXCEPTION_RETURN;
    default:
        return CSP_BRANCH_INDIRECT;
    }
}

static enum csp_branch_kind last_kind(const struct opencsd_engine *engine,
                                      const struct source *source,
                                      const ocsd_generic_trace_elem *element)
{
    const uint8_t *bytes;
    if (element->isa == ocsd_isa_aarch64 &&
        fetch(engine, source, element->en_addr - 4, &bytes) >= 4)
        return csp_aarch64_classify(csp_load32(bytes)).kind;
    return kind_by_opencsd(element);
}

static void add_range(struct opencsd_engine *engine, const struct source *source,
                      const ocsd_generic_trace_elem *from)
{
    struct csp_element *element = add(engine, source, CSP_ELEMENT_RANGE);
    element->a = from->st_addr;
    element->b = from->en_addr;
    element->instructions = from->num_instr_range;
    element->last_size = (uint8_t)from->last_instr_sz;
    element->kind = (uint8_t)last_kind(engine, source, from);
    element->taken = from->last_instr_exec && element->kind != CSP_BRANCH_UNKNOWN;
}

static void add_context(struct opencsd_engine *engine, struct source *source,
                        const ocsd_pe_context *context)
{
    struct csp_element *element = add(engine, source, CSP_ELEMENT_CONTEXT);
    element->a = context->ctxt_id_valid ? context->context_id : 0;
    element->b = context->vmid_valid ? context->vmid : 0;
    element->el = context->el_valid ? (uint8_t)context->exception_level : 0;
    element->secure = context->security_level != ocsd_sec_nonsecure;
    source->context_id = source->context_field == CSP_CONTEXT_NONE ? 0
                         : source->context_field == CSP_CONTEXT_ID ? element->a
                                                                   : element->b;
}

/* The offset in all bytes given that OpenCSD calls `index`: it may count in 32 bits. */
static uint64_t offset_of(const struct opencsd_engine *engine, ocsd_trc_index_t index)
{
    int32_t ahead = (int32_t)(index - (ocsd_trc_index_t)engine->position);
    return engine->start + engine->position + (uint64_t)(int64_t)ahead;
}

/* The same, of the frame when there are frames: what an element tells. */
static uint64_t element_offset(const struct opencsd_engine *engine, ocsd_trc_index_t index)
{
    uint64_t offset = offset_of(engine, index);
    return engine->formatted ? engine->start + (offset - engine->start) / FRAME * FRAME : offset;
}

static void add_lost_sync(struct opencsd_engine *engine, const struct source *source,
                          unsync_info_t reason, ocsd_trc_index_t index)
{
    switch (reason) {
    case UNSYNC_OVERFLOW:
        add(engine, source, CSP_ELEMENT_OVERFLOW);
        break;
    case UNSYNC_DISCARD:
        add(engine, source, CSP_ELEMENT_DISCARD);
        break;
    case UNSYNC_BAD_PACKET:
        add(engine, source, CSP_ELEMENT_BAD)->a = element_offset(engine, index);
        break;
    default: /* waiting for the first synchronisation after a start or reset */
        break;
    }
}

/* Whether the TRACE_ON packet at `index` was seen to enable the unit. */
static bool take_enabling(struct source *source, ocsd_trc_index_t index)
{
    while (source->count && (int32_t)(source->enablings[source->first] - index) < 0) {
        source->first = (source->first + 1) % PENDING; /* cancelled by a reset */
        source->count--;
    }
    if (!source->count || source->enablings[source->first] != index)
        return false;
    source->first = (source->first + 1) % PENDING;
    source->count--;
    return true;
}

static void add_trace_on(struct opencsd_engine *engine, struct source *source,
                         ocsd_trc_index_t index)
{
    if (take_enabling(source, index))
        add(engine, source, CSP_ELEMENT_SYNC);
    add(engine, source, CSP_ELEMENT_TRACE_ON)->a = element_offset(engine, index);
}

static void add_no_code(struct opencsd_engine *engine, struct source *source, uint64_t address)
{
    source->is_missing_again = source->is_missing && source->missing == address;
    source->is_missing = true;
    source->missing = address;
    add(engine, source, CSP_ELEMENT_NO_CODE)->a = address;
}

/* Before an exception OpenCSD looks once more for the code that it has not found, although
 * execution has left it for who knows where, and tells of it once more. */
static void take_back_no_code(struct opencsd_engine *engine, const struct source *source,
                              const ocsd_generic_trace_elem *exception)
{
    if (!engine->batch_len || !source->is_missing_again)
        return;
    const struct csp_element *last = &engine->batch[engine->batch_len - 1];
    bool is_there = exception->excep_ret_addr && exception->en_addr == last->a;
    if (last->type == CSP_ELEMENT_NO_CODE && last->source == source->number && !is_there)
        engine->batch_len--;
}

static void add_exception(struct opencsd_engine *engine, const struct source *source,
                          const ocsd_generic_trace_elem *from)
{
    take_back_no_code(engine, source, from);
    struct csp_element *element = add(engine, source, CSP_ELEMENT_EXCEPTION);
    element->number = from->exception_number;
    element->has_address = from->excep_ret_addr;
    element->a = from->excep_ret_addr ? from->en_addr : 0;
}

static void add_unknown_path(struct opencsd_engine *engine, const struct source *source,
                             const ocsd_generic_trace_elem *from)
{
    struct csp_element *element = add(engine, source, CSP_ELEMENT_NO_PATH);
    element->a = from->st_addr;
    element->b = from->en_addr;
    element->instructions = from->num_instr_range;
}

static ocsd_datapath_resp_t on_element(const void *context, const ocsd_trc_index_t index,
                                       const uint8_t id, const ocsd_generic_trace_elem *from)
{
    struct opencsd_engine *engine = (struct opencsd_engine *)context;
    struct source *source = engine->by_id[id & 127];
    if (!source)
        return OCSD_RESP_CONT;
    switch (from->elem_type) {
    case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
        source->is_missing = false;
        add_range(engine, source, from);
        break;
    case OCSD_GEN_TRC_ELEM_TRACE_ON:
        add_trace_on(engine, source, index);
        break;
    case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
        add_context(engine, source, &from->context);
        break;
    case OCSD_GEN_TRC_ELEM_EXCEPTION:
        add_exception(engine, source, from);
        break;
    case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
        add(engine, source, CSP_ELEMENT_EXCEPTION_RETURN);
        break;
    case OCSD_GEN_TRC_ELEM_TIMESTAMP:
        add(engine, source, CSP_ELEMENT_TIMESTAMP)->a = from->timestamp;
        break;
    case OCSD_GEN_TRC_ELEM_ADDR_NACC:
        add_no_code(engine, source, from->st_addr);
        break;
    case OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH:
        add_unknown_path(engine, source, from);
        break;
    case OCSD_GEN_TRC_ELEM_NO_SYNC:
        add_lost_sync(engine, source, from->unsync_eot_info, index);
        break;
    case OCSD_GEN_TRC_ELEM_EO_TRACE:
    case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
        break;
    default:
        add(engine, source, CSP_ELEMENT_OTHER);
        break;
    }
    return engine->status < 0 ? OCSD_RESP_FATAL_SYS_ERR : OCSD_RESP_CONT;
}

/* Whether a packet says nothing of what was executed. */
static bool is_transparent(ocsd_etmv4_i_pkt_type type)
{
    switch (type) {
    case ETM4_PKT_I_ASYNC:
    case ETM4_PKT_I_TIMESTAMP:
    case ETM4_PKT_I_EVENT:
    case ETM4_PKT_I_IGNORE:
    case ETM4_PKT_I_CTXT:
    case ETM4_PKT_I_CCNT_F1:
    case ETM4_PKT_I_CCNT_F2:
    case ETM4_PKT_I_CCNT_F3:
    case ETE_PKT_I_TS_MARKER:
        return true;
    default:
        return false;
    }
}

static void note_enabling(struct source *source, ocsd_trc_index_t index)
{
    if (source->count == PENDING) { /* more than can be speculative at once: the oldest is stale */
        source->first = (source->first + 1) % PENDING;
        source->count--;
    }
    source->enablings[(source->first + source->count++) % PENDING] = index;
}

static void print_packet(struct source *source, ocsd_trc_index_t index, const void *packet)
{
    struct opencsd_engine *engine = source->engine;
    char text[1024];
    if (ocsd_pkt_str(OCSD_PROTOCOL_ETMV4I, packet, text, sizeof text) != OCSD_OK)
        strcpy(text, "(no text)");
    engine->print(engine->print_user, offset_of(engine, index), source->number, text);
}

static void on_packet(const void *context, const ocsd_datapath_op_t op,
                      const ocsd_trc_index_t index, const void *packet, const uint32_t size,
                      const uint8_t *data)
{
    struct source *source = (struct source *)context;
    (void)size, (void)data;
    if (op != OCSD_OP_DATA)
        return;
    ocsd_etmv4_i_pkt_type type = ((const ocsd_etmv4_i_pkt *)packet)->type;
    if (type == ETM4_PKT_I_TRACE_INFO) {
        source->synced = true;
    } else if (!is_transparent(type)) {
        if (type == ETM4_PKT_I_TRACE_ON && source->synced)
            note_enabling(source, index);
        source->synced = false;
    }
    if (source->engine->print)
        print_packet(source, index, packet);
}

static uint32_t on_fetch(const void *context, const ocsd_vaddr_t address,
                         const ocsd_mem_space_acc_t space, const uint8_t id, const uint32_t want,
                         uint8_t *out)
{
    const struct opencsd_engine *engine = context;
    const struct source *source = engine->by_id[id & 127];
    const uint8_t *bytes;
    (void)space;
    if (!source)
        return 0;
    size_t got = fetch(engine, source, address, &bytes);
    if (got > want)
        got = want;
    if (got)
        memcpy(out, bytes, got);
    return (uint32_t)got;
}

/* Forgets what belongs to the stream so far. */
static void reset(struct opencsd_engine *engine)
{
    uint32_t used = 0;
    ocsd_dt_process_data(engine->tree, OCSD_OP_RESET, 0, 0, NULL, &used);
    engine->start += engine->position;
    engine->position = 0;
    for (size_t i = 0; i < engine->source_count; i++) {
        struct source *source = &engine->sources[i];
        source->context_id = 0;
        source->synced = source->is_missing = false;
        source->count = 0;
    }
}

/* After an error that OpenCSD does not recover from: starts afresh behind the byte that it failed
 * at, with the next frame of a formatted stream. */
static void recover(struct opencsd_engine *engine)
{
    engine->bad_packets++;
    for (size_t i = 0; i < engine->source_count; i++)
        add(engine, &engine->sources[i], CSP_ELEMENT_BAD)->a = engine->start + engine->position;
    reset(engine);
}

static int process(struct opencsd_engine *engine, const uint8_t *data, size_t size)
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
    struct opencsd_engine *engine = from_base(base);
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
    deliver(engine);
    return engine->status;
}

static int flush(struct csp_engine *base)
{
    struct opencsd_engine *engine = from_base(base);
    uint32_t used = 0;
    engine->lost_bytes += engine->carry_len; /* a frame that was cut off cannot be unpacked */
    engine->position += engine->carry_len;
    engine->carry_len = 0;
    if (engine->status >= 0)
        ocsd_dt_process_data(engine->tree, OCSD_OP_EOT, 0, 0, NULL, &used);
    reset(engine);
    deliver(engine);
    return engine->status;
}

static struct csp_engine_stats stats(const struct csp_engine *base)
{
    const struct opencsd_engine *engine = (const struct opencsd_engine *)base;
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
    struct opencsd_engine *engine = from_base(base);
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

static ocsd_err_t add_source(struct opencsd_engine *engine, struct source *source,
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
                                          (void *)on_packet, source);
}

static ocsd_err_t build_tree(struct opencsd_engine *engine, const struct csp_trace_config *configs,
                             size_t config_count)
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
        error = ocsd_dt_set_gen_elem_outfn(engine->tree, on_element, engine);
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
    struct opencsd_engine *engine =
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
    struct opencsd_engine *engine = from_base(base);
    engine->print = print;
    engine->print_user = user;
}
