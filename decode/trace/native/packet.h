/* The packets of ETMv4 and ETE instruction trace, read one at a time.
 *
 * Sources: Arm Embedded Trace Macrocell Architecture Specification ETMv4 (IHI 0064), chapter "Trace
 * packets"; Arm Architecture Reference Manual for A-profile, chapter "Embedded Trace Extension
 * protocol description". What a packet leaves out is filled in from the packets before it: address
 * history, timestamp and cycle-count threshold live in the reader.
 */
#ifndef CSP_DECODE_TRACE_PACKET_H
#define CSP_DECODE_TRACE_PACKET_H

#include "decode/trace/engine.h"

enum csp_packet_type {
    CSP_PACKET_BAD, /* reserved, malformed, or impossible with this trace unit */
    CSP_PACKET_ASYNC,
    CSP_PACKET_DISCARD,
    CSP_PACKET_OVERFLOW,
    CSP_PACKET_TRACE_INFO,
    CSP_PACKET_TIMESTAMP,
    CSP_PACKET_TIMESTAMP_MARKER,
    CSP_PACKET_TRACE_ON,
    CSP_PACKET_EXCEPTION, /* its address packet follows */
    CSP_PACKET_RESET,     /* ETE: an exception without an address */
    CSP_PACKET_EXCEPTION_RETURN,
    CSP_PACKET_CYCLE_COUNT, /* all formats; with `commit` where TRCIDR0.COMMOPT is 0 */
    CSP_PACKET_COMMIT,
    CSP_PACKET_CANCEL,      /* all formats: atoms, then cancel, then perhaps a mispredict */
    CSP_PACKET_MISPREDICT,  /* atoms, then a mispredict */
    CSP_PACKET_CONDITIONAL, /* all formats of conditional non-branch tracing */
    CSP_PACKET_DATA_SYNC,   /* numbered and unnumbered data synchronisation markers */
    CSP_PACKET_FUNCTION_RETURN,
    CSP_PACKET_EVENT,
    CSP_PACKET_CONTEXT,
    CSP_PACKET_ADDRESS, /* all formats without a context */
    CSP_PACKET_ADDRESS_CONTEXT,
    CSP_PACKET_SOURCE_ADDRESS, /* ETE: of a branch that was taken */
    CSP_PACKET_Q,
    CSP_PACKET_ATOMS,           /* all formats */
    CSP_PACKET_INSTRUMENTATION, /* ETE: ITE */
    CSP_PACKET_TRANSACTION_START,
    CSP_PACKET_TRANSACTION_COMMIT,
    CSP_PACKET_TRANSACTION_FAIL,
    CSP_PACKET_IGNORE,
};

struct csp_packet_context {
    uint32_t context_id, vmid;
    uint8_t el;
    bool changed; /* else: the same as before, and nothing else here is set */
    bool non_secure, nse, is_64bit;
    bool has_context_id, has_vmid;
};

struct csp_packet {
    uint8_t type; /* enum csp_packet_type */
    uint8_t atom_count;
    uint8_t isa; /* of `address`: IS0 or IS1 */
    bool has_address;
    bool mispredict;       /* CANCEL */
    bool is_branch_target; /* EXCEPTION: its address is also where the branch before it went */
    uint32_t atoms;        /* oldest in bit 0, 1 for E */
    uint32_t number;       /* of an exception or event */
    uint32_t commit, cancel;
    uint32_t count; /* Q: instructions, with `has_count`; TRACE_INFO: uncommitted elements */
    bool has_count;
    bool in_transaction; /* TRACE_INFO */
    uint64_t address;
    uint64_t timestamp;
    struct csp_packet_context context;
};

struct csp_packet_address {
    uint64_t value;
    uint8_t isa;
};

struct csp_packet_reader {
    /* From the registers of the trace unit. */
    bool is_ete, commits_in_cycle_counts, has_q, has_conditional, has_data_sync, has_ignore,
        has_marker, has_instrumentation;
    uint8_t context_id_bytes, vmid_bytes;
    uint32_t speculation_depth; /* TRCIDR8.MAXSPEC */
    /* From the packets so far. */
    struct csp_packet_address history[3]; /* newest first */
    uint64_t timestamp;
};

enum { CSP_HEADER_TIMESTAMP = 0x02 /* without a cycle count */ };

/* Longest packet: Trace Info with every field and as many control bytes. */
enum { CSP_PACKET_SIZE_MAX = 64 };

void csp_packet_reader_init(struct csp_packet_reader *reader,
                            const struct csp_trace_config *config);
/* Forgets the packets so far. */
void csp_packet_reader_reset(struct csp_packet_reader *reader);
/* Reads the packet at `at` and returns its size; 0 when its end is not there. A packet of type
 * CSP_PACKET_BAD has the size up to where that showed. */
size_t csp_packet_read(struct csp_packet_reader *reader, const uint8_t *at, const uint8_t *end,
                       struct csp_packet *packet);

/* Whether packets of this type say nothing of what was executed: between Trace Info and TRACE_ON
 * they leave an enabling an enabling. */
static inline bool csp_packet_is_transparent(enum csp_packet_type type)
{
    switch (type) {
    case CSP_PACKET_ASYNC:
    case CSP_PACKET_TIMESTAMP:
    case CSP_PACKET_TIMESTAMP_MARKER:
    case CSP_PACKET_EVENT:
    case CSP_PACKET_IGNORE:
    case CSP_PACKET_CONTEXT:
    case CSP_PACKET_CYCLE_COUNT:
        return true;
    default:
        return false;
    }
}

/* Atom packets, all of one byte: the outcomes in bits [23:0], oldest first, and how many in bits
 * [31:24]; 0 for a byte that begins another packet. */
extern const uint32_t csp_packet_atoms[256];

static inline void csp_packet_remember(struct csp_packet_reader *reader, uint64_t address,
                                       uint8_t isa)
{
    reader->history[2] = reader->history[1];
    reader->history[1] = reader->history[0];
    reader->history[0] = (struct csp_packet_address){address, isa};
}

#endif
