#include "decode/recording_chunks.h"

#include "base/big_vec.h"

struct filling {
    struct csp_stream *stream;
    const struct csp_auxtrace *aux;
    struct csp_arena *arena;
    uint64_t *since; /* by queue: the time of the record before */
    uint32_t last;   /* number of the fragment that the stream's last chunk is of, and … */
    struct csp_aux_piece end;               /* … its last piece */
    CSP_VEC(struct csp_trace_piece) pieces; /* of a chunk with several */
};

static struct csp_chunk *last_chunk(const struct filling *filling)
{
    return &filling->stream->chunks.data[filling->stream->chunks.len - 1];
}

/* Whether a piece begins with A-Sync, as does the first after the trace unit was enabled. */
static bool begins_with_sync(const struct csp_aux_piece *piece)
{
    enum { ZEROES = 11 };
    uint64_t i = 0;
    while (i < piece->size && i < ZEROES && !piece->data[i])
        i++;
    return i == ZEROES && i < piece->size && piece->data[i] == 0x80;
}

/* A TRBE that is full is emptied while the trace unit runs: what comes next begins where the last
 * piece ended, be it within a packet. A formatted buffer begins with a whole frame, and there perf
 * and we alike reset the decoder. */
static bool continues(const struct filling *filling, const struct csp_aux_fragment *fragment)
{
    if (filling->stream->formatted || !filling->stream->chunks.len)
        return false;
    struct csp_chunk *chunk = last_chunk(filling);
    const struct csp_aux_piece *end = &filling->end;
    struct csp_aux_piece piece = csp_aux_piece(filling->aux, fragment, 0);
    /* What lay between was not announced, and may have been the rest of a window. */
    chunk->lost |= piece.aux_offset != end->aux_offset + end->size;
    /* … be it of no size, told by a record that was lost, too. */
    bool enabled = begins_with_sync(&piece);
    chunk->lost |= enabled && fragment->after_loss;
    return !chunk->lost && !chunk->holes && !enabled;
}

/* How a fragment lost trace. A TRBE that has no room stops, so that the newest is missing; an ETR
 * or ETF that was given less room than it has trace keeps the newest (tmc_update_etr_buffer), and
 * what is missing at its beginning does no harm. PARTIAL and COLLISION do not tell where. */
static bool lost_at_end(const struct csp_aux_fragment *fragment, const struct csp_aux_piece *last)
{
    return (fragment->raw && fragment->flags & CSP_AUX_TRUNCATED) ||
           last->aux_offset + last->size < fragment->aux_offset + fragment->aux_size;
}

/* Gives a chunk the pieces from `number` on up to one that does not begin where the one before
 * ends. Returns the number of that. */
static uint32_t take_pieces(struct filling *filling, const struct csp_aux_fragment *fragment,
                            uint32_t number, struct csp_chunk *chunk)
{
    struct csp_aux_piece piece = csp_aux_piece(filling->aux, fragment, number), before;
    filling->pieces.len = 0;
    do {
        csp_vec_push(&filling->pieces, (struct csp_trace_piece){piece.data, piece.size});
        if (++number == csp_aux_piece_count(fragment))
            break;
        before = piece;
        piece = csp_aux_piece(filling->aux, fragment, number);
    } while (piece.aux_offset == before.aux_offset + before.size);
    csp_chunk_take_pieces(chunk, filling->pieces.data, filling->pieces.len, filling->arena);
    return number;
}

/* Begins a chunk with a piece of a fragment. */
static inline struct csp_chunk *begin_chunk(struct filling *filling,
                                            const struct csp_aux_fragment *fragment,
                                            struct csp_aux_piece piece, bool lost, bool goes_on)
{
    struct csp_stream *stream = filling->stream;
    uint64_t *since = &filling->since[fragment->queue];
    csp_big_vec_reserve(&stream->chunks, 1);
    struct csp_chunk *chunk = &stream->chunks.data[stream->chunks.len++];
    *chunk = (struct csp_chunk){
        .data = piece.data,
        .size = piece.size,
        .time = fragment->time,
        .since = *since,
        .pid = fragment->pid,
        .tid = fragment->tid,
        .lost = lost,
        .holes = fragment->flags & (CSP_AUX_PARTIAL | CSP_AUX_COLLISION),
        .continues = goes_on,
        .unsure = fragment->after_loss,
    };
    *since = fragment->time ? fragment->time : UINT64_MAX;
    return chunk;
}

