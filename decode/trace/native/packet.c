#include "decode/trace/native/packet.h"

#include "base/bytes.h"

/* TRCIDR0 */
enum { IDR0_COND = 1u << 6, IDR0_CCI = 1u << 7, IDR0_QSUPP = 3u << 15, IDR0_COMMOPT = 1u << 29 };
/* TRCCONFIGR */
enum { CONFIGR_COND = 7u << 8, CONFIGR_DATA = 3u << 16 };
/* Versions, major and minor digit; an ETE counts as a version 5 ETM. */
enum { VERSION_IGNORE = 0x43, VERSION_MARKER = 0x46, VERSION_ETE = 0x50, VERSION_ITE = 0x53 };

/* COMMOPT is reserved in a unit that does not count cycles. */
static bool has_commit_mode_1(const struct csp_trace_config *config)
{
    return (config->idr0 & IDR0_CCI) && (config->idr0 & IDR0_COMMOPT);
}

static unsigned version_of(const struct csp_trace_config *config)
{
    if (config->protocol == CSP_PROTOCOL_ETE)
        return VERSION_ETE | (config->devarch >> 16 & 15);
    return config->idr1 >> 4 & 0xff;
}

/* Field sizes of TRCIDR2 are in bytes: 0, 1, 2 or 4. */
static uint8_t id_bytes(uint32_t field)
{
    return (uint8_t)(field <= 4 ? field : 4);
}

void csp_packet_reader_init(struct csp_packet_reader *reader, const struct csp_trace_config *config)
{
    unsigned version = version_of(config);
    *reader = (struct csp_packet_reader){
        .is_ete = version >= VERSION_ETE,
        .commits_in_cycle_counts = !has_commit_mode_1(config),
        .has_q = config->idr0 & IDR0_QSUPP,
        .has_conditional = (config->idr0 & IDR0_COND) && (config->configr & CONFIGR_COND),
        .has_data_sync = config->configr & CONFIGR_DATA,
        .has_ignore = version >= VERSION_IGNORE,
        .has_marker = version >= VERSION_MARKER,
        .has_instrumentation = version >= VERSION_ITE,
        .context_id_bytes = id_bytes(config->idr2 >> 5 & 31),
        .vmid_bytes = id_bytes(config->idr2 >> 10 & 31),
        .speculation_depth = config->idr8,
    };
}

void csp_packet_reader_reset(struct csp_packet_reader *reader)
{
    memset(reader->history, 0, sizeof reader->history);
    reader->timestamp = 0;
}

const uint32_t csp_packet_atoms[256] = {
    /* Format 6: 3 … 23 times E, then E or N. */
    [0xc0] = 0x0400000f,
    0x0500001f,
    0x0600003f,
    0x0700007f,
    [0xc4] = 0x080000ff,
    0x090001ff,
    0x0a0003ff,
    0x0b0007ff,
    [0xc8] = 0x0c000fff,
    0x0d001fff,
    0x0e003fff,
    0x0f007fff,
    [0xcc] = 0x1000ffff,
    0x1101ffff,
    0x1203ffff,
    0x1307ffff,
    [0xd0] = 0x140fffff,
    0x151fffff,
    0x163fffff,
    0x177fffff,
    0x18ffffff,
    [0xe0] = 0x04000007,
    0x0500000f,
    0x0600001f,
    0x0700003f,
    [0xe4] = 0x0800007f,
    0x090000ff,
    0x0a0001ff,
    0x0b0003ff,
    [0xe8] = 0x0c0007ff,
    0x0d000fff,
    0x0e001fff,
    0x0f003fff,
    [0xec] = 0x10007fff,
    0x1100ffff,
    0x1201ffff,
    0x1303ffff,
    [0xf0] = 0x1407ffff,
    0x150fffff,
    0x161fffff,
    0x173fffff,
    0x187fffff,
    /* Format 5: NNNNN, NENEN, ENENE; NEEEE. */
    [0xd5] = 0x05000000,
    0x0500000a,
    0x05000015,
    [0xf5] = 0x0500001e,
    /* Format 2. */
    [0xd8] = 0x02000000,
    0x02000001,
    0x02000002,
    0x02000003,
    /* Format 4: NEEE, NNNN, NENE, ENEN. */
    [0xdc] = 0x0400000e,
    0x04000000,
    0x0400000a,
    0x04000005,
    /* Format 1. */
    [0xf6] = 0x01000000,
    0x01000001,
    /* Format 3. */
    [0xf8] = 0x03000000,
    0x03000001,
    0x03000002,
    0x03000003,
    [0xfc] = 0x03000004,
    0x03000005,
    0x03000006,
    0x03000007,
};

