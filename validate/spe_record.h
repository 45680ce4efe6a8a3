/* SPE sample records: what the core tells of one operation. */
#ifndef CSP_VALIDATE_SPE_RECORD_H
#define CSP_VALIDATE_SPE_RECORD_H

#include "validate/spe_packet.h"

#include <stdbool.h>

/* Bits of the events payload (Arm ARM, "Events packet payload"). */
enum csp_spe_event {
    CSP_SPE_EXCEPTION = 0,
    CSP_SPE_RETIRED = 1,
    CSP_SPE_L1D_ACCESS = 2,
    CSP_SPE_L1D_REFILL = 3,
    CSP_SPE_TLB_ACCESS = 4,
    CSP_SPE_TLB_WALK = 5,
    CSP_SPE_NOT_TAKEN = 6,
    CSP_SPE_MISPREDICTED = 7,
    CSP_SPE_LLC_ACCESS = 8,
    CSP_SPE_LLC_MISS = 9,
    CSP_SPE_REMOTE = 10,
    CSP_SPE_MISALIGNED = 11,
    CSP_SPE_NAMED_EVENTS = 12,
};

extern const char *const csp_spe_event_names[CSP_SPE_NAMED_EVENTS];

/* What kind of operation it was: class and payload of the operation type packet. */
enum csp_spe_operation {
    CSP_SPE_OTHER,
    CSP_SPE_LOAD,
    CSP_SPE_STORE,
    CSP_SPE_BRANCH,
    CSP_SPE_UNTOLD
};

extern const char *const csp_spe_operation_names[CSP_SPE_UNTOLD + 1];

struct csp_spe_record {
    /* Instruction addresses are without what their top byte says: bit 63 non-secure, 62:61 the
     * exception level. Bits 55:0 are extended by bit 55. */
    uint64_t addresses[CSP_SPE_ADDRESSES];
    uint16_t counters[CSP_SPE_COUNTERS];
    uint64_t events, timestamp;
    uint32_t context;     /* CONTEXTIDR: a thread ID, where the kernel writes it there */
    uint16_t data_source; /* of loads; what it means depends on the core */
    uint8_t operation;    /* enum csp_spe_operation */
    uint8_t el;           /* of the PC */
    uint8_t addresses_known, counters_known; /* bits */
    bool has_events, has_context, has_data_source, has_timestamp;
};

static inline bool csp_spe_has_address(const struct csp_spe_record *record,
                                       enum csp_spe_address which)
{
    return record->addresses_known >> which & 1;
}

static inline bool csp_spe_has_counter(const struct csp_spe_record *record,
                                       enum csp_spe_counter which)
{
    return record->counters_known >> which & 1;
}

/* All bytes are in records, padding, dropped or left. */
struct csp_spe_stats {
    uint64_t records, record_bytes;
    uint64_t padding;
    uint64_t bad_packets; /* bytes with which no packet begins, and packets in the wrong size */
    uint64_t dropped;     /* bytes of records with one of those, to their end */
    uint64_t left;        /* bytes of a record that the buffer does not hold to its end */
    uint64_t unknown;     /* addresses and counters of an index without a name, ignored */
};

/* Set the first three. */
struct csp_spe_reader {
    const uint8_t *data;
    size_t size;
    uint64_t position; /* of data[0] in the core's buffer */
    size_t at;
    struct csp_spe_stats stats;
};

/* The next record: false at the end. A record with a bad packet is skipped to its end. */
bool csp_spe_next(struct csp_spe_reader *reader, struct csp_spe_record *record);

#endif
