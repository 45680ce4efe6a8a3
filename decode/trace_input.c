#include "decode/trace_input.h"

#include <inttypes.h>

enum { TRACE_IDS = 128 };

/* Takes the elements of a stream apart by source. */
struct splitter {
    const struct csp_trace_consumer *consumer;
    struct csp_window_builder *by_id[TRACE_IDS];
};

static int split(void *user, const struct csp_element *elements, size_t count)
{
    struct splitter *splitter = user;
    for (size_t i = 0; i < count;) {
        size_t first = i;
        while (i < count && elements[i].source == elements[first].source)
            i++;
        struct csp_window_builder *builder = splitter->by_id[elements[first].source % TRACE_IDS];
        if (builder)
            csp_window_builder_add(builder, elements + first, i - first);
    }
    const struct csp_trace_consumer *consumer = splitter->consumer;
    return consumer->elements ? consumer->elements(consumer->user, elements, count) : 0;
}

struct decoding {
    const struct csp_trace_input *input;
    const struct csp_stream *stream;
    const struct csp_trace_consumer *consumer;
    struct csp_engine *engine;
    struct csp_code_view *code;
    struct splitter splitter;
    struct csp_window_builder *builders; /* one per source, as are these */
    struct csp_windows *windows;
};

static void make_builders(struct decoding *decoding)
{
    const struct csp_stream *stream = decoding->stream;
    decoding->builders = csp_calloc(stream->source_count, sizeof *decoding->builders);
    decoding->windows = csp_calloc(stream->source_count, sizeof *decoding->windows);
    for (uint32_t i = 0; i < stream->source_count; i++) {
        const struct csp_source *source = &decoding->input->sources.data[stream->source_first + i];
        struct csp_window_builder *builder = &decoding->builders[i];
        builder->out = &decoding->windows[i];
        builder->source = stream->source_first + i;
        builder->context_field = csp_trace_config_context_field(&source->config);
        uint8_t id = stream->formatted ? source->config.trace_id : 0;
        decoding->splitter.by_id[id % TRACE_IDS] = builder;
    }
}

static int make_engine(struct decoding *decoding, csp_engine_create_fn *create,
                       struct csp_diag *diag)
{
    const struct csp_stream *stream = decoding->stream;
    CSP_VEC(struct csp_trace_config) configs = {0};
    for (uint32_t i = 0; i < stream->source_count; i++)
        csp_vec_push(&configs, decoding->input->sources.data[stream->source_first + i].config);
    int error = create(&decoding->engine, configs.data, configs.len, stream->formatted,
                       &decoding->code->memory, split, &decoding->splitter, diag);
    csp_vec_free(&configs);
    return error;
}

/* Without context in the trace, all of a chunk belongs to the thread it was recorded for. */
static void enter_chunk(struct decoding *decoding, const struct csp_chunk *chunk)
{
    for (uint32_t i = 0; i < decoding->stream->source_count; i++) {
        struct csp_window_builder *builder = &decoding->builders[i];
        builder->untraced_context = chunk->tid == CSP_NOBODY ? 0 : chunk->tid;
        if (!chunk->continues || builder->context_field == CSP_CONTEXT_NONE)
            builder->context_id = builder->untraced_context;
    }
    if (decoding->code->enter)
        decoding->code->enter(decoding->code, chunk);
}

static void distrust(struct csp_windows *windows)
{
    for (size_t i = 0; i < windows->windows.len; i++)
        windows->windows.data[i].cut = true;
}

static int hand_over_windows(struct decoding *decoding, const struct csp_chunk *chunk, bool goes_on)
{
    int error = 0;
    for (uint32_t i = 0; i < decoding->stream->source_count; i++) {
        struct csp_window_builder *builder = &decoding->builders[i];
        if (!goes_on)
            csp_window_builder_end(builder, chunk->lost ? CSP_RUN_TRUNCATED : CSP_RUN_TRACE_OFF);
        struct csp_windows complete = csp_window_builder_complete(builder);
        if (chunk->holes)
            distrust(&complete);
        if (decoding->consumer->windows && complete.windows.len && error >= 0)
            error = decoding->consumer->windows(decoding->consumer->user, builder->source, chunk,
                                                &complete);
        csp_window_builder_clear(builder);
    }
    return error < 0 ? error : 0;
}

