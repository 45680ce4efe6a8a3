#include "decode/trace/native/window_edges.h"

#include "base/bytes.h"

enum {
    ASYNC_SIZE = 12,
    HEADER_TRACE_ON = 0x04,
    HEADER_EXCEPTION = 0x06,
    HEADER_ADDRESS_CONTEXT = 0x85, /* of 64 bits and IS0 */
    START_MAX = 18,
};

static bool is_known(const struct csp_window_opening *known, const uint8_t *at, const uint8_t *end)
{
    return known->size && (size_t)(end - at) >= known->size &&
           memcmp(at, known->bytes, known->size) == 0;
}

static bool is_async(const uint8_t *at, const uint8_t *end)
{
    return end - at >= ASYNC_SIZE && !csp_load64(at) && csp_load32(at + 8) == 0x80u << 24;
}

size_t csp_window_read_opening(struct csp_window_opening *known, struct csp_packet_reader *reader,
                               const uint8_t *at, const uint8_t *end)
{
    struct csp_packet info;
    if (is_known(known, at, end)) {
        csp_packet_reader_reset(reader);
        return known->size;
    }
    if (!is_async(at, end))
        return 0;
    csp_packet_reader_reset(reader); /* as the A-Sync will, if this comes to nothing */
    size_t size = csp_packet_read(reader, at + ASYNC_SIZE, end, &info);
    const uint8_t *on = at + ASYNC_SIZE + size;
    if (!size || info.type != CSP_PACKET_TRACE_INFO || info.count || info.in_transaction ||
        on == end || *on != HEADER_TRACE_ON)
        return 0;
    size += ASYNC_SIZE + 1;
    if (size <= sizeof known->bytes) {
        memcpy(known->bytes, at, size);
        known->size = size;
    }
    return size;
}

/* ---- address and context ---- */

static unsigned vmid_size(const struct csp_packet_reader *reader, uint8_t info)
{
    return info & 0x40 ? reader->vmid_bytes : 0;
}

static unsigned context_id_size(const struct csp_packet_reader *reader, uint8_t info)
{
    return info & 0x80 ? reader->context_id_bytes : 0;
}

static uint32_t load_up_to_4(const uint8_t *at, unsigned size)
{
    return (uint32_t)(csp_load32(at) & ((UINT64_C(1) << 8 * size) - 1));
}

size_t csp_window_read_start(struct csp_packet_reader *reader, const uint8_t *at,
                             const uint8_t *end, struct csp_window_start *start)
{
    if (end - at < START_MAX || *at != HEADER_ADDRESS_CONTEXT)
        return 0;
    uint64_t bytes = csp_load64(at + 1);
    uint8_t info = at[9];
    unsigned vmid = vmid_size(reader, info), context_id = context_id_size(reader, info);
    start->address = (bytes & 0x7f) << 2 | (bytes & 0x7f00) << 1 | (bytes & ~UINT64_C(0xffff));
    start->context =
        (struct csp_packet_context){.changed = true,
                                    .el = info & 3,
                                    .nse = info & 8,
                                    .is_64bit = info & 0x10,
                                    .non_secure = info & 0x20,
                                    .has_vmid = info & 0x40,
                                    .vmid = load_up_to_4(at + 10, vmid),
                                    .has_context_id = info & 0x80,
                                    .context_id = load_up_to_4(at + 10 + vmid, context_id)};
    csp_packet_remember(reader, start->address, 0);
    return 10 + vmid + context_id;
}

/* ---- the end ---- */

size_t csp_window_read_exception(struct csp_packet_reader *reader, const uint8_t *at,
                                 const uint8_t *end, struct csp_window_exception *exception)
{
    enum { PE_RESET = 0, TRANSACTION_FAILURE = 0x18 /* ETE's are without an address */ };
    struct csp_packet address;
    if (end - at < 3 || *at != HEADER_EXCEPTION || at[2] < 0x90 || at[2] > 0x9e)
        return 0;
    uint32_t number = at[1] >> 1 & 31;
    if (number == PE_RESET || number == TRANSACTION_FAILURE || at[1] & 0x80 /* it goes on */)
        return 0;
    size_t size = csp_packet_read(reader, at + 2, end, &address);
    if (!size || address.type != CSP_PACKET_ADDRESS)
        return 0;
    *exception = (struct csp_window_exception){.number = number,
                                               .is_branch_target = (at[1] & 0x41) == 0x40,
                                               .isa = address.isa,
                                               .address = address.address};
    return 2 + size;
}

/* Of an address and context that begin here. */
static size_t start_size(const struct csp_packet_reader *reader, const uint8_t *at,
                         const uint8_t *end)
{
    if (end - at < 10 || *at != HEADER_ADDRESS_CONTEXT)
        return 0;
    return 10 + vmid_size(reader, at[9]) + context_id_size(reader, at[9]);
}

bool csp_window_is_closing(struct csp_packet_reader *reader, const uint8_t *at, const uint8_t *end)
{
    struct csp_packet packet;
    size_t left = (size_t)(end - at), size = start_size(reader, at, end);
    uint64_t before = reader->timestamp;
    if (left <= size || left > CSP_WINDOW_CLOSING_MAX || at[size] != CSP_HEADER_TIMESTAMP)
        return false;
    if (csp_packet_read(reader, at + size, end, &packet) == left - size)
        return true;
    reader->timestamp = before;
    return false;
}
