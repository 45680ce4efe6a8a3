#include "base/big_vec.h"
#include "decode/recording_chunks.h"
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
    const struct csp_cs_etm_info *info = &recording->contents.aux.cs_etm;
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
    const struct csp_cs_etm_cpu *cpu = csp_cs_etm_info_cpu(&recording->contents.aux.cs_etm, home);
    const char *why = "no CPU of the recording has a trace ID";
    if (cpu && !can_decode(cpu))
        why = "its trace unit is neither ETMv4 nor ETE";
    else if (!cpu && home != CSP_NO_TID)
        why = "AUXTRACE_INFO does not describe its CPU";
    csp_warn(diag, "%s: %s: %s; its %" PRIu64 " bytes of trace are skipped", recording->file.path,
             stream->name, why, bytes);
}

/* The CPU that a raw fragment was traced on, or the one that stored a formatted one. */
static uint32_t home_of(const struct csp_aux_queue *queue, const struct csp_aux_fragment *fragment)
{
    return queue->cpu != CSP_NO_TID ? queue->cpu : fragment->cpu;
}

/* "AUX queue 3", or "AUX queues 0 to 3". */
static char *name_of(uint32_t first, uint32_t last)
{
    return first == last ? csp_asprintf("AUX queue %" PRIu32, first)
                         : csp_asprintf("AUX queues %" PRIu32 " to %" PRIu32, first, last);
}

static void make_stream(struct csp_recording *recording, const csp_fragment_list *fragments,
                        struct csp_diag *diag)
{
    const struct csp_auxtrace *aux = &recording->contents.aux;
    const struct csp_aux_fragment *fragment = &aux->fragments.data[fragments->data[0]];
    const struct csp_aux_queue *queue = &aux->queues.data[fragment->queue];
    bool raw = fragment->raw;
    uint32_t home = home_of(queue, fragment);
    struct csp_stream stream = {.formatted = !raw,
                                .source_first = (uint32_t)recording->trace.sources.len};
    struct csp_stream_contents contents =
        csp_stream_fill(&stream, aux, fragments, &recording->trace.arena);
    stream.name = keep(recording, name_of(contents.first_ring, contents.last_ring));
    const struct csp_cs_etm_cpu *cpu = csp_cs_etm_info_cpu(&aux->cs_etm, home);
    if (!raw)
        add_formatted_sources(recording, &stream, home);
    else if (cpu && can_decode(cpu))
        add_source(recording, &stream, cpu);
    if (stream.source_count && contents.bytes) {
        csp_vec_push(&recording->trace.streams, stream);
        return;
    }
    if (contents.bytes)
        explain(recording, &stream, home, contents.bytes, diag);
    recording->trace.sources.len = stream.source_first;
    csp_big_vec_free(&stream.chunks);
}

/* Of one ring: what a sink stores raw, what is in frames, and in a thread's ring each CPU's apart.
 */
static void make_streams_of_ring(struct csp_recording *recording, const struct csp_aux_queue *queue,
                                 bool *taken, struct csp_diag *diag)
{
    const struct csp_aux_fragment *all = recording->contents.aux.fragments.data;
    uint32_t end = queue->fragment_first + queue->fragment_count;
    csp_fragment_list fragments = {0};
    for (uint32_t first = queue->fragment_first; first < end; first++) {
        if (taken[first])
            continue;
        fragments.len = 0;
        for (uint32_t i = first; i < end; i++) {
            if (taken[i] || all[i].raw != all[first].raw ||
                (all[i].raw && home_of(queue, &all[i]) != home_of(queue, &all[first])))
                continue;
            taken[i] = true;
            csp_big_vec_push(&fragments, i);
        }
        make_stream(recording, &fragments, diag);
    }
    csp_big_vec_free(&fragments);
}

/* The sink of a CPU's trace unit; 0: not told. */
static uint32_t sink_of(const struct csp_recording *recording, uint32_t cpu)
{
    const struct csp_cs_etm_cpu *unit = csp_cs_etm_info_cpu(&recording->contents.aux.cs_etm, cpu);
    return unit ? unit->sink_id : 0;
}

/* Whether a trace ID tells the CPU, among those that feed `sink` or may do so. */
static bool ids_are_unique(const struct csp_recording *recording, uint32_t sink)
{
    const struct csp_cs_etm_info *info = &recording->contents.aux.cs_etm;
    bool seen[CSP_TRACE_IDS] = {false};
    for (size_t i = 0; i < info->cpus.len; i++) {
        const struct csp_cs_etm_cpu *cpu = &info->cpus.data[i];
        if (!has_trace_id(cpu) || (sink && cpu->sink_id && cpu->sink_id != sink))
            continue;
        if (seen[cpu->trace_id])
            return false;
        seen[cpu->trace_id] = true;
    }
    return true;
}

