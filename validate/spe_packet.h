/* One packet of a Statistical Profiling Extension record.
 *
 * Source: Arm ARM (DDI 0487), chapter "Statistical Profiling Extension Sample Record
 * Specification". A packet is a header of one byte, or of two when the first is 0b001000xx, and a
 * payload of 1, 2, 4 or 8 bytes, little-endian, whose size is in bits 5:4 of the header's last
 * byte:
 *
 *   0b00000000            padding
 *   0b00000001            end of the record
 *   0b01ss0010            events
 *   0b01ss0011            data source
 *   0b011001ii            context; i: 0 CONTEXTIDR_EL1, 1 CONTEXTIDR_EL2
 *   0b010010ii            operation type; i: its class
 *   0b01110001            timestamp, which ends the record too
 *   0b10110iii            address, 8 bytes; i: its index, low bits
 *   0b10011iii            counter, 2 bytes; i: its index, low bits
 *   0b001000ii 0b1011.. / 0b1001..   the same two with bits 4:3 of the index in front
 *   0b0010nnnn 0b00000000 alignment: goes on at the next multiple of 2 << n bytes
 */
#ifndef CSP_VALIDATE_SPE_PACKET_H
#define CSP_VALIDATE_SPE_PACKET_H

#include <stddef.h>
#include <stdint.h>

enum csp_spe_kind {
    CSP_SPE_PADDING,
    CSP_SPE_ALIGNMENT,
    CSP_SPE_END,
    CSP_SPE_TIMESTAMP,
    CSP_SPE_EVENTS,
    CSP_SPE_DATA_SOURCE,
    CSP_SPE_CONTEXT,
    CSP_SPE_OPERATION,
    CSP_SPE_ADDRESS,
    CSP_SPE_COUNTER,
};

enum csp_spe_address {
    CSP_SPE_PC,
    CSP_SPE_BRANCH_TARGET,
    CSP_SPE_DATA_VIRTUAL,
    CSP_SPE_DATA_PHYSICAL,
    CSP_SPE_PREVIOUS_TARGET, /* of the branch before (FEAT_SPE_PBT) */
    CSP_SPE_ADDRESSES
};

enum csp_spe_counter {
    CSP_SPE_TOTAL_LATENCY,       /* cycles from dispatch to completion */
    CSP_SPE_ISSUE_LATENCY,       /* … to issue */
    CSP_SPE_TRANSLATION_LATENCY, /* … spent on the address of the data */
    CSP_SPE_COUNTERS
};

struct csp_spe_packet {
    enum csp_spe_kind kind;
    uint8_t index;        /* of addresses, counters and contexts; the class of operations */
    uint8_t payload_size; /* bytes; 0: none */
    uint64_t payload;
    size_t size; /* bytes of the whole packet, what an alignment skips included */
};

enum csp_spe_result { CSP_SPE_PACKET, CSP_SPE_SHORT, CSP_SPE_BAD };

/* Reads the packet at `at`. `position` is the place of its first byte in the buffer that the core
 * wrote, which alignment is counted from. SHORT: it goes on behind the `left` bytes. BAD: no packet
 * begins so. */
enum csp_spe_result csp_spe_packet_read(const uint8_t *at, size_t left, uint64_t position,
                                        struct csp_spe_packet *packet);

#endif
