/* What a chunk of trace says, but for when: the key by which identical windows are found
 * (decode/window_memo.h).
 *
 * The key is the source's bytes, out of their frames, without timestamps; a byte stands for those
 * that matter. What becomes of timestamps are the times around runs (struct csp_run), and a run
 * begins and ends at packets other than atoms and addresses, or at the first atom behind them. So a
 * key tells, of each section between two such packets, whether a timestamp came before its first
 * atom, and whether one came behind it, of which only the last counts. Two chunks with the same key
 * decode to the same windows with other times.
 */
#ifndef CSP_DECODE_WINDOW_KEY_H
#define CSP_DECODE_WINDOW_KEY_H

#include "base/vec.h"
#include "decode/trace/native/deframer.h"
#include "decode/trace/native/packet.h"

enum { CSP_KEY_TIMES = 24 };

/* Zero-initialise. */
struct csp_window_key {
    struct csp_deframer deframer;
    CSP_VEC(uint8_t) bytes;
    uint64_t hash; /* of the bytes and `context` */
    uint64_t context;
    uint64_t atoms;                /* that its packets have */
    uint8_t id;                    /* trace ID of the only source */
    size_t trace_on;               /* where in the chunk the frame of the first TRACE_ON begins */
    uint64_t times[CSP_KEY_TIMES]; /* those that bytes stand for, in order */
    unsigned time_count;
};

/* Makes the key of a whole chunk in frames. `readers` are by trace ID, null for those that are not
 * known; `context` is what else the windows depend on. False for a chunk that is not one source's,
 * or with other packets than those of ordinary windows. */
bool csp_window_key_make(struct csp_window_key *key, struct csp_packet_reader *const readers[128],
                         const uint8_t *data, size_t size, uint64_t context);
void csp_window_key_free(struct csp_window_key *key);

#endif