static int decode_chunk(struct decoding *decoding, const struct csp_chunk *chunk, bool goes_on)
{
    int error = 0;
    enter_chunk(decoding, chunk);
    for (size_t i = 0; i < chunk->piece_count && error >= 0; i++)
        error = csp_engine_feed(decoding->engine, chunk->pieces[i].data, chunk->pieces[i].size);
    if (error >= 0 && !goes_on)
        error = csp_engine_flush(decoding->engine);
    return error < 0 ? error : hand_over_windows(decoding, chunk, goes_on);
}

/* Whether the chunk after number `i` is one with it. */
static bool goes_on(const struct csp_stream *stream, size_t i)
{
    return i + 1 < stream->chunks.len && stream->chunks.data[i + 1].continues;
}

static void add_stats(struct csp_trace_stats *total, const struct decoding *decoding,
                      struct csp_diag *diag)
{
    struct csp_engine_stats engine = csp_engine_stats(decoding->engine);
    total->engine.bytes += engine.bytes;
    total->engine.bad_packets += engine.bad_packets;
    total->engine.lost_bytes += engine.lost_bytes;
    total->engine.unsupported += engine.unsupported;
    if (engine.unsupported)
        csp_warn(diag,
                 "%s: execution went %" PRIu64
                 " times into 32-bit Arm code, which is not followed: "
                 "its ranges are missing (decode --engine opencsd follows it)",
                 decoding->stream->name, engine.unsupported);
    for (uint32_t i = 0; i < decoding->stream->source_count; i++) {
        const struct csp_window_stats *one = &decoding->builders[i].stats;
        struct csp_window_stats *sum = &total->windows;
        sum->ranges += one->ranges;
        sum->instructions += one->instructions;
        sum->branches += one->branches;
        sum->unmapped_ranges += one->unmapped_ranges;
        sum->unknown_paths += one->unknown_paths;
        sum->discontinuities += one->discontinuities;
        sum->exceptions += one->exceptions;
        sum->overflows += one->overflows;
        sum->windows += one->windows;
        sum->runs += one->runs;
    }
}

static void end_decoding(struct decoding *decoding)
{
    csp_engine_destroy(decoding->engine);
    if (decoding->code)
        decoding->code->close(decoding->code);
    for (uint32_t i = 0; i < decoding->stream->source_count; i++) {
        csp_vec_free(&decoding->windows[i].windows);
        csp_vec_free(&decoding->windows[i].runs);
        csp_vec_free(&decoding->windows[i].branches);
    }
    free(decoding->windows);
    free(decoding->builders);
}

int csp_trace_decode(const struct csp_trace_input *input, uint32_t stream,
                     csp_engine_create_fn *create, const struct csp_trace_consumer *consumer,
                     void (*started)(void *user, struct csp_engine *engine),
                     struct csp_trace_stats *stats, struct csp_diag *diag)
{
    struct decoding decoding = {
        .input = input,
        .stream = &input->streams.data[stream],
        .consumer = consumer,
        .splitter = {.consumer = consumer},
        .code = input->open_code(input->owner, stream),
    };
    make_builders(&decoding);
    int error = make_engine(&decoding, create, diag);
    if (!error && started)
        started(consumer->user, decoding.engine);
    for (size_t i = 0; i < decoding.stream->chunks.len && error >= 0; i++)
        error =
            decode_chunk(&decoding, &decoding.stream->chunks.data[i], goes_on(decoding.stream, i));
    if (decoding.engine)
        add_stats(stats, &decoding, diag);
    end_decoding(&decoding);
    return error < 0 ? error : 0;
}

void csp_trace_input_free(struct csp_trace_input *input)
{
    for (size_t i = 0; i < input->streams.len; i++)
        csp_vec_free(&input->streams.data[i].chunks);
    csp_vec_free(&input->streams);
    csp_vec_free(&input->sources);
    csp_arena_free(&input->arena);
}
