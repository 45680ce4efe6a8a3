/* Trace to be decoded, whatever it comes from: a perf.data recording or a CoreSight snapshot.
 *
 * stream: bytes that one engine decodes: a buffer with the trace of one or (in CoreSight frames)
 * several sources. chunk: a piece of a stream, behind which the decoder forgets everything unless
 * the next one continues it.
 * source: a trace unit in a stream.
 */
#ifndef CSP_DECODE_TRACE_INPUT_H
#define CSP_DECODE_TRACE_INPUT_H

#include "base/arena.h"
#include "base/vec.h"
#include "decode/trace/engine.h"

#define CSP_NOBODY UINT32_MAX /* a cpu or thread that is not known, or not a single one */

struct csp_source {
    const char *name; /* for messages: "etm_1", "queue 1, CPU 1" */
    uint32_t stream;
    uint32_t cpu;
    struct csp_trace_config config;
};

/* Bytes of trace that lie together. */
struct csp_trace_piece {
    const uint8_t *data;
    uint64_t size;
};

/* Of one chunk, in order, without gaps between them. */
struct csp_trace_pieces {
    size_t count;
    struct csp_trace_piece list[];
};

enum { CSP_TRACE_IDS = 128 /* they have seven bits */ };

/* There is one for each window of a recording. */
struct csp_chunk {
    union {
        const uint8_t *data;                   /* of a single piece, as most often, or … */
        const struct csp_trace_pieces *pieces; /* … of several */
    };
    uint64_t time;      /* of the record that announced it; 0: not known */
    uint64_t since;     /* … that announced what the ring held before; 0: nothing did, UINT64_MAX:
                         * not known */
    uint32_t pid, tid;  /* whose trace, if of a single thread */
    uint64_t size : 56; /* of all pieces, which are in memory */
    bool several : 1;   /* pieces; or none */
    bool lost : 1;      /* the recorder lost trace at its end */
    bool holes : 1;     /* … and somewhere within: none of its windows is known to be whole */
    bool snapshot : 1;  /* the windows before its last are those of earlier chunks again */
    bool
        continues : 1; /* follows the chunk before without a gap, maybe in the middle of a packet */
    bool unsure : 1;   /* … or so it seems: a record that told of a gap may have been lost */
};

struct csp_stream {
    const char *name; /* for messages */
    bool formatted;
    uint32_t source_first, source_count;
    CSP_VEC(struct csp_chunk) chunks; /* as base/big_vec.h */
};

/* The code that a stream's trace runs through, as one thread asks for it. */
struct csp_code_view {
    struct csp_code_memory memory;
    /* Tells that what follows was traced in `chunk`. May be null. */
    void (*enter)(struct csp_code_view *view, const struct csp_chunk *chunk);
    void (*close)(struct csp_code_view *view);
    uint64_t epoch; /* changes whenever what `memory` says may have changed */
};

struct csp_trace_input {
    CSP_VEC(struct csp_stream) streams;
    CSP_VEC(struct csp_source) sources; /* of a stream: neighbours */
    struct csp_code_view *(*open_code)(void *owner, uint32_t stream);
    void *owner;
    struct csp_arena arena; /* names, and pieces of snapshots */
};

static inline size_t csp_chunk_piece_count(const struct csp_chunk *chunk)
{
    return chunk->several ? chunk->pieces->count : 1;
}

static inline struct csp_trace_piece csp_chunk_piece(const struct csp_chunk *chunk, size_t number)
{
    return chunk->several ? chunk->pieces->list[number]
                          : (struct csp_trace_piece){chunk->data, chunk->size};
}

/* Makes the pieces those of a chunk, which remembers them in `arena` where there are several. */
void csp_chunk_take_pieces(struct csp_chunk *chunk, const struct csp_trace_piece *pieces,
                           size_t count, struct csp_arena *arena);
void csp_trace_input_free(struct csp_trace_input *input);

#endif