static void bad(struct csp_packet *packet)
{
    packet->type = CSP_PACKET_BAD;
}

/* Seven bits a byte, lowest first, while bit 7 is set: at most `limit` bytes. */
static uint32_t continued(struct csp_cursor *cursor, unsigned limit, struct csp_packet *packet)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < limit; i++) {
        uint8_t byte = csp_cursor_u8(cursor);
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80))
            return (uint32_t)value;
    }
    bad(packet);
    return 0;
}

static void read_extension(struct csp_cursor *cursor, struct csp_packet *packet)
{
    uint8_t kind = csp_cursor_u8(cursor);
    if (kind == 3)
        packet->type = CSP_PACKET_DISCARD;
    else if (kind == 5)
        packet->type = CSP_PACKET_OVERFLOW;
    else if (kind != 0)
        bad(packet);
    else {
        packet->type = CSP_PACKET_ASYNC; /* eleven bytes of zero, then 0x80 */
        for (unsigned zeroes = 2; zeroes < 11; zeroes++) {
            if (csp_cursor_u8(cursor))
                return bad(packet);
        }
        if (csp_cursor_u8(cursor) != 0x80 && !cursor->overrun)
            bad(packet);
    }
}

/* Which of the fields INFO, KEY, SPEC, CYCT and WNDW follow is in the first control byte. */
static void read_trace_info(struct csp_packet_reader *reader, struct csp_cursor *cursor,
                            struct csp_packet *packet)
{
    uint8_t first = csp_cursor_u8(cursor), control = first;
    for (unsigned i = 0; control & 0x80; i++) {
        if (i == 4)
            return bad(packet);
        control = csp_cursor_u8(cursor);
    }
    packet->type = CSP_PACKET_TRACE_INFO;
    uint32_t info = first & 1 ? continued(cursor, 5, packet) : 0;
    if (first & 2)
        continued(cursor, 5, packet); /* KEY: of conditional and data trace */
    packet->count = first & 4 ? continued(cursor, 5, packet) : 0;
    if (first & 8)
        continued(cursor, 5, packet); /* CYCT: cycle counts are not delivered */
    if (first & 16)
        continued(cursor, 5, packet); /* WNDW */
    packet->in_transaction = reader->is_ete && (info & 1u << 6);
    if (!cursor->overrun && packet->type != CSP_PACKET_BAD)
        csp_packet_reader_reset(reader);
}

static void read_timestamp(struct csp_packet_reader *reader, struct csp_cursor *cursor,
                           bool has_count, struct csp_packet *packet)
{
    uint64_t value = 0;
    unsigned bits = 0;
    uint8_t byte;
    do {
        byte = csp_cursor_u8(cursor);
        value |= (uint64_t)(bits < 56 ? byte & 0x7f : byte) << bits;
        bits += bits < 56 ? 7 : 8;
    } while ((byte & 0x80) && bits < 64);
    packet->type = CSP_PACKET_TIMESTAMP;
    if (has_count)
        continued(cursor, 3, packet);
    uint64_t kept = bits < 64 ? reader->timestamp >> bits << bits : 0;
    packet->timestamp = kept | value;
    if (!cursor->overrun)
        reader->timestamp = packet->timestamp;
}

