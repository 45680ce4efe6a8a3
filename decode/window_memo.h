/* Identical windows, decoded once.
 *
 * A chunk that was traced between two flushes of a sink is, mostly, one window, and what it decodes
 * to depends on its key (decode/window_key.h) alone, as long as the code maps are the same. A key
 * that comes a second time has its window remembered, one that comes again is not decoded any more.
 * Exact: keys are compared byte by byte. Only windows of which everything could be followed are
 * remembered.
 *
 * Memory is bounded: when it is full everything is forgotten. Where hardly anything repeats, few
 * chunks are looked at. One memo serves one thread.
 */
#ifndef CSP_DECODE_WINDOW_MEMO_H
#define CSP_DECODE_WINDOW_MEMO_H

#include "decode/window_builder.h"
#include "decode/window_key.h"

struct csp_window_memo;

struct csp_window_memo *csp_window_memo_create(void);
void csp_window_memo_destroy(struct csp_window_memo *memo);
/* Other code maps than before, or another stream. */
void csp_window_memo_forget(struct csp_window_memo *memo);
/* Whether to look at the next chunk at all. */
bool csp_window_memo_wants(struct csp_window_memo *memo);
/* Adds the window of that key to the builder, as if it had been decoded and ended; `offset` is
 * where the chunk begins in the trace. False when it is not remembered; `*learn` then tells whether
 * it should be. */
bool csp_window_memo_recall(struct csp_window_memo *memo, const struct csp_window_key *key,
                            uint64_t offset, struct csp_window_builder *builder, bool *learn);
/* Remembers the window that the builder was given last, all of a chunk's, with what its counts were
 * before. */
void csp_window_memo_learn(struct csp_window_memo *memo, const struct csp_window_key *key,
                           const struct csp_window_builder *builder,
                           const struct csp_window_stats *before);

#endif
