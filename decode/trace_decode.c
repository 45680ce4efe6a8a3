#include "decode/trace_decode.h"

#include "base/big_vec.h"
#include "base/ordered.h"
#include "decode/trace/native/native_engine.h"
#include "decode/unit_decoder.h"

#include <inttypes.h>

struct decoding {
    const struct csp_trace_input *input;
    const struct csp_trace_decode_options *options;
    csp_trace_units units;
    unsigned threads;
    struct csp_unit_decoder **decoders; /* by thread */
    struct csp_part_pool *pool;
    struct csp_part **parts; /* by slot */
    struct csp_ordered_turns *turns;
    struct csp_trace_stats *stats;
    uint64_t unsupported; /* in the stream being taken */
    struct csp_diag *diag;
};

static int take_early(void *user, size_t unit, struct csp_part *part);

static struct csp_unit_decoder *create_decoder(struct decoding *decoding)
{
    return csp_unit_decoder_create(&(struct csp_unit_decoder_options){.input = decoding->input,
                                                                      .decode = decoding->options,
                                                                      .pool = decoding->pool,
                                                                      .early = take_early,
                                                                      .user = decoding});
}

/* Says why an engine could not be made: not before the parts in front of it were taken. */
static int tell_failure(struct decoding *decoding, uint32_t stream, int error)
{
    if (decoding->threads == 1)
        return error; /* told already */
    struct csp_unit_decoder *decoder = create_decoder(decoding);
    int again = csp_unit_decoder_open(decoder, stream, decoding->diag);
    csp_unit_decoder_destroy(decoder);
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
    csp_engine_stats_add(&decoding->stats->engine, &none, &part->stats.engine);
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

/* A unit's beginning; it is worked on by the thread that is here. */
static int take_early(void *user, size_t unit, struct csp_part *part)
{
    struct decoding *decoding = user;
    int error = -CSP_ERR_FAILED; /* which nobody gets to see */
    if (csp_ordered_await_turn(decoding->turns, unit))
        error = use_part(decoding, part);
    csp_trace_part_release(&part->base);
    return error;
}

static void decode_unit(void *user, size_t number, unsigned thread, unsigned slot)
{
    struct decoding *decoding = user;
    const struct csp_trace_unit *unit = &decoding->units.data[number];
    struct csp_part *part = csp_unit_decoder_decode(decoding->decoders[thread], unit, number,
                                                    decoding->threads > 1 ? NULL : decoding->diag);
    part->last_of_stream = number + 1 == decoding->units.len || unit[1].stream != unit->stream;
    decoding->parts[slot] = part;
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
    decoding.decoders = csp_calloc(threads, sizeof(struct csp_unit_decoder *));
    for (unsigned i = 0; i < threads; i++)
        decoding.decoders[i] = create_decoder(&decoding);
    decoding.parts = csp_calloc(slots, sizeof(struct csp_part *));
    struct csp_ordered job = {.count = decoding.units.len,
                              .threads = threads,
                              .work = decode_unit,
                              .take = take_part,
                              .user = &decoding,
                              .turns = &decoding.turns};
    int error = csp_ordered_run(&job);
    for (unsigned i = 0; i < threads; i++)
        csp_unit_decoder_destroy(decoding.decoders[i]);
    for (unsigned i = 0; i < slots; i++) /* those that were not taken any more */
        if (decoding.parts[i])
            csp_trace_part_release(&decoding.parts[i]->base);
    csp_part_pool_leave(decoding.pool, NULL);
    free(decoding.parts);
    free(decoding.decoders);
    csp_vec_free(&decoding.units);
    return error;
}
