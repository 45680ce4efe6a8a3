/* How most windows begin and end, read at once: nearly always the same few packets in the same
 * order. What has another form, or is too close to the end to be seen, is left to the packet
 * reader, which says the same of these.
 */
#ifndef CSP_DECODE_TRACE_WINDOW_EDGES_H
#define CSP_DECODE_TRACE_WINDOW_EDGES_H

#include "decode/trace/native/packet.h"

/* A-Sync, Trace Info and TRACE_ON: one source writes the same bytes each time. Zero-initialise. */
struct csp_window_opening {
    uint8_t bytes[32]; /* of the last that was read packet by packet */
    size_t size;       /* 0: none yet */
};

/* A-Sync, a Trace Info that tells of nothing uncommitted, and TRACE_ON: their size, or 0. */
size_t csp_window_read_opening(struct csp_window_opening *known, struct csp_packet_reader *reader,
                               const uint8_t *at, const uint8_t *end);

struct csp_window_start {
    uint64_t address; /* of A64 code */
    struct csp_packet_context context;
};

/* The address and context behind that: their size, or 0. */
size_t csp_window_read_start(struct csp_packet_reader *reader, const uint8_t *at,
                             const uint8_t *end, struct csp_window_start *start);

struct csp_window_exception {
    uint32_t number;
    bool is_branch_target; /* as in struct csp_packet */
    uint8_t isa;
    uint64_t address;
};

/* An exception and its address, a packet each: their size, or 0. */
size_t csp_window_read_exception(struct csp_packet_reader *reader, const uint8_t *at,
                                 const uint8_t *end, struct csp_window_exception *exception);

/* Most that csp_window_is_closing says of. */
enum { CSP_WINDOW_CLOSING_MAX = 32 };

/* Whether all that is left are the address and context of an exception's handler, or neither, and a
 * timestamp, which the reader has then. If nothing follows, that time is all they tell. */
bool csp_window_is_closing(struct csp_packet_reader *reader, const uint8_t *at, const uint8_t *end);

#endif
