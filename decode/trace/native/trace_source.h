/* One trace unit's bytes, from synchronisation to elements. */
#ifndef CSP_DECODE_TRACE_SOURCE_H
#define CSP_DECODE_TRACE_SOURCE_H

#include "decode/trace/native/packet.h"
#include "decode/trace/native/resolver.h"
#include "decode/trace/native/segments.h"
#include "decode/trace/native/window_edges.h"

enum csp_source_state {
    CSP_SOURCE_UNSYNCED,   /* waits for an A-Sync */
    CSP_SOURCE_WAITS_INFO, /* had it, and waits for a Trace Info */
    CSP_SOURCE_DECODES,
};

struct csp_trace_source {
    enum csp_source_state state;
    uint8_t lost_by; /* enum csp_element_type to tell with the next byte; 0 for none */
    unsigned zeroes; /* unsynchronised: how many bytes of zero came last */
    uint64_t bad_packets, lost_bytes;
    size_t carried;      /* bytes of an incomplete packet */
    uint64_t carried_at; /* offset of its first byte */
    uint8_t carry[2 * CSP_PACKET_SIZE_MAX];
    struct csp_packet_reader reader;
    struct csp_window_opening opening;
    size_t closing_size; /* bytes of what a window seems to have ended with, all of it read … */
    uint8_t closing[CSP_WINDOW_CLOSING_MAX]; /* … and none taken */
    struct csp_segments *segments;           /* the engine's, shared by its sources */
    struct csp_resolver resolver;
};

/* Tells the offset, in all bytes given, of byte `position` of a piece. */
typedef uint64_t csp_offset_fn(const void *user, size_t position);

void csp_trace_source_init(struct csp_trace_source *source, const struct csp_trace_config *config,
                           uint8_t number, const struct csp_code_memory *code,
                           struct csp_element_batch *out, struct csp_segments *segments);
void csp_trace_source_free(struct csp_trace_source *source);
/* Takes the next bytes. */
void csp_trace_source_feed(struct csp_trace_source *source, const uint8_t *data, size_t size,
                           csp_offset_fn *offset_of, const void *user);
/* Ends the trace and starts afresh. */
void csp_trace_source_end(struct csp_trace_source *source);

#endif
