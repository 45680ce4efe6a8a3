/* OpenCSD's elements, and its packets as far as they tell more, in our words. */
#include "decode/trace/opencsd_private.h"

#include "base/bytes.h"
#include "decode/code/aarch64.h"

#include <string.h>

void csp_opencsd_deliver(struct csp_opencsd_engine *engine)
{
    if (engine->batch_len && engine->status >= 0)
        engine->status = engine->sink(engine->user, engine->batch, engine->batch_len);
    engine->batch_len = 0;
}

struct csp_element *csp_opencsd_add(struct csp_opencsd_engine *engine,
                                    const struct csp_opencsd_source *source,
                                    enum csp_element_type type)
{
    if (engine->batch_len == BATCH)
        csp_opencsd_deliver(engine);
    struct csp_element *element = &engine->batch[engine->batch_len++];
    *element = (struct csp_element){.type = (uint8_t)type, .source = source->number};
    return element;
}

size_t csp_opencsd_fetch(const struct csp_opencsd_engine *engine,
                         const struct csp_opencsd_source *source, uint64_t address,
                         const uint8_t **bytes)
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

static enum csp_branch_kind last_kind(const struct csp_opencsd_engine *engine,
                                      const struct csp_opencsd_source *source,
                                      const ocsd_generic_trace_elem *element)
{
    const uint8_t *bytes;
    if (element->isa == ocsd_isa_aarch64 &&
        csp_opencsd_fetch(engine, source, element->en_addr - 4, &bytes) >= 4)
        return csp_aarch64_classify(csp_load32(bytes)).kind;
    return kind_by_opencsd(element);
}

static void add_range(struct csp_opencsd_engine *engine, const struct csp_opencsd_source *source,
                      const ocsd_generic_trace_elem *from)
{
    struct csp_element *element = csp_opencsd_add(engine, source, CSP_ELEMENT_RANGE);
    element->a = from->st_addr;
    element->b = from->en_addr;
    element->instructions = from->num_instr_range;
    element->last_size = (uint8_t)from->last_instr_sz;
    element->kind = (uint8_t)last_kind(engine, source, from);
    element->taken = from->last_instr_exec && element->kind != CSP_BRANCH_UNKNOWN;
}

static void add_context(struct csp_opencsd_engine *engine, struct csp_opencsd_source *source,
                        const ocsd_pe_context *context)
{
    struct csp_element *element = csp_opencsd_add(engine, source, CSP_ELEMENT_CONTEXT);
    element->a = context->ctxt_id_valid ? context->context_id : 0;
    element->b = context->vmid_valid ? context->vmid : 0;
    element->el = context->el_valid ? (uint8_t)context->exception_level : 0;
    element->secure = context->security_level != ocsd_sec_nonsecure;
    source->context_id = source->context_field == CSP_CONTEXT_NONE ? 0
                         : source->context_field == CSP_CONTEXT_ID ? element->a
                                                                   : element->b;
}

/* The offset in all bytes given that OpenCSD calls `index`: it may count in 32 bits. */
static uint64_t offset_of(const struct csp_opencsd_engine *engine, ocsd_trc_index_t index)
{
    int32_t ahead = (int32_t)(index - (ocsd_trc_index_t)engine->position);
    return engine->start + engine->position + (uint64_t)(int64_t)ahead;
}

/* The same, of the frame when there are frames: what an element tells. */
static uint64_t element_offset(const struct csp_opencsd_engine *engine, ocsd_trc_index_t index)
{
    uint64_t offset = offset_of(engine, index);
    return engine->formatted ? engine->start + (offset - engine->start) / FRAME * FRAME : offset;
}

static void add_lost_sync(struct csp_opencsd_engine *engine,
                          const struct csp_opencsd_source *source, unsync_info_t reason,
                          ocsd_trc_index_t index)
{
    switch (reason) {
    case UNSYNC_OVERFLOW:
        csp_opencsd_add(engine, source, CSP_ELEMENT_OVERFLOW);
        break;
    case UNSYNC_DISCARD:
        csp_opencsd_add(engine, source, CSP_ELEMENT_DISCARD);
        break;
    case UNSYNC_BAD_PACKET:
        csp_opencsd_add(engine, source, CSP_ELEMENT_BAD)->a = element_offset(engine, index);
        break;
    default: /* waiting for the first synchronisation after a start or reset */
        break;
    }
}