/* ETE's PE Reset and Transaction Failure have the form of an exception, without an address. */
static void read_exception(struct csp_packet_reader *reader, struct csp_cursor *cursor,
                           struct csp_packet *packet)
{
    enum { PE_RESET = 0, TRANSACTION_FAILURE = 0x18 };
    uint8_t first = csp_cursor_u8(cursor);
    uint32_t number = first >> 1 & 31;
    bool without_address = reader->is_ete && (number == PE_RESET || number == TRANSACTION_FAILURE);
    uint8_t second = (first & 0x80) || without_address ? csp_cursor_u8(cursor) : 0;
    if (first & 0x80)
        number |= (uint32_t)(second & 31) << 5;
    packet->type = CSP_PACKET_EXCEPTION;
    packet->number = number;
    packet->is_branch_target = (first & 0x41) == 0x40;
    if (!without_address)
        return;
    packet->type = number == PE_RESET ? CSP_PACKET_RESET : CSP_PACKET_TRANSACTION_FAIL;
    if (!cursor->overrun)
        csp_packet_remember(reader, 0, 0);
}

static void read_cycle_count(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                             uint8_t header, struct csp_packet *packet)
{
    packet->type = CSP_PACKET_CYCLE_COUNT;
    if (header >= 0x10) { /* format 3 */
        packet->commit = (header >> 2 & 3) + 1u;
    } else if (header < 0x0e) { /* format 2: bit 0 counts back from the deepest */
        packet->commit = (csp_cursor_u8(cursor) >> 4) + 1u;
        if (header & 1)
            packet->commit = packet->commit + reader->speculation_depth > 16
                                 ? packet->commit + reader->speculation_depth - 16
                                 : 0;
    } else { /* format 1: bit 0 says that the count is unknown */
        if (reader->commits_in_cycle_counts)
            packet->commit = continued(cursor, 5, packet);
        if (!(header & 1))
            continued(cursor, 3, packet);
    }
    if (!reader->commits_in_cycle_counts)
        packet->commit = 0;
}

static void set_atoms(struct csp_packet *packet, uint32_t atoms, uint8_t count)
{
    packet->atoms = atoms;
    packet->atom_count = count;
}

/* The atoms that come before a mispredict, from the lowest two bits of the header. */
static void set_short_atoms(struct csp_packet *packet, uint8_t header)
{
    static const struct {
        uint8_t atoms, count;
    } formats[4] = {{0, 0}, {1, 1}, {3, 2}, {0, 1}};
    set_atoms(packet, formats[header & 3].atoms, formats[header & 3].count);
}

static void read_cancel(struct csp_cursor *cursor, uint8_t header, struct csp_packet *packet)
{
    packet->type = CSP_PACKET_CANCEL;
    packet->mispredict = header != 0x2e;
    if (header < 0x30) { /* format 1 */
        packet->cancel = continued(cursor, 5, packet);
    } else if (header < 0x38) { /* format 2 */
        packet->cancel = 1;
        set_short_atoms(packet, header);
    } else { /* format 3 */
        packet->cancel = (header >> 1 & 3) + 2u;
        set_atoms(packet, header & 1, header & 1);
    }
}

static void read_conditional(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                             uint8_t header, struct csp_packet *packet)
{
    packet->type = CSP_PACKET_CONDITIONAL;
    if (!reader->has_conditional)
        return bad(packet);
    if (header == 0x6c) /* instruction format 1 */
        continued(cursor, 5, packet);
    else if (header == 0x6d || (header >= 0x50 && header <= 0x5f)) /* two bytes */
        csp_cursor_u8(cursor);
    else if (header >= 0x68) { /* result format 1: one or two keys */
        continued(cursor, 6, packet);
        if (header < 0x6c)
            continued(cursor, 6, packet);
    }
}

static void read_context(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                         struct csp_packet_context *context)
{
    uint8_t info = csp_cursor_u8(cursor);
    context->changed = true;
    context->el = info & 3;
    context->nse = info & 8;
    context->is_64bit = info & 0x10;
    context->non_secure = info & 0x20;
    if (info & 0x40) {
        context->has_vmid = true;
        for (unsigned i = 0; i < reader->vmid_bytes; i++)
            context->vmid |= (uint32_t)csp_cursor_u8(cursor) << (8 * i);
    }
    if (info & 0x80) {
        context->has_context_id = true;
        for (unsigned i = 0; i < reader->context_id_bytes; i++)
            context->context_id |= (uint32_t)csp_cursor_u8(cursor) << (8 * i);
    }
}

