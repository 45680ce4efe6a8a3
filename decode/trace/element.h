/* Elements: what a trace says, after packets were resolved against the code, and before it is cut
 * into runs and windows. Both engines deliver exactly this stream. */
#ifndef CSP_DECODE_TRACE_ELEMENT_H
#define CSP_DECODE_TRACE_ELEMENT_H

#include "decode/branch_codes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum csp_element_type {
    CSP_ELEMENT_RANGE,    /* instructions [a, b) ran; `kind`, `taken` tell of the last one */
    CSP_ELEMENT_TRACE_ON, /* trace begins, or begins again after a gap; a: offset of its packet in
                           * all bytes given to the engine (for formatted trace: of its frame) */
    CSP_ELEMENT_SYNC, /* the TRACE_ON that comes next is an enabling of the trace unit: A-Sync and
                       * Trace Info precede it with nothing between but context, timestamps,
                       * cycle counts and events; a periodic A-Sync is not told */
    CSP_ELEMENT_EXCEPTION, /* `number` taken; preferred return address a (valid if has_address) */
    CSP_ELEMENT_EXCEPTION_RETURN,
    CSP_ELEMENT_CONTEXT,   /* context ID a, virtual context ID b, `el`, `secure` */
    CSP_ELEMENT_TIMESTAMP, /* a: applies to the elements before it */
    CSP_ELEMENT_NO_CODE,   /* execution continued at a, of which the bytes are not known */
    CSP_ELEMENT_NO_PATH,   /* `instructions` ran from a on, by an unknown path (Q); next is b */
    CSP_ELEMENT_OVERFLOW,  /* the trace unit lost data */
    CSP_ELEMENT_DISCARD,   /* speculative trace was abandoned */
    CSP_ELEMENT_BAD,       /* a malformed or reserved packet at a, an offset as of TRACE_ON:
                            * decoding waits for a sync */
    CSP_ELEMENT_STRETCH,   /* only from an engine that sums up or packs branches: several ranges in
                            * a row, each where the one before led: the first at a, the last up to
                            * b; `kind`, `taken`, `last_size` are the last one's, `instructions`
                            * those of all, `number` as below. Packed branches follow it. */
    CSP_ELEMENT_OTHER,     /* understood, of no interest to ranges: event, marker, ITE … */
};

/* What a stretch has: ranges, and branches taken between them. */
#define CSP_STRETCH_NUMBER(ranges, branches) ((uint32_t)(ranges) | (uint32_t)(branches) << 16)
#define CSP_STRETCH_RANGES(number) ((number) & 0xffff)
#define CSP_STRETCH_BRANCHES(number) ((number) >> 16)

struct csp_element {
    uint8_t type;        /* enum csp_element_type */
    uint8_t kind;        /* enum csp_branch_kind of a range's last instruction; UNKNOWN: none */
    uint8_t taken;       /* range: the last instruction is a branch, and was taken */
    uint8_t last_size;   /* range: bytes of the last instruction */
    uint8_t el;          /* context: exception level */
    uint8_t secure;      /* context */
    uint8_t has_address; /* exception */
    uint8_t source; /* CoreSight trace ID, 0 for a raw stream: all of one source are in order */
    uint32_t instructions; /* range */
    uint32_t number;       /* exception type as in the packet (Arm ETM spec, table of exceptions) */
    uint64_t a, b;
};

/* The branches of a stretch between its ranges, in the place of as many elements as they fill. */
struct csp_packed_branches {
    uint64_t start;          /* where the last one went; without any, where the stretch begins */
    csp_branch_code codes[]; /* none is far */
};

static inline size_t csp_packed_elements(uint32_t branches)
{
    size_t size = sizeof(struct csp_packed_branches) + branches * sizeof(csp_branch_code);
    return (size + sizeof(struct csp_element) - 1) / sizeof(struct csp_element);
}

/* Receives elements in order, `count` at a time. A negative return stops the engine with it. */
typedef int csp_element_fn(void *user, const struct csp_element *elements, size_t count);

#endif
