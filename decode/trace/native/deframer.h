/* CoreSight formatter frames: several trace sources in one buffer (Arm CoreSight SoC-400 TRM and
 * the CoreSight architecture specification, "Formatter").
 *
 * A frame is 16 bytes. Bytes 0, 2, … 14 are data, or a new source ID in bits [7:1] where bit 0 is
 * set; bytes 1, 3, … 13 are always data; byte 15 holds the lowest bit of each even byte that is
 * data, and for one that is an ID whether the next byte still belongs to the source before (1). ID
 * 0 is padding. Buffers that perf and the debuggers keep are aligned to frames; a frame of nothing
 * but synchronisation words (0x7fffffff) is how the kernel marks that what follows does not
 * continue.
 */
#ifndef CSP_DECODE_TRACE_DEFRAMER_H
#define CSP_DECODE_TRACE_DEFRAMER_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

enum { CSP_FRAME_SIZE = 16, CSP_FRAME_NO_ID = 0x80, CSP_FRAME_BARRIER = 0x81 };

/* Bytes of one source in a row. */
struct csp_deframed_run {
    uint8_t id;          /* or CSP_FRAME_NO_ID before the first ID is known, or CSP_FRAME_BARRIER */
    uint32_t start, end; /* in the deframer's bytes */
};

struct csp_deframer {
    uint8_t id; /* in force: CSP_FRAME_NO_ID at first */
    CSP_VEC(struct csp_deframed_run) runs;
    CSP_VEC(uint8_t) bytes;
    CSP_VEC(uint32_t) frames; /* where the bytes of each frame begin */
};

void csp_deframer_reset(struct csp_deframer *deframer);
/* Unpacks whole frames; replaces the runs, bytes and frames of the call before. */
void csp_deframe(struct csp_deframer *deframer, const uint8_t *data, uint32_t frame_count);
/* The number of the frame that byte `position` came from. */
size_t csp_deframer_frame_of(const struct csp_deframer *deframer, uint32_t position);
void csp_deframer_free(struct csp_deframer *deframer);

#endif
