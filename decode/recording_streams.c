#include "decode/recording_private.h"

#include <inttypes.h>
#include <string.h>

static const char *keep(struct csp_recording *recording, char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = csp_arena_alloc(&recording->trace.arena, size);
    memcpy(kept, text, size);
    free(text);
    return kept;
}

static struct csp_trace_config config_of(const struct csp_cs_etm_cpu *cpu)
{
    static const uint32_t first_ete = 0x47705a13; /* where the recorder did not say which */
    struct csp_trace_config config = {
        .protocol = cpu->unit == CSP_UNIT_ETE ? CSP_PROTOCOL_ETE : CSP_PROTOCOL_ETMV4,
        .trace_id = cpu->trace_id,
        .configr = (uint32_t)cpu->params[CSP_ETM_CONFIGR],
        .traceidr = cpu->trace_id,
        .idr0 = (uint32_t)cpu->params[CSP_ETM_IDR0],
        .idr1 = (uint32_t)cpu->params[CSP_ETM_IDR1],
        .idr2 = (uint32_t)cpu->params[CSP_ETM_IDR2],
        .idr8 = (uint32_t)cpu->params[CSP_ETM_IDR8],
    };
    if (config.protocol == CSP_PROTOCOL_ETE) {
        config.devarch = (uint32_t)cpu->params[CSP_ETE_DEVARCH];
        if (!config.devarch)
            config.devarch = first_ete;
    }
    return config;
}

static bool can_decode(const struct csp_cs_etm_cpu *cpu)
{
    return cpu->unit == CSP_UNIT_ETMV4 || cpu->unit == CSP_UNIT_ETE;
}

static bool has_trace_id(const struct csp_cs_etm_cpu *cpu)
{
    return cpu->trace_id > 0 && cpu->trace_id < 0x70;
}

static void add_source(struct csp_recording *recording, struct csp_stream *stream,
                       const struct csp_cs_etm_cpu *cpu)
{
    struct csp_source source = {
        .name = keep(recording, csp_asprintf("CPU %" PRIu32 " in %s", cpu->cpu, stream->name)),
        .stream = (uint32_t)recording->trace.streams.len,
        .cpu = cpu->cpu,
        .config = config_of(cpu),
    };
    csp_vec_push(&recording->trace.sources, source);
    stream->source_count++;
}

static bool id_is_taken(const struct csp_recording *recording, const struct csp_stream *stream,
                        uint8_t trace_id)
{
    for (uint32_t i = 0; i < stream->source_count; i++)
        if (recording->trace.sources.data[stream->source_first + i].config.trace_id == trace_id)
            return true;
    return false;
}

/* Every trace unit may have written to a formatted buffer, if it feeds that sink: trace IDs are
 * unique only within a sink. The unit of `home` does feed it and comes first. */
static void add_formatted_sources(struct csp_recording *recording, struct csp_stream *stream,
                                  uint32_t home)
{
    const struct csp_cs_etm_info *info = &recording->aux.cs_etm;
    const struct csp_cs_etm_cpu *owner = csp_cs_etm_info_cpu(info, home);
    if (owner && can_decode(owner) && has_trace_id(owner))
        add_source(recording, stream, owner);
    for (size_t i = 0; i < info->cpus.len; i++) {
        const struct csp_cs_etm_cpu *cpu = &info->cpus.data[i];
        bool elsewhere = owner && owner->sink_id && cpu->sink_id && owner->sink_id != cpu->sink_id;
        if (can_decode(cpu) && has_trace_id(cpu) && !elsewhere &&
            !id_is_taken(recording, stream, cpu->trace_id))
            add_source(recording, stream, cpu);
    }
}