/* Whether the TRACE_ON packet at `index` was seen to enable the unit. */
static bool take_enabling(struct csp_opencsd_source *source, ocsd_trc_index_t index)
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

static void add_trace_on(struct csp_opencsd_engine *engine, struct csp_opencsd_source *source,
                         ocsd_trc_index_t index)
{
    if (take_enabling(source, index))
        csp_opencsd_add(engine, source, CSP_ELEMENT_SYNC);
    csp_opencsd_add(engine, source, CSP_ELEMENT_TRACE_ON)->a = element_offset(engine, index);
}

static void add_no_code(struct csp_opencsd_engine *engine, struct csp_opencsd_source *source,
                        uint64_t address)
{
    source->is_missing_again = source->is_missing && source->missing == address;
    source->is_missing = true;
    source->missing = address;
    csp_opencsd_add(engine, source, CSP_ELEMENT_NO_CODE)->a = address;
}

/* Before an exception OpenCSD looks once more for the code that it has not found, although
 * execution has left it for who knows where, and tells of it once more. */
static void take_back_no_code(struct csp_opencsd_engine *engine,
                              const struct csp_opencsd_source *source,
                              const ocsd_generic_trace_elem *exception)
{
    if (!engine->batch_len || !source->is_missing_again)
        return;
    const struct csp_element *last = &engine->batch[engine->batch_len - 1];
    bool is_there = exception->excep_ret_addr && exception->en_addr == last->a;
    if (last->type == CSP_ELEMENT_NO_CODE && last->source == source->number && !is_there)
        engine->batch_len--;
}

static void add_exception(struct csp_opencsd_engine *engine,
                          const struct csp_opencsd_source *source,
                          const ocsd_generic_trace_elem *from)
{
    take_back_no_code(engine, source, from);
    struct csp_element *element = csp_opencsd_add(engine, source, CSP_ELEMENT_EXCEPTION);
    element->number = from->exception_number;
    element->has_address = from->excep_ret_addr;
    element->a = from->excep_ret_addr ? from->en_addr : 0;
}

static void add_unknown_path(struct csp_opencsd_engine *engine,
                             const struct csp_opencsd_source *source,
                             const ocsd_generic_trace_elem *from)
{
    struct csp_element *element = csp_opencsd_add(engine, source, CSP_ELEMENT_NO_PATH);
    element->a = from->st_addr;
    element->b = from->en_addr;
    element->instructions = from->num_instr_range;
}

ocsd_datapath_resp_t csp_opencsd_on_element(const void *context, const ocsd_trc_index_t index,
                                            const uint8_t id, const ocsd_generic_trace_elem *from)
{
    struct csp_opencsd_engine *engine = (struct csp_opencsd_engine *)context;
    struct csp_opencsd_source *source = engine->by_id[id & 127];
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
        csp_opencsd_add(engine, source, CSP_ELEMENT_EXCEPTION_RETURN);
        break;
    case OCSD_GEN_TRC_ELEM_TIMESTAMP:
        csp_opencsd_add(engine, source, CSP_ELEMENT_TIMESTAMP)->a = from->timestamp;
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
        csp_opencsd_add(engine, source, CSP_ELEMENT_OTHER);
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

static void note_enabling(struct csp_opencsd_source *source, ocsd_trc_index_t index)
{
    if (source->count == PENDING) { /* more than can be speculative at once: the oldest is stale */
        source->first = (source->first + 1) % PENDING;
        source->count--;
    }
    source->enablings[(source->first + source->count++) % PENDING] = index;
}

static void print_packet(struct csp_opencsd_source *source, ocsd_trc_index_t index,
                         const void *packet)
{
    struct csp_opencsd_engine *engine = source->engine;
    char text[1024];
    if (ocsd_pkt_str(OCSD_PROTOCOL_ETMV4I, packet, text, sizeof text) != OCSD_OK)
        strcpy(text, "(no text)");
    engine->print(engine->print_user, offset_of(engine, index), source->number, text);
}

void csp_opencsd_on_packet(const void *context, const ocsd_datapath_op_t op,
                           const ocsd_trc_index_t index, const void *packet, const uint32_t size,
                           const uint8_t *data)
{
    struct csp_opencsd_source *source = (struct csp_opencsd_source *)context;
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
