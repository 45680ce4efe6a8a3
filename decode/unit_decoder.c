#include "decode/unit_decoder.h"

#include "decode/known_chunks.h"
#include "decode/trace/native/native_engine.h"

enum {
    FEED_BYTES = 1 << 18, /* of a chunk, at a time */
    PART_BYTES = 1 << 24, /* what of a long chunk is held at most, and what such a piece adds */
};

/* Of the stream that it decoded last. */
struct csp_unit_decoder {
    struct csp_unit_decoder_options options;
    const struct csp_stream *stream; /* null: none yet */
    struct csp_engine *engine;
    struct csp_code_view *code;
    struct csp_window_builder *builders; /* one per source */
    uint32_t *handed_over;               /* windows, likewise */
    struct csp_window_builder *by_id[CSP_TRACE_IDS];
    struct csp_part *part;           /* being made */
    struct csp_engine_stats counted; /* the engine's, when it was begun */
    size_t carried;                  /* bytes that it began with */
    size_t fed;                      /* bytes of trace since it was looked how large it is */
    bool parted;                     /* windows of the chunk are in parts before */
    size_t unit;                     /* its number */
    /* Null when elements are wanted, or another engine's. */
    struct csp_known_chunks *known;
    uint64_t recalled, recalled_bytes; /* of this unit: windows that were not decoded again */
};

/* Summing up costs less than finding out whether a window is one that was decoded before. */
static bool sums_up(const struct csp_trace_decode_options *options)
{
    return options->sums_up && options->create == csp_engine_create_native && !options->started &&
           !options->consumer->print;
}

/* Nobody looks at ranges. */
static bool packs_branches(const struct csp_trace_decode_options *options)
{
    return options->create == csp_engine_create_native && !options->started &&
           !options->consumer->print;
}

/* Those behind it belong to a stretch. */
static size_t elements_of(const struct csp_unit_decoder *decoder, const struct csp_element *element)
{
    bool packed = element->type == CSP_ELEMENT_STRETCH && !sums_up(decoder->options.decode);
    return packed ? 1 + csp_packed_elements(CSP_STRETCH_BRANCHES(element->number)) : 1;
}

/* The elements of a stream with one source, when nobody prints them. */
static int build(void *user, const struct csp_element *elements, size_t count)
{
    csp_window_builder_add(user, elements, count);
    return 0;
}

/* Takes the elements of a stream apart by source. */
static int split(void *user, const struct csp_element *elements, size_t count)
{
    struct csp_unit_decoder *decoder = user;
    for (size_t i = 0; i < count;) {
        size_t first = i;
        while (i < count && elements[i].source == elements[first].source)
            i += elements_of(decoder, &elements[i]);
        struct csp_window_builder *builder = decoder->by_id[elements[first].source % CSP_TRACE_IDS];
        if (builder)
            csp_window_builder_add(builder, elements + first, i - first);
    }
    const struct csp_trace_consumer *consumer = decoder->options.decode->consumer;
    if (consumer->print)
        consumer->print(consumer->user, &decoder->part->base.text, elements, count);
    return 0;
}

static void close_stream(struct csp_unit_decoder *decoder)
{
    csp_engine_destroy(decoder->engine);
    if (decoder->code)
        decoder->code->close(decoder->code);
    csp_known_chunks_destroy(decoder->known);
    free(decoder->builders);
    free(decoder->handed_over);
    *decoder = (struct csp_unit_decoder){.options = decoder->options};
}

