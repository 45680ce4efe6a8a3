/* The resolver turns packets into elements: it holds back what is still speculative, lets commit,
 * cancel and mispredict packets work on it, and moves the walker by what is certain (Arm ETM
 * specification, "Speculation"; ETE chapter, "Element resolution").
 *
 * Atoms, exceptions, Q and source addresses are P0 elements: the trace unit promises that no more
 * than TRCIDR8.MAXSPEC of them are uncommitted. Everything else takes effect when the P0 element
 * that follows it is committed.
 */
#ifndef CSP_DECODE_TRACE_RESOLVER_H
#define CSP_DECODE_TRACE_RESOLVER_H

#include "base/vec.h"
#include "decode/trace/native/packet.h"
#include "decode/trace/native/walker.h"
#include "decode/trace/native/window_edges.h"

/* Elements held back at most, whatever the trace unit claims. */
enum { CSP_RESOLVER_HELD_MAX = 1 << 16 };

struct csp_held {
    uint8_t type; /* enum csp_packet_type; CSP_PACKET_TRACE_INFO: as HELD_… in resolver.c */
    uint8_t isa;
    bool flag;       /* exception: its address is a branch target; trace on: an enabling;
                        Q: has an address; context: has changed */
    uint32_t count;  /* atoms, uncommitted elements before the trace began, instructions of Q */
    uint32_t number; /* exception */
    uint32_t atoms;
    uint64_t value; /* address, timestamp, offset of a trace on */
    struct csp_packet_context context;
};

struct csp_resolver {
    struct csp_walker walker;
    bool is_ete;
    bool transaction_start_is_p0;  /* TRCIDR0.COMMTRANS is 0 */
    bool timestamps_need_a_marker; /* TRCIDR0.TSMARK */
    uint32_t depth_max;            /* TRCIDR8.MAXSPEC */
    enum csp_context_field context_field;
    /* Held back, oldest first, from `first` on. */
    CSP_VEC(struct csp_held) held;
    size_t first;
    uint64_t depth;       /* P0 elements among them */
    bool address_pending; /* an exception or Q waits for its address packet */
    bool synced;          /* nothing but context and time since the last Trace Info */
    bool marker_seen;
    uint8_t isa; /* of the last address packet */
    uint32_t context_id, vmid;
    uint64_t skipped; /* packets understood that say nothing about A64 code: conditional, data */
};

void csp_resolver_init(struct csp_resolver *resolver, const struct csp_trace_config *config,
                       uint8_t source, const struct csp_code_memory *code,
                       struct csp_element_batch *out);
void csp_resolver_free(struct csp_resolver *resolver);
/* Forgets everything: synchronisation was lost, or never there. */
void csp_resolver_reset(struct csp_resolver *resolver);
/* The first Trace Info after an A-Sync: decoding begins. False when it tells of more that is
 * speculative than the trace unit can have. */
bool csp_resolver_begin(struct csp_resolver *resolver, const struct csp_packet *info);
/* Takes a packet; `offset` is for CSP_ELEMENT_TRACE_ON. False when it does not fit those before it.
 */
bool csp_resolver_take(struct csp_resolver *resolver, const struct csp_packet *packet,
                       uint64_t offset);
/* A discard or overflow: what is not committed never will be. */
void csp_resolver_discard(struct csp_resolver *resolver);
/* The trace ends: delivers what is certain. */
void csp_resolver_end(struct csp_resolver *resolver);

/* A timestamp before an atom, when nothing is held back. */
void csp_resolver_take_timestamp(struct csp_resolver *resolver, uint64_t timestamp);

/* How most windows begin and end (window_edges.h), taken without holding anything back. The first,
 * which a resolver that has forgotten everything takes, with a depth of 0: an opening with its
 * TRACE_ON at `offset`, and a start that an atom follows at once. The second, where
 * csp_resolver_is_direct; false as csp_resolver_take. */
void csp_resolver_enter(struct csp_resolver *resolver, uint64_t offset,
                        const struct csp_window_start *start);
bool csp_resolver_take_exception(struct csp_resolver *resolver,
                                 const struct csp_window_exception *exception);

/* Whether an atom or address packet can go to the walker at once. */
static inline bool csp_resolver_is_direct(const struct csp_resolver *resolver)
{
    return resolver->first == resolver->held.len && !resolver->depth_max &&
           !resolver->address_pending;
}

#endif