/* Why none of the trace units that could have written a stream can be decoded. */
static void explain(const struct csp_recording *recording, const struct csp_stream *stream,
                    uint32_t home, uint64_t bytes, struct csp_diag *diag)
{
    const struct csp_cs_etm_cpu *cpu = csp_cs_etm_info_cpu(&recording->aux.cs_etm, home);
    const char *why = "no CPU of the recording has a trace ID";
    if (cpu && !can_decode(cpu))
        why = "its trace unit is neither ETMv4 nor ETE";
    else if (!cpu && home != CSP_NO_TID)
        why = "AUXTRACE_INFO does not describe its CPU";
    csp_warn(diag, "%s: %s: %s; its %" PRIu64 " bytes of trace are skipped", recording->file.path,
             stream->name, why, bytes);
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
static bool continues(const struct csp_recording *recording, struct csp_stream *stream,
                      const struct csp_aux_fragment *fragment)
{
    if (stream->formatted || !stream->chunks.len || !fragment->piece_count)
        return false;
    const struct csp_aux_piece *pieces = recording->aux.pieces.data;
    struct csp_chunk *chunk = &stream->chunks.data[stream->chunks.len - 1];
    const struct csp_aux_fragment *last = &recording->aux.fragments.data[chunk->fragment];
    const struct csp_aux_piece *end = &pieces[last->piece_first + last->piece_count - 1];
    const struct csp_aux_piece *piece = &pieces[fragment->piece_first];
    /* What lay between was not announced, and may have been the rest of a window. */
    chunk->lost |= piece->aux_offset != end->aux_offset + end->size;
    return !chunk->lost && !chunk->holes && !begins_with_sync(piece);
}

/* How a fragment lost trace. A TRBE that has no room stops, so that the newest is missing; an ETR
 * or ETF that was given less room than it has trace keeps the newest (tmc_update_etr_buffer), and
 * what is missing at its beginning does no harm. PARTIAL and COLLISION do not tell where. */
static bool lost_at_end(const struct csp_aux_fragment *fragment, const struct csp_aux_piece *last)
{
    return (fragment->raw && fragment->flags & CSP_AUX_TRUNCATED) ||
           last->aux_offset + last->size < fragment->aux_offset + fragment->aux_size;
}

/* Puts the pieces of a fragment into chunks: where bytes are missing between two, a new one. */
static void add_chunks(struct csp_recording *recording, struct csp_stream *stream,
                       uint32_t fragment_number)
{
    const struct csp_auxtrace *aux = &recording->aux;
    const struct csp_aux_fragment *fragment = &aux->fragments.data[fragment_number];
    const struct csp_aux_piece *pieces = aux->pieces.data + fragment->piece_first;
    if (!fragment->piece_count) { /* there was no room at all */
        if (stream->chunks.len && fragment->raw)
            stream->chunks.data[stream->chunks.len - 1].lost = true;
        return;
    }
    struct csp_piece *kept =
        csp_arena_alloc(&recording->trace.arena, fragment->piece_count * sizeof *kept);
    for (uint32_t i = 0; i < fragment->piece_count; i++) {
        kept[i] = (struct csp_piece){pieces[i].data, pieces[i].size};
        if (i && pieces[i].aux_offset == pieces[i - 1].aux_offset + pieces[i - 1].size) {
            stream->chunks.data[stream->chunks.len - 1].piece_count++;
            continue;
        }
        if (i)
            stream->chunks.data[stream->chunks.len - 1].lost = true;
        struct csp_chunk chunk = {
            .pieces = &kept[i],
            .piece_count = 1,
            .time = fragment->time,
            .fragment = fragment_number,
            .pid = fragment->pid,
            .tid = fragment->tid,
            .lost = lost_at_end(fragment, &pieces[fragment->piece_count - 1]),
            .holes = fragment->flags & (CSP_AUX_PARTIAL | CSP_AUX_COLLISION),
            .continues = !i && continues(recording, stream, fragment),
        };
        csp_vec_push(&stream->chunks, chunk);
    }
}

/* The CPU that a raw fragment was traced on, or the one that stored a formatted one. */
static uint32_t home_of(const struct csp_aux_queue *queue, const struct csp_aux_fragment *fragment)
{
    return queue->cpu != CSP_NO_TID ? queue->cpu : fragment->cpu;
}

static void make_stream(struct csp_recording *recording, const struct csp_aux_queue *queue,
                        uint32_t first, bool *taken, struct csp_diag *diag)
{
    const struct csp_auxtrace *aux = &recording->aux;
    bool raw = aux->fragments.data[first].raw;
    uint32_t home = home_of(queue, &aux->fragments.data[first]);
    uint64_t bytes = 0;
    struct csp_stream stream = {.formatted = !raw,
                                .source_first = (uint32_t)recording->trace.sources.len};
    stream.name = keep(recording, csp_asprintf("AUX queue %" PRIu32, queue->idx));
    const struct csp_cs_etm_cpu *cpu = csp_cs_etm_info_cpu(&aux->cs_etm, home);
    if (!raw)
        add_formatted_sources(recording, &stream, home);
    else if (cpu && can_decode(cpu))
        add_source(recording, &stream, cpu);
    for (uint32_t i = first; i < queue->fragment_first + queue->fragment_count; i++) {
        const struct csp_aux_fragment *fragment = &aux->fragments.data[i];
        if (taken[i - queue->fragment_first] || fragment->raw != raw ||
            (raw && home_of(queue, fragment) != home))
            continue;
        taken[i - queue->fragment_first] = true;
        bytes += fragment->found;
        add_chunks(recording, &stream, i);
    }
    if (stream.source_count && bytes) {
        csp_vec_push(&recording->trace.streams, stream);
        return;
    }
    if (bytes)
        explain(recording, &stream, home, bytes, diag);
    recording->trace.sources.len = stream.source_first;
    csp_vec_free(&stream.chunks);
}

/* Samples do not tell how their trace is stored; an ETE's sink is most often a TRBE, which stores
 * it raw. A ring to which nothing was added since the sample before gives the same snapshot again.
 */
static void make_snapshot_stream(struct csp_recording *recording, uint32_t cpu)
{
    const struct csp_cs_etm_cpu *unit = csp_cs_etm_info_cpu(&recording->aux.cs_etm, cpu);
    struct csp_stream stream = {.source_first = (uint32_t)recording->trace.sources.len};
    const struct csp_sample_trace *last = NULL;
    if (!unit || !can_decode(unit))
        return;
    stream.formatted = unit->unit != CSP_UNIT_ETE;
    stream.name = keep(recording, csp_asprintf("samples of CPU %" PRIu32, cpu));
    if (stream.formatted)
        add_formatted_sources(recording, &stream, cpu);
    else
        add_source(recording, &stream, unit);
    for (size_t i = 0; i < recording->snapshots.len; i++) {
        const struct csp_sample_trace *snapshot = &recording->snapshots.data[i];
        bool same = last && last->size == snapshot->size &&
                    memcmp(last->data, snapshot->data, last->size) == 0;
        if (snapshot->cpu != cpu || same)
            continue;
        last = snapshot;
        struct csp_piece *piece = csp_arena_alloc(&recording->trace.arena, sizeof *piece);
        *piece = (struct csp_piece){snapshot->data, snapshot->size};
        csp_vec_push(&stream.chunks, (struct csp_chunk){.pieces = piece,
                                                        .piece_count = 1,
                                                        .time = snapshot->time,
                                                        .pid = snapshot->pid,
                                                        .tid = snapshot->tid,
                                                        .snapshot = true});
    }
    csp_vec_push(&recording->trace.streams, stream);
}

static void make_snapshot_streams(struct csp_recording *recording)
{
    struct csp_map seen = {0};
    for (size_t i = 0; i < recording->snapshots.len; i++) {
        uint32_t cpu = recording->snapshots.data[i].cpu;
        uint64_t *known = csp_map_at(&seen, cpu);
        if (!*known)
            make_snapshot_stream(recording, cpu);
        *known = 1;
    }
    csp_map_free(&seen);
}

void csp_recording_make_streams(struct csp_recording *recording, struct csp_diag *diag)
{
    const struct csp_auxtrace *aux = &recording->aux;
    if (!aux->has_info || aux->type != CSP_AUXTRACE_CS_ETM)
        return;
    for (size_t i = 0; i < aux->queues.len; i++) {
        const struct csp_aux_queue *queue = &aux->queues.data[i];
        bool *taken = csp_calloc(queue->fragment_count + 1, sizeof *taken);
        for (uint32_t k = 0; k < queue->fragment_count; k++)
            if (!taken[k])
                make_stream(recording, queue, queue->fragment_first + k, taken, diag);
        free(taken);
    }
    make_snapshot_streams(recording);
}