static void set_address(struct csp_packet *packet, uint64_t address, uint8_t isa)
{
    packet->has_address = true;
    packet->address = address;
    packet->isa = isa;
}

static void read_exact_match(const struct csp_packet_reader *reader, unsigned entry,
                             struct csp_packet *packet)
{
    set_address(packet, reader->history[entry].value, reader->history[entry].isa);
}

static void read_short_address(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                               uint8_t isa, struct csp_packet *packet)
{
    unsigned low = isa ? 1 : 2, bits = low + 7;
    uint8_t byte = csp_cursor_u8(cursor);
    uint64_t value = (uint64_t)(byte & 0x7f) << low;
    if (byte & 0x80) {
        value |= (uint64_t)csp_cursor_u8(cursor) << bits;
        bits += 8;
    }
    set_address(packet, (reader->history[0].value >> bits << bits) | value, isa);
}

static void read_long_address(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                              uint8_t isa, bool is_64bit, struct csp_packet *packet)
{
    uint64_t first = csp_cursor_u8(cursor) & 0x7f, second = csp_cursor_u8(cursor);
    uint64_t value = isa ? first << 1 | second << 8 : first << 2 | (second & 0x7f) << 9;
    value |= (uint64_t)csp_cursor_u16(cursor) << 16;
    value |=
        is_64bit ? (uint64_t)csp_cursor_u32(cursor) << 32 : reader->history[0].value >> 32 << 32;
    set_address(packet, value, isa);
}

static void read_q(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                   uint8_t header, struct csp_packet *packet)
{
    packet->type = CSP_PACKET_Q;
    if (!reader->has_q)
        return bad(packet);
    switch (header & 15) {
    case 0 ... 2:
        read_exact_match(reader, header & 3, packet);
        break;
    case 5:
    case 6:
        read_short_address(reader, cursor, header & 1 ? 0 : 1, packet);
        break;
    case 10:
    case 11:
        read_long_address(reader, cursor, header & 1, false, packet);
        break;
    case 12:
        break;
    case 15:
        return;
    default:
        return bad(packet);
    }
    packet->has_count = true;
    packet->count = continued(cursor, 5, packet);
}

static void read_address_context(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                                 uint8_t header, struct csp_packet *packet)
{
    bool is_64bit = header >= 0x85;
    packet->type = CSP_PACKET_ADDRESS_CONTEXT;
    read_long_address(reader, cursor, is_64bit ? header - 0x85 : header - 0x82, is_64bit, packet);
    read_context(reader, cursor, &packet->context);
}

static void read_source_address(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                                uint8_t header, struct csp_packet *packet)
{
    packet->type = CSP_PACKET_SOURCE_ADDRESS;
    if (!reader->is_ete)
        return bad(packet);
    if (header <= 0xb2)
        read_exact_match(reader, header - 0xb0, packet);
    else if (header <= 0xb5)
        read_short_address(reader, cursor, header & 1, packet);
    else
        read_long_address(reader, cursor, header & 1, header >= 0xb8, packet);
}

static void read_instrumentation(const struct csp_packet_reader *reader, struct csp_cursor *cursor,
                                 struct csp_packet *packet)
{
    packet->type = CSP_PACKET_INSTRUMENTATION;
    if (!reader->has_instrumentation)
        return bad(packet);
    csp_cursor_take(cursor, 9); /* exception level, then 64 bits of the program's own */
}

static enum csp_packet_type when(bool possible, enum csp_packet_type type)
{
    return possible ? type : CSP_PACKET_BAD;
}

