/* Our own deformatter, packet reader and walker behind decode/trace/engine.h. */
#include "decode/trace/native/native_engine.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "decode/trace/native/deframer.h"
#include "decode/trace/native/trace_source.h"

#include <stdlib.h>

enum { CHUNK_FRAMES = 4096, RAW_CHUNK = 1 << 20 };

struct native_engine {
    struct csp_engine base;
    struct csp_code_memory code;
    uint64_t code_epoch; /* that the walkers know of */
    bool formatted;
    uint64_t position; /* of all bytes given, before those being decoded */
    uint64_t lost_bytes;
    size_t carried; /* bytes of an incomplete frame */
    uint8_t carry[CSP_FRAME_SIZE];
    struct csp_deframer deframer;
    struct csp_segments *segments;
    struct csp_element_batch out;
    size_t source_count;
    struct csp_trace_source *by_id[256];
    struct csp_trace_source sources[];
};

static struct native_engine *from_base(struct csp_engine *engine)
{
    return (struct native_engine *)engine;
}

static uint64_t offset_in_raw(const void *user, size_t position)
{
    const struct native_engine *engine = user;
    return engine->position + position;
}

struct run_in_frames {
    const struct native_engine *engine;
    uint32_t start;
};

static uint64_t offset_in_frames(const void *user, size_t position)
{
    const struct run_in_frames *run = user;
    size_t frame = csp_deframer_frame_of(&run->engine->deframer, run->start + (uint32_t)position);
    return run->engine->position + frame * CSP_FRAME_SIZE;
}

static void end_sources(struct native_engine *engine)
{
    for (size_t i = 0; i < engine->source_count; i++)
        csp_trace_source_end(&engine->sources[i]);
}

static void take_run(struct native_engine *engine, const struct csp_deframed_run *run)
{
    struct csp_trace_source *source = engine->by_id[run->id];
    struct run_in_frames place = {engine, run->start};
    uint32_t size = run->end - run->start;
    if (run->id == CSP_FRAME_BARRIER)
        end_sources(engine);
    else if (source)
        csp_trace_source_feed(source, engine->deframer.bytes.data + run->start, size,
                              offset_in_frames, &place);
    else if (run->id != 0) /* which is padding */
        engine->lost_bytes += size;
}

static void take_frames(struct native_engine *engine, const uint8_t *data, size_t count)
{
    while (count && engine->out.status >= 0) {
        uint32_t chunk = count < CHUNK_FRAMES ? (uint32_t)count : CHUNK_FRAMES;
        csp_deframe(&engine->deframer, data, chunk);
        for (size_t i = 0; i < engine->deframer.runs.len; i++) {
            if (engine->deframer.runs.data[i].start != engine->deframer.runs.data[i].end ||
                engine->deframer.runs.data[i].id == CSP_FRAME_BARRIER)
                take_run(engine, &engine->deframer.runs.data[i]);
        }
        data += chunk * CSP_FRAME_SIZE;
        count -= chunk;
        engine->position += chunk * CSP_FRAME_SIZE;
    }
}

static void feed_frames(struct native_engine *engine, const uint8_t *data, size_t size)
{
    if (engine->carried) {
        size_t missing = CSP_FRAME_SIZE - engine->carried;
        size_t taken = size < missing ? size : missing;
        memcpy(engine->carry + engine->carried, data, taken);
        engine->carried += taken;
        data += taken;
        size -= taken;
        if (engine->carried < CSP_FRAME_SIZE)
            return;
        engine->carried = 0;
        take_frames(engine, engine->carry, 1);
    }
    take_frames(engine, data, size / CSP_FRAME_SIZE);
    engine->carried = size % CSP_FRAME_SIZE;
    memcpy(engine->carry, data + size - engine->carried, engine->carried);
}

static void feed_raw(struct native_engine *engine, const uint8_t *data, size_t size)
{
    while (size && engine->out.status >= 0) {
        size_t chunk = size < RAW_CHUNK ? size : RAW_CHUNK;
        csp_trace_source_feed(&engine->sources[0], data, chunk, offset_in_raw, engine);
        data += chunk;
        size -= chunk;
        engine->position += chunk;
    }
}