int csp_unit_decoder_open(struct csp_unit_decoder *decoder, uint32_t number, struct csp_diag *diag)
{
    const struct csp_trace_input *input = decoder->options.input;
    const struct csp_stream *stream = &input->streams.data[number];
    const struct csp_trace_decode_options *options = decoder->options.decode;
    CSP_VEC(struct csp_trace_config) configs = {0};
    close_stream(decoder);
    decoder->stream = stream;
    decoder->code = input->open_code(input->owner, number);
    decoder->builders = csp_calloc(stream->source_count, sizeof *decoder->builders);
    decoder->handed_over = csp_calloc(stream->source_count, sizeof *decoder->handed_over);
    for (uint32_t i = 0; i < stream->source_count; i++) {
        const struct csp_source *source = &input->sources.data[stream->source_first + i];
        uint8_t id = stream->formatted ? source->config.trace_id : 0;
        decoder->by_id[id % CSP_TRACE_IDS] = &decoder->builders[i];
        csp_vec_push(&configs, source->config);
    }
    bool splits = stream->source_count > 1 || options->consumer->print;
    int error = options->create(&decoder->engine, configs.data, configs.len, stream->formatted,
                                &decoder->code->memory, splits ? split : build,
                                splits ? (void *)decoder : decoder->builders, diag);
    csp_vec_free(&configs);
    if (!error && sums_up(options))
        csp_engine_native_sum_up(decoder->engine);
    else if (!error && packs_branches(options))
        csp_engine_native_pack_branches(decoder->engine);
    if (!error && !sums_up(options) && packs_branches(options) && stream->formatted)
        decoder->known = csp_known_chunks_create(&input->sources.data[stream->source_first],
                                                 stream->source_count);
    if (!error && options->started)
        options->started(options->consumer->user, decoder->engine);
    if (error)
        close_stream(decoder); /* the next unit of this stream does not find it opened */
    return error;
}

static void start_builders(struct csp_unit_decoder *decoder, uint64_t offset_shift)
{
    const struct csp_trace_input *input = decoder->options.input;
    for (uint32_t i = 0; i < decoder->stream->source_count; i++) {
        uint32_t number = decoder->stream->source_first + i;
        decoder->handed_over[i] = 0;
        decoder->builders[i] = (struct csp_window_builder){
            .out = &decoder->part->base.lists[i],
            .source = number,
            .context_field = csp_trace_config_context_field(&input->sources.data[number].config),
            .sums_up = sums_up(decoder->options.decode),
            .offset_shift = offset_shift,
        };
    }
}

/* Without context in the trace, all of a chunk belongs to the thread it was recorded for. */
static void enter_chunk(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk,
                        bool continues)
{
    for (uint32_t i = 0; i < decoder->stream->source_count; i++) {
        struct csp_window_builder *builder = &decoder->builders[i];
        builder->untraced_context = chunk->tid == CSP_NOBODY ? 0 : chunk->tid;
        if (!continues || builder->context_field == CSP_CONTEXT_NONE)
            builder->context_id = builder->untraced_context;
        if (continues && chunk->unsure)
            csp_window_builder_doubt(builder, csp_engine_stats(decoder->engine).bytes +
                                                  builder->offset_shift);
    }
    if (decoder->code->enter)
        decoder->code->enter(decoder->code, chunk);
}

/* What part of a chunk a unit has. */
struct slice {
    uint64_t begin, end; /* bytes of the chunk */
    bool continues;      /* from the unit's chunk before */
    bool goes_on;        /* in the unit's next chunk */
    bool at_end;         /* the chunk ends with it */
    bool whole;
};

/* Windows of the chunk that became complete. */
static void note_done(struct csp_unit_decoder *decoder, unsigned list,
                      const struct csp_chunk *chunk, bool ends, bool whole)
{
    struct csp_window_builder *builder = &decoder->builders[list];
    uint32_t first = decoder->handed_over[list];
    uint32_t end = (uint32_t)csp_window_builder_complete(builder);
    decoder->handed_over[list] = end;
    for (uint32_t w = first; w < end && chunk->holes; w++)
        builder->out->windows.data[w].cut = true;
    if (end > first)
        csp_vec_push(&decoder->part->base.done, (struct csp_windows_done){.chunk = chunk,
                                                                          .source = builder->source,
                                                                          .list = list,
                                                                          .first = first,
                                                                          .count = end - first,
                                                                          .ends = ends,
                                                                          .whole = whole});
}

static void hand_over(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk,
                      const struct slice *slice)
{
    for (uint32_t i = 0; i < decoder->stream->source_count; i++) {
        struct csp_window_builder *builder = &decoder->builders[i];
        if (!slice->goes_on)
            csp_window_builder_end(builder, slice->at_end && chunk->lost ? CSP_RUN_TRUNCATED
                                                                         : CSP_RUN_TRACE_OFF);
        csp_window_builder_carry(builder);
        note_done(decoder, i, chunk, slice->at_end, slice->whole && !decoder->parted);
    }
}

