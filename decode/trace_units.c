#include "decode/trace_units.h"

#include "decode/trace/native/packet.h"

enum {
    UNIT_BYTES = 1 << 16, /* small enough that what it decodes to stays in the caches */
    ASYNC_ZEROES = 11,
    ASYNC_SIZE = ASYNC_ZEROES + 1,
    LOSS_SIZE = 2, /* of an Overflow or Discard packet */
};

/* ---- enablings ---- */

/* The next A-Sync that begins in [at, end) and ends before `limit`; null without any. */
static const uint8_t *find_async(const uint8_t *at, const uint8_t *end, const uint8_t *limit)
{
    while (at < end && limit - at >= ASYNC_SIZE) {
        const uint8_t *last = at + ASYNC_ZEROES - 1;
        while (last >= at && !*last)
            last--;
        if (last >= at) {
            at = last + 1;
            continue;
        }
        if (at[ASYNC_ZEROES] == 0x80)
            return at;
        at++;
    }
    return NULL;
}

/* Whether an A-Sync at `at` begins an enabling. One that follows lost trace does not: the loss is
 * told when the decoder comes to what follows it. */
static bool is_enabling(struct csp_packet_reader *reader, const uint8_t *start, const uint8_t *at,
                        const uint8_t *limit)
{
    struct csp_packet packet;
    if (at - start >= LOSS_SIZE && !at[-2] && (at[-1] == 3 || at[-1] == 5))
        return false;
    csp_packet_reader_reset(reader);
    for (bool informed = false;;) {
        size_t size = csp_packet_read(reader, at, limit, &packet);
        if (!size)
            return false;
        at += size;
        if (packet.type == CSP_PACKET_TRACE_ON)
            return informed;
        if (packet.type == CSP_PACKET_TRACE_INFO)
            informed = true;
        else if (!csp_packet_is_transparent((enum csp_packet_type)packet.type))
            return false;
    }
}

/* The first enabling that begins in bytes [begin, end) of the unit's chunks and lies within one
 * piece, as far as TRACE_ON; `end` without any. */
static uint64_t find_enabling(const struct csp_stream *stream, const struct csp_trace_unit *unit,
                              const struct csp_trace_config *config, uint64_t begin, uint64_t end)
{
    struct csp_packet_reader reader;
    uint64_t offset = 0;
    csp_packet_reader_init(&reader, config);
    for (uint32_t c = unit->chunk_first; c < unit->chunk_last; c++) {
        const struct csp_chunk *chunk = &stream->chunks.data[c];
        for (size_t p = 0; p < csp_chunk_piece_count(chunk) && offset < end; p++) {
            const struct csp_trace_piece piece = csp_chunk_piece(chunk, p);
            uint64_t from = begin > offset ? begin - offset : 0;
            uint64_t to = end - offset < piece.size ? end - offset : piece.size;
            const uint8_t *at = piece.data + from, *limit = piece.data + piece.size;
            while (from < to && (at = find_async(at, piece.data + to, limit))) {
                if (is_enabling(&reader, piece.data, at, limit))
                    return offset + (uint64_t)(at - piece.data);
                at++;
            }
            offset += piece.size;
        }
    }
    return end;
}

void csp_trace_unit_bounds(const struct csp_trace_input *input, const struct csp_trace_unit *unit,
                           uint64_t *begin, uint64_t *end)
{
    const struct csp_stream *stream = &input->streams.data[unit->stream];
    const struct csp_trace_config *config = &input->sources.data[stream->source_first].config;
    *begin = 0;
    *end = unit->size;
    if (!unit->is_slice)
        return;
    if (!unit->is_first)
        *begin = find_enabling(stream, unit, config, unit->begin, unit->end);
    if (!unit->is_first && *begin == unit->end)
        *end = *begin; /* none of its own */
    else if (unit->end < unit->size)
        *end = find_enabling(stream, unit, config, unit->end, unit->size);
}

/* ---- cutting ---- */

/* Whether what is not committed when the trace unit is turned off never will be: without
 * speculation, nothing is. */
static bool has_enablings(const struct csp_trace_input *input, const struct csp_stream *stream)
{
    return !stream->formatted && stream->source_count == 1 &&
           !input->sources.data[stream->source_first].config.idr8;
}

/* Chunks that continue each other, in slices. */
static void cut_section(const struct csp_stream *stream, struct csp_trace_unit section,
                        csp_trace_units *units)
{
    section.is_slice = section.is_first = true;
    while (section.begin < section.size) {
        uint64_t left = section.size - section.begin, first;
        section.end = section.begin + (left < UNIT_BYTES ? left : UNIT_BYTES);
        csp_vec_push(units, section);
        section.is_first = false;
        section.begin = section.end;
        while (section.begin < section.size &&
               (first = stream->chunks.data[section.chunk_first].size) <= section.begin) {
            section.chunk_first++;
            section.offset += first;
            section.begin -= first;
            section.size -= first;
        }
    }
}

/* Adds the chunks collected, and goes on behind them. */
static void end_unit(struct csp_trace_unit *unit, csp_trace_units *units)
{
    if (unit->size)
        csp_vec_push(units, *unit);
    unit->chunk_first = unit->chunk_last;
    unit->offset += unit->size;
    unit->size = 0;
}

static void cut_stream(const struct csp_trace_input *input, uint32_t number, csp_trace_units *units)
{
    const struct csp_stream *stream = &input->streams.data[number];
    bool can_slice = has_enablings(input, stream);
    struct csp_trace_unit unit = {.stream = number};
    for (uint32_t i = 0; i < stream->chunks.len;) {
        struct csp_trace_unit section = {.stream = number, .chunk_first = i};
        do
            section.size += stream->chunks.data[i++].size;
        while (i < stream->chunks.len && stream->chunks.data[i].continues);
        bool slice = can_slice && section.size >= 2 * UNIT_BYTES;
        if (slice || unit.size + section.size > UNIT_BYTES)
            end_unit(&unit, units);
        unit.chunk_last = i;
        if (slice) {
            section.chunk_last = i;
            section.offset = unit.offset;
            cut_section(stream, section, units);
            unit.chunk_first = i;
            unit.offset += section.size;
        } else {
            unit.size += section.size;
        }
    }
    end_unit(&unit, units);
}

void csp_trace_units_make(const struct csp_trace_input *input, bool whole, csp_trace_units *units)
{
    for (uint32_t i = 0; i < input->streams.len; i++) {
        const struct csp_stream *stream = &input->streams.data[i];
        struct csp_trace_unit unit = {.stream = i, .chunk_last = (uint32_t)stream->chunks.len};
        for (size_t c = 0; whole && c < stream->chunks.len; c++)
            unit.size += stream->chunks.data[c].size;
        if (whole)
            csp_vec_push(units, unit);
        else
            cut_stream(input, i, units);
    }
}
