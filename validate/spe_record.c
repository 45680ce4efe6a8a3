#include "validate/spe_record.h"

const char *const csp_spe_event_names[CSP_SPE_NAMED_EVENTS] = {
    "exception", "retired",      "l1d-access", "l1d-refill", "tlb-access",    "tlb-walk",
    "not-taken", "mispredicted", "llc-access", "llc-miss",   "remote-access", "misaligned",
};

const char *const csp_spe_operation_names[CSP_SPE_UNTOLD + 1] = {"other", "load", "store", "branch",
                                                                 "untold"};

enum { CLASS_OTHER, CLASS_LOAD_STORE, CLASS_BRANCH };

static uint64_t extend(uint64_t address)
{
    return (uint64_t)((int64_t)(address << 8) >> 8);
}

static void take_address(const struct csp_spe_packet *packet, struct csp_spe_record *record)
{
    uint64_t address = packet->payload;
    if (packet->index == CSP_SPE_PC)
        record->el = address >> 61 & 3;
    /* The top byte of a virtual data address is its own tag; of all others it tells the state. */
    if (packet->index == CSP_SPE_DATA_PHYSICAL)
        address &= (UINT64_C(1) << 56) - 1;
    else if (packet->index != CSP_SPE_DATA_VIRTUAL)
        address = extend(address);
    record->addresses[packet->index] = address;
    record->addresses_known |= (uint8_t)(1U << packet->index);
}

static enum csp_spe_operation operation_of(const struct csp_spe_packet *packet)
{
    switch (packet->index) {
    case CLASS_OTHER:
        return CSP_SPE_OTHER;
    case CLASS_LOAD_STORE:
        return packet->payload & 1 ? CSP_SPE_STORE : CSP_SPE_LOAD;
    case CLASS_BRANCH:
        return CSP_SPE_BRANCH;
    default:
        return CSP_SPE_UNTOLD;
    }
}

/* The sizes that the chapter gives each kind. */
static bool size_is_right(const struct csp_spe_packet *packet)
{
    switch (packet->kind) {
    case CSP_SPE_ADDRESS:
    case CSP_SPE_TIMESTAMP:
        return packet->payload_size == 8;
    case CSP_SPE_COUNTER:
        return packet->payload_size == 2;
    case CSP_SPE_CONTEXT:
        return packet->payload_size == 4;
    case CSP_SPE_OPERATION:
        return packet->payload_size == 1;
    case CSP_SPE_DATA_SOURCE:
        return packet->payload_size <= 2;
    default:
        return true;
    }
}

static void take_packet(struct csp_spe_reader *reader, const struct csp_spe_packet *packet,
                        struct csp_spe_record *record)
{
    switch (packet->kind) {
    case CSP_SPE_ADDRESS:
        if (packet->index < CSP_SPE_ADDRESSES)
            take_address(packet, record);
        else
            reader->stats.unknown++;
        break;
    case CSP_SPE_COUNTER:
        if (packet->index < CSP_SPE_COUNTERS) {
            record->counters[packet->index] = (uint16_t)packet->payload;
            record->counters_known |= (uint8_t)(1U << packet->index);
        } else {
            reader->stats.unknown++;
        }
        break;
    case CSP_SPE_EVENTS:
        record->events = packet->payload;
        record->has_events = true;
        break;
    case CSP_SPE_DATA_SOURCE:
        record->data_source = (uint16_t)packet->payload;
        record->has_data_source = true;
        break;
    case CSP_SPE_CONTEXT:
        record->context = (uint32_t)packet->payload;
        record->has_context = true;
        break;
    case CSP_SPE_OPERATION:
        record->operation = (uint8_t)operation_of(packet);
        break;
    case CSP_SPE_TIMESTAMP:
        record->timestamp = packet->payload;
        record->has_timestamp = true;
        break;
    case CSP_SPE_END:
    case CSP_SPE_PADDING:
    case CSP_SPE_ALIGNMENT:
        break;
    }
}

static bool is_padding(const struct csp_spe_packet *packet)
{
    return packet->kind == CSP_SPE_PADDING || packet->kind == CSP_SPE_ALIGNMENT;
}

static bool ends_record(const struct csp_spe_packet *packet)
{
    return packet->kind == CSP_SPE_END || packet->kind == CSP_SPE_TIMESTAMP;
}

bool csp_spe_next(struct csp_spe_reader *reader, struct csp_spe_record *record)
{
    struct csp_spe_stats *stats = &reader->stats;
    uint64_t bytes = 0; /* of the record so far, padding apart */
    bool bad = false;
    *record = (struct csp_spe_record){.operation = CSP_SPE_UNTOLD};
    while (reader->at < reader->size) {
        struct csp_spe_packet packet;
        enum csp_spe_result result =
            csp_spe_packet_read(reader->data + reader->at, reader->size - reader->at,
                                reader->position + reader->at, &packet);
        if (result == CSP_SPE_SHORT)
            break;
        bool wrong = result == CSP_SPE_BAD || !size_is_right(&packet);
        stats->bad_packets += wrong;
        bad |= wrong;
        reader->at += packet.size;
        *(is_padding(&packet) && !wrong ? &stats->padding : &bytes) += packet.size;
        if (wrong)
            continue;
        take_packet(reader, &packet, record);
        if (!ends_record(&packet))
            continue;
        *(bad ? &stats->dropped : &stats->record_bytes) += bytes;
        bytes = 0;
        if (!bad) {
            stats->records++;
            return true;
        }
        bad = false;
        *record = (struct csp_spe_record){.operation = CSP_SPE_UNTOLD};
    }
    stats->left += bytes + (reader->size - reader->at);
    reader->at = reader->size;
    return false;
}