static void count_part(struct csp_unit_decoder *decoder, struct csp_part *part)
{
    struct csp_engine_stats now = csp_engine_stats(decoder->engine);
    csp_engine_stats_add(&part->stats.engine, &decoder->counted, &now);
    part->stats.engine.bytes += decoder->recalled_bytes;
    part->stats.recalled = decoder->recalled;
    decoder->counted = now;
    decoder->recalled = decoder->recalled_bytes = 0;
    for (uint32_t i = 0; i < decoder->stream->source_count; i++) {
        struct csp_window_builder *builder = &decoder->builders[i];
        csp_window_stats_add(&part->stats.windows, &builder->stats);
        builder->branches_before -= builder->stats.branches;
        builder->stats = (struct csp_window_stats){0};
    }
}

/* ---- what is too long to be one part ---- */

static size_t bytes_of(const struct csp_trace_part *part, uint32_t lists)
{
    size_t bytes = part->text.len;
    for (uint32_t i = 0; i < lists; i++)
        bytes += part->lists[i].windows.len * sizeof *part->lists[i].windows.data +
                 part->lists[i].runs.len * sizeof *part->lists[i].runs.data +
                 part->lists[i].branches.len * sizeof *part->lists[i].branches.data;
    return bytes;
}

/* What a long chunk has been decoded to is handed over before its end, and only a window that is
 * not complete kept, so that memory does not grow with it. */
static int hand_over_early(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk)
{
    struct csp_part *part = decoder->part;
    uint32_t lists = decoder->stream->source_count;
    if (bytes_of(&part->base, lists) < decoder->carried + PART_BYTES)
        return 0;
    for (uint32_t i = 0; i < lists; i++)
        note_done(decoder, i, chunk, false, false);
    decoder->part = csp_part_get(part->pool, lists);
    decoder->part->stream = part->stream;
    for (uint32_t i = 0; i < lists; i++) {
        csp_window_builder_move(&decoder->builders[i], &decoder->part->base.lists[i]);
        decoder->handed_over[i] = 0;
    }
    decoder->carried = bytes_of(&decoder->part->base, lists);
    decoder->parted = true;
    count_part(decoder, part);
    return decoder->options.early(decoder->options.user, decoder->unit, part);
}

/* Looks before more is fed: what a chunk ends with is left to whoever ends it. */
static int feed_piece(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk,
                      const uint8_t *data, uint64_t size)
{
    int error = 0;
    while (size && error >= 0) {
        if (decoder->fed >= FEED_BYTES) {
            decoder->fed = 0;
            error = hand_over_early(decoder, chunk);
            continue;
        }
        size_t room = FEED_BYTES - decoder->fed, count = size < room ? (size_t)size : room;
        error = csp_engine_feed(decoder->engine, data, count);
        decoder->fed += count;
        data += count;
        size -= count;
    }
    return error;
}

static int feed(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk,
                const struct slice *slice)
{
    uint64_t offset = 0;
    int error = 0;
    size_t count = csp_chunk_piece_count(chunk);
    for (size_t i = 0; i < count && offset < slice->end && error >= 0; i++) {
        const struct csp_trace_piece piece = csp_chunk_piece(chunk, i);
        uint64_t from = slice->begin > offset ? slice->begin - offset : 0;
        uint64_t to = slice->end - offset < piece.size ? slice->end - offset : piece.size;
        if (from < to)
            error = feed_piece(decoder, chunk, piece.data + from, to - from);
        offset += piece.size;
    }
    if (error >= 0 && !slice->goes_on)
        error = csp_engine_flush(decoder->engine);
    return error;
}

/* ---- identical windows ---- */

/* A chunk that stands for itself: the decoder knows nothing before it, and forgets all behind it.
 */
static bool stands_alone(const struct csp_chunk *chunk, const struct slice *slice)
{
    return slice->whole && !slice->continues && !slice->goes_on && !chunk->several &&
           !chunk->lost && !chunk->holes && !chunk->snapshot;
}