static int compare_times(const struct csp_aux_fragment *x, const struct csp_aux_fragment *y)
{
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static int by_time(const void *a, const void *b, void *all)
{
    const struct csp_aux_fragment *fragments = all;
    return compare_times(&fragments[*(const uint32_t *)a], &fragments[*(const uint32_t *)b]);
}

/* Adds all of a ring, of which nothing needs to be looked at. */
static void add_by_time(const struct csp_auxtrace *aux, const struct csp_aux_queue *queue,
                        csp_fragment_list *list, bool *in_order)
{
    const struct csp_aux_fragment *all = aux->fragments.data;
    uint32_t first = queue->fragment_first;
    *in_order &= !list->len || compare_times(&all[list->data[list->len - 1]], &all[first]) <= 0;
    for (uint32_t i = 0; i < queue->fragment_count; i++)
        list->data[list->len++] = first + i;
}

/* Adds what is in frames of a ring; false when some of it has no time. `*in_order`: by time all
 * are, as most often, when they are one CPU's. */
static bool add_formatted(const struct csp_auxtrace *aux, const struct csp_aux_queue *queue,
                          csp_fragment_list *list, bool *in_order)
{
    const struct csp_aux_fragment *all = aux->fragments.data;
    bool timed = true;
    csp_big_vec_reserve(list, queue->fragment_count);
    if (queue->is_by_time) {
        add_by_time(aux, queue, list, in_order);
        return true;
    }
    for (uint32_t i = 0; i < queue->fragment_count; i++) {
        uint32_t number = queue->fragment_first + i;
        if (all[number].raw)
            continue;
        timed &= all[number].time != 0;
        *in_order &=
            !list->len || compare_times(&all[list->data[list->len - 1]], &all[number]) <= 0;
        list->data[list->len++] = number;
    }
    return timed;
}

/* CPUs that share an ETR announce its trace each in the ring of the CPU that emptied it, so a CPU's
 * trace may be in several rings. All the rings of one sink are one stream, in the order in which
 * the sink was emptied. */
static void make_stream_of_sink(struct csp_recording *recording, uint32_t sink, bool *taken,
                                struct csp_diag *diag)
{
    const struct csp_auxtrace *aux = &recording->contents.aux;
    csp_fragment_list fragments = {0};
    bool timed = true, in_order = true;
    for (size_t q = 0; q < aux->queues.len; q++) {
        const struct csp_aux_queue *queue = &aux->queues.data[q];
        if (queue->cpu != CSP_NO_TID && sink_of(recording, queue->cpu) == sink)
            timed &= add_formatted(aux, queue, &fragments, &in_order);
    }
    if (fragments.len && timed && ids_are_unique(recording, sink)) {
        if (!in_order)
            qsort_r(fragments.data, fragments.len, sizeof *fragments.data, by_time,
                    aux->fragments.data);
        for (size_t i = 0; i < fragments.len; i++)
            taken[fragments.data[i]] = true;
        make_stream(recording, &fragments, diag);
    }
    csp_big_vec_free(&fragments);
}

static void make_streams_of_sinks(struct csp_recording *recording, bool *taken,
                                  struct csp_diag *diag)
{
    const struct csp_auxtrace *aux = &recording->contents.aux;
    struct csp_map seen = {0};
    for (size_t i = 0; i < aux->queues.len; i++) {
        uint32_t sink = sink_of(recording, aux->queues.data[i].cpu);
        uint64_t *known = csp_map_at(&seen, sink);
        if (!*known)
            make_stream_of_sink(recording, sink, taken, diag);
        *known = 1;
    }
    csp_map_free(&seen);
}

/* Samples do not tell how their trace is stored; an ETE's sink is most often a TRBE, which stores
 * it raw. A ring to which nothing was added since the sample before gives the same snapshot again.
 */
static void make_snapshot_stream(struct csp_recording *recording, uint32_t cpu)
{
    const struct csp_cs_etm_cpu *unit = csp_cs_etm_info_cpu(&recording->contents.aux.cs_etm, cpu);
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
    for (size_t i = 0; i < recording->contents.snapshots.len; i++) {
        const struct csp_sample_trace *snapshot = &recording->contents.snapshots.data[i];
        bool same = last && last->size == snapshot->size &&
                    memcmp(last->data, snapshot->data, last->size) == 0;
        if (snapshot->cpu != cpu || same)
            continue;
        uint64_t since = last ? last->time : 0;
        last = snapshot;
        csp_big_vec_push(&stream.chunks, (struct csp_chunk){.data = snapshot->data,
                                                            .size = snapshot->size,
                                                            .time = snapshot->time,
                                                            .since = since,
                                                            .pid = snapshot->pid,
                                                            .tid = snapshot->tid,
                                                            .snapshot = true});
    }
    csp_vec_push(&recording->trace.streams, stream);
}

static void make_snapshot_streams(struct csp_recording *recording)
{
    struct csp_map seen = {0};
    for (size_t i = 0; i < recording->contents.snapshots.len; i++) {
        uint32_t cpu = recording->contents.snapshots.data[i].cpu;
        uint64_t *known = csp_map_at(&seen, cpu);
        if (!*known)
            make_snapshot_stream(recording, cpu);
        *known = 1;
    }
    csp_map_free(&seen);
}

void csp_recording_make_streams(struct csp_recording *recording, struct csp_diag *diag)
{
    struct csp_auxtrace *aux = &recording->contents.aux;
    if (!aux->has_info || aux->type != CSP_AUXTRACE_CS_ETM)
        return;
    bool *taken = csp_calloc(aux->fragments.len + 1, sizeof *taken);
    make_streams_of_sinks(recording, taken, diag);
    for (size_t i = 0; i < aux->queues.len; i++)
        make_streams_of_ring(recording, &aux->queues.data[i], taken, diag);
    free(taken);
    csp_auxtrace_forget(aux);
    make_snapshot_streams(recording);
}
