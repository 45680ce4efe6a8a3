#include "decode/recording_chunks.h"

#include "base/big_vec.h"

struct filling {
    struct csp_stream *stream;
    const struct csp_auxtrace *aux;
    struct csp_arena *arena;
    uint64_t *since; /* by queue: the time of the record before */
    uint32_t last;   /* number of the fragment that the stream's last chunk is of */
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

static const struct csp_aux_piece *last_piece(const struct csp_auxtrace *aux, uint32_t fragment)
{
    const struct csp_aux_fragment *of = &aux->fragments.data[fragment];
    return &aux->pieces.data[of->piece_first + of->piece_count - 1];
}

/* A TRBE that is full is emptied while the trace unit runs: what comes next begins where the last
 * piece ended, be it within a packet. A formatted buffer begins with a whole frame, and there perf
 * and we alike reset the decoder. */
static bool continues(const struct filling *filling, const struct csp_aux_fragment *fragment)
{
    if (filling->stream->formatted || !filling->stream->chunks.len)
        return false;
    struct csp_chunk *chunk = last_chunk(filling);
    const struct csp_aux_piece *end = last_piece(filling->aux, filling->last);
    const struct csp_aux_piece *piece = &filling->aux->pieces.data[fragment->piece_first];
    /* What lay between was not announced, and may have been the rest of a window. */
    chunk->lost |= piece->aux_offset != end->aux_offset + end->size;
    /* … be it of no size, told by a record that was lost, too. */
    bool enabled = begins_with_sync(piece);
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

/* Gives a chunk the pieces up to the first of `count` that does not begin where the one before
 * ends. Returns how many. */
static uint32_t take_pieces(struct filling *filling, const struct csp_aux_piece *pieces,
                            uint32_t count, struct csp_chunk *chunk)
{
    uint32_t taken = 1;
    while (taken < count &&
           pieces[taken].aux_offset == pieces[taken - 1].aux_offset + pieces[taken - 1].size)
        taken++;
    if (taken == 1) { /* as most often */
        chunk->data = pieces->data;
        chunk->size = pieces->size;
        return 1;
    }
    filling->pieces.len = 0;
    for (uint32_t i = 0; i < taken; i++)
        csp_vec_push(&filling->pieces, (struct csp_trace_piece){pieces[i].data, pieces[i].size});
    csp_chunk_take_pieces(chunk, filling->pieces.data, taken, filling->arena);
    return taken;
}

/* Puts the pieces of a fragment into chunks: where bytes are missing between two, a new one.
 * Returns how many bytes there are. */
static uint64_t add_chunks(struct filling *filling, uint32_t number)
{
    uint64_t bytes = 0;
    const struct csp_aux_fragment *fragment = &filling->aux->fragments.data[number];
    const struct csp_aux_piece *pieces = filling->aux->pieces.data + fragment->piece_first;
    uint64_t *since = &filling->since[fragment->queue];
    if (!fragment->piece_count) { /* there was no room at all */
        if (filling->stream->chunks.len && fragment->raw)
            last_chunk(filling)->lost = true;
        return 0;
    }
    for (uint32_t i = 0, taken; i < fragment->piece_count; i += taken) {
        if (i)
            last_chunk(filling)->lost = true;
        struct csp_chunk chunk = {
            .time = fragment->time,
            .since = *since,
            .pid = fragment->pid,
            .tid = fragment->tid,
            .lost = lost_at_end(fragment, &pieces[fragment->piece_count - 1]),
            .holes = fragment->flags & (CSP_AUX_PARTIAL | CSP_AUX_COLLISION),
            .continues = !i && continues(filling, fragment),
            .unsure = fragment->after_loss,
        };
        taken = take_pieces(filling, pieces + i, fragment->piece_count - i, &chunk);
        csp_big_vec_push(&filling->stream->chunks, chunk);
        bytes += chunk.size;
        *since = fragment->time ? fragment->time : UINT64_MAX;
    }
    filling->last = number;
    return bytes;
}

/* What is stored behind the queue's last piece and not announced may be the rest of its window, if
 * it is more than what perf fills up to a multiple of 8 bytes. */
static void end_stream(const struct filling *filling, const struct csp_aux_queue *queue)
{
    const struct csp_aux_fragment *fragments = filling->aux->fragments.data;
    uint32_t last = queue->fragment_first + queue->fragment_count - 1;
    while (last > queue->fragment_first && !fragments[last].piece_count)
        last--;
    if (filling->stream->formatted || !filling->stream->chunks.len || filling->last != last)
        return;
    const struct csp_aux_piece *piece = last_piece(filling->aux, last);
    last_chunk(filling)->lost |= piece->aux_offset + piece->size + 8 <= queue->end;
}

static void note_ring(struct csp_stream_contents *contents, uint32_t ring)
{
    contents->first_ring = ring < contents->first_ring ? ring : contents->first_ring;
    contents->last_ring = ring > contents->last_ring ? ring : contents->last_ring;
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
    csp_big_vec_reserve(&stream->chunks, fragments->len);
    uint32_t last_queue = UINT32_MAX;
    for (size_t i = 0; i < fragments->len; i++) {
        uint32_t queue = aux->fragments.data[fragments->data[i]].queue;
        if (queue != last_queue)
            note_ring(&contents, aux->queues.data[queue].idx);
        last_queue = queue;
        contents.bytes += add_chunks(&filling, fragments->data[i]);
    }
    end_stream(&filling, &aux->queues.data[aux->fragments.data[fragments->data[0]].queue]);
    free(filling.since);
    csp_vec_free(&filling.pieces);
    return contents;
}