/* Puts the pieces of a fragment into chunks: where bytes are missing between two, a new one.
 * Returns how many bytes they have. */
static __attribute__((noinline)) uint64_t add_pieces(struct filling *filling, uint32_t number)
{
    const struct csp_aux_fragment *fragment = &filling->aux->fragments.data[number];
    uint32_t count = csp_aux_piece_count(fragment);
    if (!count) { /* there was no room at all */
        if (filling->stream->chunks.len && fragment->raw)
            last_chunk(filling)->lost = true;
        return 0;
    }
    struct csp_aux_piece last = csp_aux_piece(filling->aux, fragment, count - 1);
    bool lost = lost_at_end(fragment, &last);
    for (uint32_t i = 0; i < count;) {
        struct csp_aux_piece piece = csp_aux_piece(filling->aux, fragment, i);
        if (i)
            last_chunk(filling)->lost = true;
        bool goes_on = !i && continues(filling, fragment);
        struct csp_chunk *chunk = begin_chunk(filling, fragment, piece, lost, goes_on);
        i = count == 1 ? 1 : take_pieces(filling, fragment, i, chunk);
    }
    filling->last = number;
    filling->end = last;
    return csp_auxtrace_found(filling->aux, fragment);
}

/* The same of any fragment. Most often it is whole, and nothing of it follows on anything. */
static inline uint64_t add_chunks(struct filling *filling, uint32_t number)
{
    const struct csp_aux_fragment *fragment = &filling->aux->fragments.data[number];
    if (!fragment->is_whole || fragment->raw)
        return add_pieces(filling, number);
    begin_chunk(filling, fragment, csp_aux_piece(filling->aux, fragment, 0), false, false);
    return fragment->aux_size;
}

/* What is stored behind the queue's last piece and not announced may be the rest of its window, if
 * it is more than what perf fills up to a multiple of 8 bytes. */
static void end_stream(const struct filling *filling, const struct csp_aux_queue *queue)
{
    const struct csp_aux_fragment *fragments = filling->aux->fragments.data;
    uint32_t last = queue->fragment_first + queue->fragment_count - 1;
    if (filling->stream->formatted || !filling->stream->chunks.len)
        return;
    while (last > filling->last && !csp_aux_piece_count(&fragments[last]))
        last--;
    if (filling->last != last)
        return;
    last_chunk(filling)->lost |= filling->end.aux_offset + filling->end.size + 8 <= queue->end;
}

static void note_ring(struct csp_stream_contents *contents, uint32_t ring)
{
    contents->first_ring = ring < contents->first_ring ? ring : contents->first_ring;
    contents->last_ring = ring > contents->last_ring ? ring : contents->last_ring;
}

/* Gives back what fragments fill of which everything is known now, for the chunks of those that
 * follow: the first `done` ones, of which that was done with the first `before`. */
static size_t give_back(const struct csp_auxtrace *aux, size_t before, size_t done)
{
    enum { AT_ONCE = 1 << 15 }; /* a large page of them */
    if (done - before < AT_ONCE)
        return before;
    csp_big_vec_done(&aux->fragments, before, done);
    return done;
}

struct csp_stream_contents csp_stream_fill(struct csp_stream *stream,
                                           const struct csp_auxtrace *aux,
                                           const csp_fragment_list *fragments,
                                           struct csp_arena *arena)
{
    struct csp_stream_contents contents = {.first_ring = UINT32_MAX};
    struct filling filling = {.stream = stream,
                              .aux = aux,
                              .arena = arena,
                              .since = csp_calloc(aux->queues.len, sizeof *filling.since)};
    const struct csp_aux_fragment *first = &aux->fragments.data[fragments->data[0]];
    const struct csp_aux_queue *first_queue = &aux->queues.data[first->queue];
    csp_big_vec_reserve(&stream->chunks, fragments->len);
    uint32_t last_queue = UINT32_MAX;
    size_t done = 0, given_back = 0;
    for (size_t i = 0; i < fragments->len; i++) {
        done += done == i && fragments->data[i] == i;
        uint32_t queue = aux->fragments.data[fragments->data[i]].queue;
        if (queue != last_queue)
            note_ring(&contents, aux->queues.data[queue].idx);
        last_queue = queue;
        contents.bytes += add_chunks(&filling, fragments->data[i]);
        given_back = give_back(aux, given_back, done);
    }
    end_stream(&filling, first_queue);
    free(filling.since);
    csp_vec_free(&filling.pieces);
    return contents;
}