static void read_by_header(struct csp_packet_reader *reader, struct csp_cursor *cursor,
                           struct csp_packet *packet)
{
    uint8_t header = csp_cursor_u8(cursor);
    switch (header) {
    case 0x00:
        return read_extension(cursor, packet);
    case 0x01:
        return read_trace_info(reader, cursor, packet);
    case 0x02:
    case 0x03:
        return read_timestamp(reader, cursor, header & 1, packet);
    case 0x04:
        packet->type = CSP_PACKET_TRACE_ON;
        return;
    case 0x06:
        return read_exception(reader, cursor, packet);
    case 0x07:
        packet->type = (uint8_t)when(!reader->is_ete, CSP_PACKET_EXCEPTION_RETURN);
        return;
    case 0x09:
        return read_instrumentation(reader, cursor, packet);
    case 0x0a:
        packet->type = (uint8_t)when(reader->is_ete, CSP_PACKET_TRANSACTION_START);
        return;
    case 0x0b:
        packet->type = (uint8_t)when(reader->is_ete, CSP_PACKET_TRANSACTION_COMMIT);
        return;
    case 0x0c ... 0x1f:
        return read_cycle_count(reader, cursor, header, packet);
    case 0x20 ... 0x2c:
        packet->type = (uint8_t)when(reader->has_data_sync, CSP_PACKET_DATA_SYNC);
        return;
    case 0x2d:
        packet->type = CSP_PACKET_COMMIT;
        packet->commit = continued(cursor, 5, packet);
        return;
    case 0x2e:
    case 0x2f:
    case 0x34 ... 0x3f:
        return read_cancel(cursor, header, packet);
    case 0x30 ... 0x33:
        packet->type = CSP_PACKET_MISPREDICT;
        return set_short_atoms(packet, header);
    case 0x40 ... 0x46:
    case 0x48 ... 0x4a:
    case 0x4c ... 0x4e:
    case 0x50 ... 0x5f:
    case 0x68 ... 0x6f:
        return read_conditional(reader, cursor, header, packet);
    case 0x70:
        packet->type = (uint8_t)when(reader->has_ignore, CSP_PACKET_IGNORE);
        return;
    case 0x71 ... 0x7f:
        packet->type = CSP_PACKET_EVENT;
        packet->number = header & 15;
        return;
    case 0x80:
    case 0x81:
        packet->type = CSP_PACKET_CONTEXT;
        if (header & 1)
            read_context(reader, cursor, &packet->context);
        return;
    case 0x82:
    case 0x83:
    case 0x85:
    case 0x86:
        return read_address_context(reader, cursor, header, packet);
    case 0x88:
        packet->type = (uint8_t)when(reader->has_marker, CSP_PACKET_TIMESTAMP_MARKER);
        return;
    case 0x90 ... 0x92:
        packet->type = CSP_PACKET_ADDRESS;
        return read_exact_match(reader, header - 0x90, packet);
    case 0x95:
    case 0x96:
        packet->type = CSP_PACKET_ADDRESS;
        return read_short_address(reader, cursor, header - 0x95, packet);
    case 0x9a:
    case 0x9b:
    case 0x9d:
    case 0x9e:
        packet->type = CSP_PACKET_ADDRESS;
        return read_long_address(reader, cursor, header == 0x9b || header == 0x9e, header >= 0x9d,
                                 packet);
    case 0xa0 ... 0xaf:
        return read_q(reader, cursor, header, packet);
    case 0xb0 ... 0xb2:
    case 0xb4 ... 0xb9:
        return read_source_address(reader, cursor, header, packet);
    case 0xc0 ... 0xff:
        packet->type = CSP_PACKET_ATOMS;
        return set_atoms(packet, csp_packet_atoms[header] & 0xffffff,
                         (uint8_t)(csp_packet_atoms[header] >> 24));
    default: /* reserved; 0x05 is of M-profile cores, which have no A64 code to walk */
        return bad(packet);
    }
}

size_t csp_packet_read(struct csp_packet_reader *reader, const uint8_t *at, const uint8_t *end,
                       struct csp_packet *packet)
{
    struct csp_cursor cursor = csp_cursor(at, (size_t)(end - at));
    *packet = (struct csp_packet){.type = CSP_PACKET_BAD};
    read_by_header(reader, &cursor, packet);
    if (cursor.overrun)
        return 0;
    if (packet->has_address && packet->type != CSP_PACKET_BAD)
        csp_packet_remember(reader, packet->address, packet->isa);
    return (size_t)(cursor.at - at);
}
