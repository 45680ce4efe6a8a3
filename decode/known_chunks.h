/* A stream's chunks that may be windows which were decoded before (decode/window_memo.h), and their
 * keys. */
#ifndef CSP_DECODE_KNOWN_CHUNKS_H
#define CSP_DECODE_KNOWN_CHUNKS_H

#include "decode/trace_input.h"
#include "decode/window_builder.h"

struct csp_known_chunks;

struct csp_known_chunks *csp_known_chunks_create(const struct csp_source *sources, uint32_t count);
void csp_known_chunks_destroy(struct csp_known_chunks *known);

/* Looks at a chunk that stands alone, in frames. `code_epoch` tells code maps apart. False when it
 * is not one to be known; else the rest is about this chunk. */
bool csp_known_chunks_look(struct csp_known_chunks *known, const struct csp_chunk *chunk,
                           uint64_t code_epoch);
/* The trace ID of its source. */
uint8_t csp_known_chunks_id(const struct csp_known_chunks *known);
/* As csp_window_memo_recall and csp_window_memo_learn. */
bool csp_known_chunks_recall(struct csp_known_chunks *known, uint64_t offset,
                             struct csp_window_builder *builder, bool *learn);
void csp_known_chunks_learn(struct csp_known_chunks *known,
                            const struct csp_window_builder *builder,
                            const struct csp_window_stats *before);

#endif
