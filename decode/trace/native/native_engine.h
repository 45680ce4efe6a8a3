/* What the native engine offers beyond decode/trace/engine.h. */
#ifndef CSP_DECODE_TRACE_NATIVE_ENGINE_H
#define CSP_DECODE_TRACE_NATIVE_ENGINE_H

#include "decode/trace/engine.h"

/* From now on ranges may be told summed up, as CSP_ELEMENT_STRETCH: for who needs to know where
 * execution was and how much, but not each branch. The engine must come from
 * csp_engine_create_native. */
void csp_engine_native_sum_up(struct csp_engine *engine);
/* The same, with their branches (struct csp_packed_branches): for who needs no ranges. */
void csp_engine_native_pack_branches(struct csp_engine *engine);

#endif
