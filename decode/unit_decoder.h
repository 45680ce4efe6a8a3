/* One thread's decoder: makes units of the trace (decode/trace_units.h) parts
 * (decode/trace_part.h).
 *
 * A part holds all that its unit decodes to. What is too long for that, an AUX record of many
 * megabytes or raw trace that never stops, becomes several: all but the last are handed over while
 * the unit is being decoded.
 */
#ifndef CSP_DECODE_UNIT_DECODER_H
#define CSP_DECODE_UNIT_DECODER_H

#include "decode/trace_part.h"
#include "decode/trace_units.h"

struct csp_unit_decoder_options {
    const struct csp_trace_input *input;
    const struct csp_trace_decode_options *decode;
    struct csp_part_pool *pool; /* where parts come from */
    /* Takes the next part of the unit of this number, which goes on in another, and releases it. A
     * negative return ends the unit with that error. */
    int (*early)(void *user, size_t unit, struct csp_part *part);
    void *user;
};

struct csp_unit_decoder;

struct csp_unit_decoder *csp_unit_decoder_create(const struct csp_unit_decoder_options *options);
/* The unit's last part, which is the caller's; its `error` is negative when decoding has failed. */
struct csp_part *csp_unit_decoder_decode(struct csp_unit_decoder *decoder,
                                         const struct csp_trace_unit *unit, size_t number,
                                         struct csp_diag *diag);
/* Makes an engine for a stream, which decoding does when it comes to it. Errors: the engine's. */
int csp_unit_decoder_open(struct csp_unit_decoder *decoder, uint32_t stream, struct csp_diag *diag);
void csp_unit_decoder_destroy(struct csp_unit_decoder *decoder);

#endif
