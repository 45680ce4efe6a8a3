#include "decode/trace_decode.h"

#include "base/big_vec.h"
#include "base/ordered.h"
#include "decode/trace/native/native_engine.h"
#include "decode/trace_part.h"
#include "decode/trace_units.h"
#include "decode/window_memo.h"

#include <inttypes.h>

enum {
    TRACE_IDS = 128,
    FEED_BYTES = 1 << 18, /* of a chunk, at a time */
    PART_BYTES = 1 << 24, /* what of a long chunk is held at most, and what such a piece adds */
};

struct decoding;

/* ---- one thread's decoder ---- */

/* Of the stream that it decoded last. */
struct worker {
    const struct csp_trace_decode_options *options;
    const struct csp_stream *stream; /* null: none yet */
    struct csp_engine *engine;
    struct csp_code_view *code;
    struct csp_window_builder *builders; /* one per source */
    uint32_t *handed_over;               /* windows, likewise */
    struct csp_window_builder *by_id[TRACE_IDS];
    struct decoding *decoding;
    struct csp_part *part;           /* being made */
    struct csp_engine_stats counted; /* the engine's, when it was begun */
    size_t carried;                  /* bytes that it began with */
    size_t unit;
    /* Of identical windows; null when elements are wanted, or another engine's. */
    struct csp_window_memo *memo;
    struct csp_window_key key;
    struct csp_packet_reader *readers[TRACE_IDS]; /* that make keys */
    uint64_t code_epoch;                          /* of the code view, when memo was filled */
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
static size_t elements_of(const struct worker *worker, const struct csp_element *element)
{
    bool packed = element->type == CSP_ELEMENT_STRETCH && !sums_up(worker->options);
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
    struct worker *worker = user;
    for (size_t i = 0; i < count;) {
        size_t first = i;
        while (i < count && elements[i].source == elements[first].source)
            i += elements_of(worker, &elements[i]);
        struct csp_window_builder *builder = worker->by_id[elements[first].source % TRACE_IDS];
        if (builder)
            csp_window_builder_add(builder, elements + first, i - first);
    }
    const struct csp_trace_consumer *consumer = worker->options->consumer;
    if (consumer->print)
        consumer->print(consumer->user, &worker->part->base.text, elements, count);
    return 0;
}

static void close_stream(struct worker *worker)
{
    csp_engine_destroy(worker->engine);
    if (worker->code)
        worker->code->close(worker->code);
    for (unsigned i = 0; i < TRACE_IDS; i++)
        free(worker->readers[i]);
    csp_window_memo_destroy(worker->memo);
    csp_window_key_free(&worker->key);
    free(worker->builders);
    free(worker->handed_over);
    *worker = (struct worker){.options = worker->options, .decoding = worker->decoding};
}

static void prepare_memo(struct worker *worker, const struct csp_trace_input *input)
{
    worker->memo = csp_window_memo_create();
    for (uint32_t i = 0; i < worker->stream->source_count; i++) {
        const struct csp_source *source = &input->sources.data[worker->stream->source_first + i];
        struct csp_packet_reader **reader = &worker->readers[source->config.trace_id % TRACE_IDS];
        if (*reader)
            continue;
        *reader = csp_calloc(1, sizeof **reader);
        csp_packet_reader_init(*reader, &source->config);
    }
}

static int open_stream(struct worker *worker, const struct csp_trace_input *input, uint32_t number,
                       struct csp_diag *diag)
{
    const struct csp_stream *stream = &input->streams.data[number];
    const struct csp_trace_decode_options *options = worker->options;
    CSP_VEC(struct csp_trace_config) configs = {0};
    close_stream(worker);
    worker->stream = stream;
    worker->code = input->open_code(input->owner, number);
    worker->builders = csp_calloc(stream->source_count, sizeof *worker->builders);
    worker->handed_over = csp_calloc(stream->source_count, sizeof *worker->handed_over);
    for (uint32_t i = 0; i < stream->source_count; i++) {
        const struct csp_source *source = &input->sources.data[stream->source_first + i];
        uint8_t id = stream->formatted ? source->config.trace_id : 0;
        worker->by_id[id % TRACE_IDS] = &worker->builders[i];
        csp_vec_push(&configs, source->config);
    }
    bool splits = stream->source_count > 1 || options->consumer->print;
    int error = options->create(&worker->engine, configs.data, configs.len, stream->formatted,
                                &worker->code->memory, splits ? split : build,
                                splits ? (void *)worker : worker->builders, diag);
    csp_vec_free(&configs);
    if (!error && sums_up(options))
        csp_engine_native_sum_up(worker->engine);
    else if (!error && packs_branches(options))
        csp_engine_native_pack_branches(worker->engine);
    if (!error && !sums_up(options) && packs_branches(options) && stream->formatted)
        prepare_memo(worker, input);
    if (!error && options->started)
        options->started(options->consumer->user, worker->engine);
    return error;
}

static void start_builders(struct worker *worker, const struct csp_trace_input *input,
                           uint64_t offset_shift)
{
    for (uint32_t i = 0; i < worker->stream->source_count; i++) {
        uint32_t number = worker->stream->source_first + i;
        worker->handed_over[i] = 0;
        worker->builders[i] = (struct csp_window_builder){
            .out = &worker->part->base.lists[i],
            .source = number,
            .context_field = csp_trace_config_context_field(&input->sources.data[number].config),
            .sums_up = sums_up(worker->options),
            .offset_shift = offset_shift,
        };
    }
}

/* Without context in the trace, all of a chunk belongs to the thread it was recorded for. */
static void enter_chunk(struct worker *worker, const struct csp_chunk *chunk, bool continues)
{
    for (uint32_t i = 0; i < worker->stream->source_count; i++) {
        struct csp_window_builder *builder = &worker->builders[i];
        builder->untraced_context = chunk->tid == CSP_NOBODY ? 0 : chunk->tid;
        if (!continues || builder->context_field == CSP_CONTEXT_NONE)
            builder->context_id = builder->untraced_context;
        if (continues && chunk->unsure)
            csp_window_builder_doubt(builder, csp_engine_stats(worker->engine).bytes +
                                                  builder->offset_shift);
    }
    if (worker->code->enter)
        worker->code->enter(worker->code, chunk);
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
static void note_done(struct worker *worker, unsigned list, const struct csp_chunk *chunk,
                      bool ends, bool whole)
{
    struct csp_window_builder *builder = &worker->builders[list];
    uint32_t first = worker->handed_over[list];
    uint32_t end = (uint32_t)csp_window_builder_complete(builder);
    worker->handed_over[list] = end;
    for (uint32_t w = first; w < end && chunk->holes; w++)
        builder->out->windows.data[w].cut = true;
    if (end > first)
        csp_vec_push(&worker->part->base.done, (struct csp_windows_done){.chunk = chunk,
                                                                         .source = builder->source,
                                                                         .list = list,
                                                                         .first = first,
                                                                         .count = end - first,
                                                                         .ends = ends,
                                                                         .whole = whole});
}

static void hand_over(struct worker *worker, const struct csp_chunk *chunk,
                      const struct slice *slice)
{
    for (uint32_t i = 0; i < worker->stream->source_count; i++) {
        struct csp_window_builder *builder = &worker->builders[i];
        if (!slice->goes_on)
            csp_window_builder_end(builder, slice->at_end && chunk->lost ? CSP_RUN_TRUNCATED
                                                                         : CSP_RUN_TRACE_OFF);
        csp_window_builder_carry(builder);
        note_done(worker, i, chunk, slice->at_end, slice->whole);
    }
}

/* ---- what is too long to be one part ---- */

static size_t bytes_of(const struct csp_trace_part *part, uint32_t lists)
{
    size_t bytes = part->text.len;
    for (uint32_t i = 0; i < lists; i++)
        bytes += part->lists[i].runs.len * sizeof *part->lists[i].runs.data +
                 part->lists[i].branches.len * sizeof *part->lists[i].branches.data;
    return bytes;
}

static int use_early(struct worker *worker, struct csp_part *part);

/* What a long chunk has been decoded to is handed over before its end, and only a window that is
 * not complete kept, so that memory does not grow with it. */
static int hand_over_early(struct worker *worker, const struct csp_chunk *chunk)
{
    struct csp_part *part = worker->part;
    uint32_t lists = worker->stream->source_count;
    if (bytes_of(&part->base, lists) < worker->carried + PART_BYTES)
        return 0;
    for (uint32_t i = 0; i < lists; i++)
        note_done(worker, i, chunk, false, false);
    worker->part = csp_part_get(part->pool, lists);
    worker->part->stream = part->stream;
    for (uint32_t i = 0; i < lists; i++) {
        csp_window_builder_move(&worker->builders[i], &worker->part->base.lists[i]);
        worker->handed_over[i] = 0;
    }
    worker->carried = bytes_of(&worker->part->base, lists);
    return use_early(worker, part);
}

static int feed_piece(struct worker *worker, const struct csp_chunk *chunk, const uint8_t *data,
                      size_t size)
{
    int error = 0;
    while (size > FEED_BYTES && error >= 0) {
        error = csp_engine_feed(worker->engine, data, FEED_BYTES);
        if (error >= 0)
            error = hand_over_early(worker, chunk);
        data += FEED_BYTES;
        size -= FEED_BYTES;
    }
    return error >= 0 ? csp_engine_feed(worker->engine, data, size) : error;
}

static int feed(struct worker *worker, const struct csp_chunk *chunk, const struct slice *slice)
{
    uint64_t offset = 0;
    int error = 0;
    size_t count = csp_chunk_piece_count(chunk);
    for (size_t i = 0; i < count && offset < slice->end && error >= 0; i++) {
        const struct csp_trace_piece piece = csp_chunk_piece(chunk, i);
        uint64_t from = slice->begin > offset ? slice->begin - offset : 0;
        uint64_t to = slice->end - offset < piece.size ? slice->end - offset : piece.size;
        if (from < to)
            error = feed_piece(worker, chunk, piece.data + from, to - from);
        offset += piece.size;
    }
    if (error >= 0 && !slice->goes_on)
        error = csp_engine_flush(worker->engine);
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

static bool make_key(struct worker *worker, const struct csp_chunk *chunk,
                     const struct slice *slice)
{
    if (!worker->memo || !stands_alone(chunk, slice) || !csp_window_memo_wants(worker->memo))
        return false;
    if (worker->code_epoch != worker->code->epoch)
        csp_window_memo_forget(worker->memo);
    worker->code_epoch = worker->code->epoch;
    return csp_window_key_make(&worker->key, worker->readers, chunk->data, chunk->size, chunk->tid);
}

/* The chunk's window is one that was decoded before; the engine does not get to see it. */
static bool recall(struct worker *worker, const struct csp_chunk *chunk, bool *learn)
{
    struct csp_window_builder *builder = worker->by_id[worker->key.id];
    uint64_t offset = csp_engine_stats(worker->engine).bytes + builder->offset_shift;
    if (!csp_window_memo_recall(worker->memo, &worker->key, offset, builder, learn))
        return false;
    for (uint32_t i = 0; i < worker->stream->source_count; i++)
        worker->builders[i].offset_shift += chunk->size;
    worker->recalled++;
    worker->recalled_bytes += chunk->size;
    return true;
}

/* Decodes a chunk whose window is to be remembered. */
static int decode_and_learn(struct worker *worker, const struct csp_chunk *chunk,
                            const struct slice *slice)
{
    struct csp_window_builder *builder = worker->by_id[worker->key.id];
    struct csp_window_stats windows = builder->stats;
    struct csp_engine_stats before = csp_engine_stats(worker->engine), after;
    int error = feed(worker, chunk, slice);
    csp_window_builder_end(builder, CSP_RUN_TRACE_OFF);
    after = csp_engine_stats(worker->engine);
    if (error >= 0 && after.bad_packets == before.bad_packets &&
        after.lost_bytes == before.lost_bytes && after.unsupported == before.unsupported)
        csp_window_memo_learn(worker->memo, &worker->key, builder, &windows);
    return error;
}

static int take_chunk(struct worker *worker, const struct csp_chunk *chunk,
                      const struct slice *slice)
{
    bool learn = false;
    if (make_key(worker, chunk, slice) && recall(worker, chunk, &learn))
        return 0;
    return learn ? decode_and_learn(worker, chunk, slice) : feed(worker, chunk, slice);
}

static int decode_chunks(struct worker *worker, const struct csp_trace_unit *unit, uint64_t begin,
                         uint64_t end)
{
    uint64_t offset = 0;
    int error = 0;
    for (uint32_t i = unit->chunk_first; i < unit->chunk_last && offset < end && error >= 0; i++) {
        const struct csp_chunk *chunk = &worker->stream->chunks.data[i];
        uint64_t size = chunk->size, next = offset + size;
        struct slice slice = {
            .begin = begin > offset ? begin - offset : 0,
            .end = end < next ? end - offset : size,
            .continues =
                chunk->continues && begin<offset, .goes_on = end> next && chunk[1].continues,
            .at_end = end >= next,
            .whole = begin <= offset && end >= next,
        };
        offset = next;
        if (slice.begin >= size && size)
            continue;
        enter_chunk(worker, chunk, slice.continues);
        error = take_chunk(worker, chunk, &slice);
        hand_over(worker, chunk, &slice);
    }
    return error;
}

static void add_engine_stats(struct csp_engine_stats *sum, const struct csp_engine_stats *after,
                             const struct csp_engine_stats *before)
{
    sum->bytes += after->bytes - before->bytes;
    sum->bad_packets += after->bad_packets - before->bad_packets;
    sum->lost_bytes += after->lost_bytes - before->lost_bytes;
    sum->unsupported += after->unsupported - before->unsupported;
}

/* ---- all together ---- */

struct decoding {
    const struct csp_trace_input *input;
    const struct csp_trace_decode_options *options;
    csp_trace_units units;
    unsigned threads;
    struct worker *workers;
    struct csp_part_pool *pool;
    struct csp_part **parts; /* by slot */
    struct csp_ordered_turns *turns;
    struct csp_trace_stats *stats;
    uint64_t unsupported; /* in the stream being taken */
    struct csp_diag *diag;
};

static void count_part(struct worker *worker, struct csp_part *part)
{
    struct csp_engine_stats now = csp_engine_stats(worker->engine);
    add_engine_stats(&part->stats.engine, &now, &worker->counted);
    part->stats.engine.bytes += worker->recalled_bytes;
    part->stats.recalled = worker->recalled;
    worker->counted = now;
    worker->recalled = worker->recalled_bytes = 0;
    for (uint32_t i = 0; i < worker->stream->source_count; i++) {
        struct csp_window_builder *builder = &worker->builders[i];
        csp_window_stats_add(&part->stats.windows, &builder->stats);
        builder->branches_before -= builder->stats.branches;
        builder->stats = (struct csp_window_stats){0};
    }
}

static void decode_unit(void *user, size_t number, unsigned worker_number, unsigned slot)
{
    struct decoding *decoding = user;
    struct worker *worker = &decoding->workers[worker_number];
    const struct csp_trace_unit *unit = &decoding->units.data[number];
    const struct csp_stream *stream = &decoding->input->streams.data[unit->stream];
    int error = 0;
    if (worker->stream != stream)
        error = open_stream(worker, decoding->input, unit->stream,
                            decoding->threads > 1 ? NULL : decoding->diag);
    worker->part = csp_part_get(decoding->pool, stream->source_count);
    worker->part->stream = unit->stream;
    worker->unit = number;
    worker->carried = 0;
    if (error >= 0) {
        uint64_t begin, end;
        csp_trace_unit_bounds(decoding->input, unit, &begin, &end);
        worker->counted = csp_engine_stats(worker->engine);
        start_builders(worker, decoding->input, unit->offset + begin - worker->counted.bytes);
        error = decode_chunks(worker, unit, begin, end);
        csp_part_note_size(worker->part);
        count_part(worker, worker->part);
    }
    worker->part->error = error;
    worker->part->last_of_stream =
        number + 1 == decoding->units.len || unit[1].stream != unit->stream;
    decoding->parts[slot] = worker->part;
}

/* Says why an engine could not be made: not before the parts in front of it were taken. */
static int tell_failure(struct decoding *decoding, uint32_t stream, int error)
{
    struct worker worker = {.options = decoding->options};
    if (decoding->threads == 1)
        return error; /* told already */
    int again = open_stream(&worker, decoding->input, stream, decoding->diag);
    close_stream(&worker);
    return again < 0 ? again : error;
}

static void end_stream(struct decoding *decoding, const struct csp_stream *stream)
{
    if (decoding->unsupported)
        csp_warn(decoding->diag,
                 "%s: execution went %" PRIu64
                 " times into 32-bit Arm code, which is not followed: "
                 "its ranges are missing (decode --engine opencsd follows it)",
                 stream->name, decoding->unsupported);
    decoding->unsupported = 0;
}

static int use_part(struct decoding *decoding, struct csp_part *part)
{
    const struct csp_trace_consumer *consumer = decoding->options->consumer;
    if (part->error < 0)
        return tell_failure(decoding, part->stream, part->error);
    static const struct csp_engine_stats none;
    add_engine_stats(&decoding->stats->engine, &part->stats.engine, &none);
    csp_window_stats_add(&decoding->stats->windows, &part->stats.windows);
    decoding->stats->recalled += part->stats.recalled;
    decoding->unsupported += part->stats.engine.unsupported;
    int error = consumer->part ? consumer->part(consumer->user, &part->base) : 0;
    if (decoding->options->progress)
        csp_progress_at(decoding->options->progress, decoding->stats->engine.bytes);
    if (part->last_of_stream)
        end_stream(decoding, &decoding->input->streams.data[part->stream]);
    return error;
}

static int use_early(struct worker *worker, struct csp_part *part)
{
    int error = -CSP_ERR_FAILED; /* which nobody gets to see */
    count_part(worker, part);
    if (csp_ordered_await_turn(worker->decoding->turns, worker->unit))
        error = use_part(worker->decoding, part);
    csp_trace_part_release(&part->base);
    return error;
}

/* The chunks before those of a unit that was taken, the units before it having been. */
static void forget_chunks(const struct decoding *decoding, const struct csp_trace_unit *unit)
{
    const struct csp_stream *stream = &decoding->input->streams.data[unit->stream];
    bool is_first = unit == decoding->units.data || unit[-1].stream != unit->stream;
    if (!is_first)
        csp_big_vec_done(&stream->chunks, unit[-1].chunk_first, unit->chunk_first);
}

static int take_part(void *user, size_t number, unsigned slot)
{
    struct decoding *decoding = user;
    int error = use_part(decoding, decoding->parts[slot]);
    csp_trace_part_release(&decoding->parts[slot]->base);
    decoding->parts[slot] = NULL;
    forget_chunks(decoding, &decoding->units.data[number]);
    return error;
}

/* Each stream ends with its last unit. */
static uint64_t trace_bytes(const csp_trace_units *units)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < units->len; i++) {
        const struct csp_trace_unit *unit = &units->data[i];
        if (i + 1 == units->len || unit[1].stream != unit->stream)
            bytes += unit->offset + unit->size;
    }
    return bytes;
}

int csp_trace_decode(const struct csp_trace_input *input,
                     const struct csp_trace_decode_options *options, struct csp_trace_stats *stats,
                     struct csp_diag *diag)
{
    bool native = options->create == csp_engine_create_native;
    unsigned threads = native && !options->started && options->threads ? options->threads : 1;
    unsigned slots = csp_ordered_slots(threads);
    struct decoding decoding = {
        .input = input, .options = options, .threads = threads, .stats = stats, .diag = diag};
    csp_trace_units_make(input, options->started != NULL, &decoding.units);
    if (options->progress)
        options->progress->total = trace_bytes(&decoding.units);
    decoding.pool = csp_part_pool_create();
    decoding.workers = csp_calloc(threads, sizeof *decoding.workers);
    for (unsigned i = 0; i < threads; i++)
        decoding.workers[i] = (struct worker){.options = options, .decoding = &decoding};
    decoding.parts = csp_calloc(slots, sizeof(struct csp_part *));
    struct csp_ordered job = {.count = decoding.units.len,
                              .threads = threads,
                              .work = decode_unit,
                              .take = take_part,
                              .user = &decoding,
                              .turns = &decoding.turns};
    int error = csp_ordered_run(&job);
    for (unsigned i = 0; i < threads; i++)
        close_stream(&decoding.workers[i]);
    for (unsigned i = 0; i < slots; i++) /* those that were not taken any more */
        if (decoding.parts[i])
            csp_trace_part_release(&decoding.parts[i]->base);
    csp_part_pool_leave(decoding.pool, NULL);
    free(decoding.parts);
    free(decoding.workers);
    csp_vec_free(&decoding.units);
    return error;
}