/* The chunk's window is one that was decoded before; the engine does not get to see it. */
static bool recall(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk, bool *learn)
{
    struct csp_window_builder *builder = decoder->by_id[csp_known_chunks_id(decoder->known)];
    uint64_t offset = csp_engine_stats(decoder->engine).bytes + builder->offset_shift;
    if (!csp_known_chunks_recall(decoder->known, offset, builder, learn))
        return false;
    for (uint32_t i = 0; i < decoder->stream->source_count; i++)
        decoder->builders[i].offset_shift += chunk->size;
    decoder->recalled++;
    decoder->recalled_bytes += chunk->size;
    return true;
}

/* Decodes a chunk whose window is to be remembered. */
static int decode_and_learn(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk,
                            const struct slice *slice)
{
    struct csp_window_builder *builder = decoder->by_id[csp_known_chunks_id(decoder->known)];
    struct csp_window_stats windows = builder->stats;
    struct csp_engine_stats before = csp_engine_stats(decoder->engine), after;
    int error = feed(decoder, chunk, slice);
    csp_window_builder_end(builder, CSP_RUN_TRACE_OFF);
    after = csp_engine_stats(decoder->engine);
    if (error >= 0 && after.bad_packets == before.bad_packets &&
        after.lost_bytes == before.lost_bytes && after.unsupported == before.unsupported)
        csp_known_chunks_learn(decoder->known, builder, &windows);
    return error;
}

static int take_chunk(struct csp_unit_decoder *decoder, const struct csp_chunk *chunk,
                      const struct slice *slice)
{
    bool learn = false;
    if (decoder->known && stands_alone(chunk, slice) &&
        csp_known_chunks_look(decoder->known, chunk, decoder->code->epoch) &&
        recall(decoder, chunk, &learn))
        return 0;
    return learn ? decode_and_learn(decoder, chunk, slice) : feed(decoder, chunk, slice);
}

static int decode_chunks(struct csp_unit_decoder *decoder, const struct csp_trace_unit *unit,
                         uint64_t begin, uint64_t end)
{
    uint64_t offset = 0;
    int error = 0;
    for (uint32_t i = unit->chunk_first; i < unit->chunk_last && offset < end && error >= 0; i++) {
        const struct csp_chunk *chunk = &decoder->stream->chunks.data[i];
        uint64_t size = chunk->size, next = offset + size;
        struct slice slice = {
            .begin = begin > offset ? begin - offset : 0,
            .end = end < next ? end - offset : size,
            .continues = chunk->continues && (begin < offset),
            .goes_on = (end > next) && chunk[1].continues,
            .at_end = end >= next,
            .whole = begin <= offset && end >= next,
        };
        offset = next;
        if (slice.begin >= size && size)
            continue;
        if (!slice.continues)
            decoder->fed = 0;
        decoder->parted = false;
        enter_chunk(decoder, chunk, slice.continues);
        error = take_chunk(decoder, chunk, &slice);
        hand_over(decoder, chunk, &slice);
    }
    return error;
}

struct csp_part *csp_unit_decoder_decode(struct csp_unit_decoder *decoder,
                                         const struct csp_trace_unit *unit, size_t number,
                                         struct csp_diag *diag)
{
    const struct csp_trace_input *input = decoder->options.input;
    const struct csp_stream *stream = &input->streams.data[unit->stream];
    int error = decoder->stream == stream ? 0 : csp_unit_decoder_open(decoder, unit->stream, diag);
    decoder->part = csp_part_get(decoder->options.pool, stream->source_count);
    decoder->part->stream = unit->stream;
    decoder->unit = number;
    decoder->carried = 0;
    if (error >= 0) {
        uint64_t begin, end;
        csp_trace_unit_bounds(input, unit, &begin, &end);
        decoder->counted = csp_engine_stats(decoder->engine);
        start_builders(decoder, unit->offset + begin - decoder->counted.bytes);
        error = decode_chunks(decoder, unit, begin, end);
        csp_part_note_size(decoder->part);
        count_part(decoder, decoder->part);
    }
    decoder->part->error = error;
    return decoder->part;
}

struct csp_unit_decoder *csp_unit_decoder_create(const struct csp_unit_decoder_options *options)
{
    struct csp_unit_decoder *decoder = csp_calloc(1, sizeof *decoder);
    decoder->options = *options;
    return decoder;
}

void csp_unit_decoder_destroy(struct csp_unit_decoder *decoder)
{
    close_stream(decoder);
    free(decoder);
}