/* What is mapped may have changed since the last call. */
static void begin_call(struct native_engine *engine)
{
    if (engine->code.epoch && *engine->code.epoch == engine->code_epoch)
        return;
    if (engine->code.epoch)
        engine->code_epoch = *engine->code.epoch;
    for (size_t i = 0; i < engine->source_count; i++)
        csp_walker_forget_regions(&engine->sources[i].resolver.walker);
}

static int feed(struct csp_engine *base, const uint8_t *data, size_t size)
{
    struct native_engine *engine = from_base(base);
    begin_call(engine);
    if (engine->formatted)
        feed_frames(engine, data, size);
    else
        feed_raw(engine, data, size);
    csp_element_batch_deliver(&engine->out);
    return engine->out.status;
}

static int flush(struct csp_engine *base)
{
    struct native_engine *engine = from_base(base);
    begin_call(engine);
    engine->lost_bytes += engine->carried; /* a frame that was cut off cannot be unpacked */
    engine->position += engine->carried;
    engine->carried = 0;
    end_sources(engine);
    csp_deframer_reset(&engine->deframer);
    csp_element_batch_deliver(&engine->out);
    return engine->out.status;
}

static struct csp_engine_stats stats(const struct csp_engine *base)
{
    const struct native_engine *engine = (const struct native_engine *)base;
    struct csp_engine_stats total = {
        .bytes = engine->position + engine->carried,
        .lost_bytes = engine->lost_bytes,
    };
    for (size_t i = 0; i < engine->source_count; i++) {
        total.bad_packets += engine->sources[i].bad_packets;
        total.lost_bytes += engine->sources[i].lost_bytes;
        total.unsupported += engine->sources[i].resolver.walker.unsupported;
    }
    return total;
}

static void destroy(struct csp_engine *base)
{
    struct native_engine *engine = from_base(base);
    for (size_t i = 0; i < engine->source_count; i++)
        csp_trace_source_free(&engine->sources[i]);
    csp_deframer_free(&engine->deframer);
    csp_segments_destroy(engine->segments);
    free(engine);
}

void csp_engine_native_sum_up(struct csp_engine *base)
{
    csp_segments_tell(from_base(base)->segments, CSP_SEGMENTS_SUMS);
}

void csp_engine_native_pack_branches(struct csp_engine *base)
{
    csp_segments_tell(from_base(base)->segments, CSP_SEGMENTS_BRANCHES);
}

static const struct csp_engine_ops operations = {feed, flush, stats, destroy};

/* What the trace means under these registers is not what the walker follows. */
static int check_config(const struct csp_trace_config *config, struct csp_diag *diag)
{
    const uint32_t loads_and_stores = 3u << 1, data_trace = 3u << 16;
    if (config->configr & (loads_and_stores | data_trace))
        return csp_fail(diag, CSP_ERR_UNSUPPORTED,
                        "trace ID 0x%02x traces loads, stores or data (TRCCONFIGR 0x%x): only "
                        "branch trace can be decoded",
                        config->trace_id, config->configr);
    return 0;
}

int csp_engine_create_native(struct csp_engine **out, const struct csp_trace_config *configs,
                             size_t config_count, bool formatted,
                             const struct csp_code_memory *code, csp_element_fn *sink, void *user,
                             struct csp_diag *diag)
{
    if (!config_count || (!formatted && config_count > 1))
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "a raw trace stream has one trace unit, not %zu",
                        config_count);
    for (size_t i = 0; i < config_count; i++) {
        int error = check_config(&configs[i], diag);
        if (error < 0)
            return error;
    }
    struct native_engine *engine = csp_calloc_aligned(
        _Alignof(struct native_engine), sizeof *engine + config_count * sizeof *engine->sources);
    engine->base.ops = &operations;
    engine->code = *code;
    engine->formatted = formatted;
    engine->out.sink = sink;
    engine->out.user = user;
    engine->source_count = config_count;
    engine->segments = csp_segments_create();
    csp_deframer_reset(&engine->deframer);
    for (size_t i = 0; i < config_count; i++) {
        uint8_t id = formatted ? configs[i].trace_id & 0x7f : 0;
        csp_trace_source_init(&engine->sources[i], &configs[i], id, &engine->code, &engine->out,
                              engine->segments);
        if (formatted)
            engine->by_id[id] = &engine->sources[i];
    }
    *out = &engine->base;
    return 0;
}
