/* What the reference engine offers beyond decode/trace/engine.h. */
#ifndef CSP_DECODE_TRACE_OPENCSD_ENGINE_H
#define CSP_DECODE_TRACE_OPENCSD_ENGINE_H

#include "decode/trace/engine.h"

/* A packet: its offset in the bytes given to the engine, its source (as in struct csp_element) and
 * its text, without newline. */
typedef void csp_packet_fn(void *user, uint64_t offset, uint8_t source, const char *text);

/* Tells `print` of every packet from now on, before its elements are delivered. The engine must
 * come from csp_engine_create_opencsd. */
void csp_engine_opencsd_print_packets(struct csp_engine *engine, csp_packet_fn *print, void *user);

#endif
