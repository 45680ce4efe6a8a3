/* CoreSight formatter: packs bytes of one trace source into 16-byte frames, as a TMC does.
 *
 * Even bytes hold either a source ID (bit 0 set) or data whose own bit 0 is kept in the frame's
 * last byte; odd bytes hold data. Source: Arm CoreSight architecture specification (IHI 0029),
 * "Trace formatter". */
#ifndef CSP_EMULATE_FRAME_H
#define CSP_EMULATE_FRAME_H

#include "base/buf.h"

/* Appends `size` bytes of source `trace_id` (1 to 0x6f) as whole frames. The first frame names the
 * source; the rest of the last is given to ID 0, which decoders ignore: what a sink does on a
 * flush. Appends nothing when `size` is 0. */
void csp_frame_pack(struct csp_buf *out, unsigned trace_id, const void *data, size_t size);

#endif
