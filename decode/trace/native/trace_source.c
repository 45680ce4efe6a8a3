#include "decode/trace/native/trace_source.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { ASYNC_ZEROES = 11, ASYNC_END = 0x80 };

struct piece {
    const uint8_t *start, *end;
    csp_offset_fn *offset_of;
    const void *user;
};

void csp_trace_source_init(struct csp_trace_source *source, const struct csp_trace_config *config,
                           uint8_t number, const struct csp_code_memory *code,
                           struct csp_element_batch *out, struct csp_segments *segments)
{
    *source = (struct csp_trace_source){.state = CSP_SOURCE_UNSYNCED, .segments = segments};
    csp_packet_reader_init(&source->reader, config);
    csp_resolver_init(&source->resolver, config, number, code, out);
}

void csp_trace_source_free(struct csp_trace_source *source)
{
    csp_resolver_free(&source->resolver);
}

static uint64_t offset_at(const struct piece *piece, const uint8_t *at)
{
    return piece->offset_of(piece->user, (size_t)(at - piece->start));
}

static void lose_sync(struct csp_trace_source *source)
{
    source->state = CSP_SOURCE_UNSYNCED;
    source->zeroes = 0;
    csp_resolver_reset(&source->resolver);
}

static void tell_loss(struct csp_trace_source *source)
{
    csp_element_batch_add(source->resolver.walker.out, (enum csp_element_type)source->lost_by,
                          source->resolver.walker.source);
    source->lost_by = 0;
}

static void take_bad(struct csp_trace_source *source, uint64_t offset)
{
    source->bad_packets++;
    lose_sync(source);
    csp_element_batch_add(source->resolver.walker.out, CSP_ELEMENT_BAD,
                          source->resolver.walker.source)
        ->a = offset;
}

/* Searches for an A-Sync, of which the beginning may have been in the piece before. Returns what is
 * behind it. */
static const uint8_t *synchronise(struct csp_trace_source *source, const uint8_t *at,
                                  const uint8_t *end)
{
    const uint8_t *start = at;
    while (at < end) {
        uint8_t byte = *at++;
        if (byte == 0) {
            source->zeroes++;
            continue;
        }
        if (byte != ASYNC_END || source->zeroes < ASYNC_ZEROES) {
            source->zeroes = 0;
            continue;
        }
        source->zeroes = 0;
        source->state = CSP_SOURCE_WAITS_INFO;
        csp_packet_reader_reset(&source->reader);
        break;
    }
    source->lost_bytes += (size_t)(at - start);
    if (source->state == CSP_SOURCE_WAITS_INFO) /* the A-Sync itself is none */
        source->lost_bytes -=
            source->lost_bytes < ASYNC_ZEROES + 1 ? source->lost_bytes : ASYNC_ZEROES + 1;
    return at;
}

/* How most windows begin, when an atom follows at once. Returns where that is, or null when it is
 * anything else, of which nothing was taken then. */
static const uint8_t *enter_window(struct csp_trace_source *source, const uint8_t *at,
                                   const uint8_t *end, const struct piece *piece)
{
    struct csp_window_start start;
    if (source->zeroes || source->resolver.depth_max)
        return NULL;
    size_t size = csp_window_read_opening(&source->opening, &source->reader, at, end);
    if (!size)
        return NULL;
    const uint8_t *on = at + size - 1, *behind = at + size;
    size = csp_window_read_start(&source->reader, behind, end, &start);
    behind += size;
    if (!size || behind == end || !csp_packet_atoms[*behind])
        return NULL;
    csp_resolver_enter(&source->resolver, offset_at(piece, on), &start);
    source->state = CSP_SOURCE_DECODES;
    return behind;
}

/* How most windows end: an exception and its address, and behind them nothing that matters if that
 * was all. As enter_window. */
static const uint8_t *leave_window(struct csp_trace_source *source, const uint8_t *at,
                                   const uint8_t *end, const struct piece *piece)
{
    struct csp_window_exception exception;
    size_t size = csp_window_read_exception(&source->reader, at, end, &exception);
    if (!size)
        return NULL;
    at += size;
    if (!csp_resolver_take_exception(&source->resolver, &exception)) {
        take_bad(source, offset_at(piece, at - size + 2));
        return at;
    }
    if (!csp_window_is_closing(&source->reader, at, end))
        return at;
    source->closing_size = (size_t)(end - at);
    memcpy(source->closing, at, source->closing_size);
    return end;
}

/* Takes the packet at `at`. Where that is in the trace, is asked of few. */
static void take_packet(struct csp_trace_source *source, const struct csp_packet *packet,
                        const struct piece *piece, const uint8_t *at)
{
    struct csp_resolver *resolver = &source->resolver;
    uint64_t offset = 0;
    if (packet->type == CSP_PACKET_TRACE_ON)
        offset = offset_at(piece, at);
    if (packet->type == CSP_PACKET_BAD) {
        take_bad(source, offset_at(piece, at));
        return;
    }
    if (source->state == CSP_SOURCE_WAITS_INFO) {
        if (packet->type != CSP_PACKET_TRACE_INFO)
            return;
        if (csp_resolver_begin(resolver, packet))
            source->state = CSP_SOURCE_DECODES;
        else
            take_bad(source, offset_at(piece, at));
        return;
    }
    if (packet->type == CSP_PACKET_DISCARD || packet->type == CSP_PACKET_OVERFLOW) {
        csp_resolver_discard(resolver);
        lose_sync(source);
        source->lost_by =
            packet->type == CSP_PACKET_DISCARD ? CSP_ELEMENT_DISCARD : CSP_ELEMENT_OVERFLOW;
        return;
    }
    if (!csp_resolver_take(resolver, packet, offset))
        take_bad(source, offset_at(piece, at));
}

/* A timestamp that an atom follows at once; returns its size, else 0. */
static size_t take_timestamp(struct csp_trace_source *source, const uint8_t *at, const uint8_t *end)
{
    struct csp_packet packet;
    uint64_t before = source->reader.timestamp;
    size_t size = csp_packet_read(&source->reader, at, end, &packet);
    if (size && packet.type == CSP_PACKET_TIMESTAMP && at + size < end &&
        csp_packet_atoms[at[size]]) {
        csp_resolver_take_timestamp(&source->resolver, packet.timestamp);
        return size;
    }
    source->reader.timestamp = before; /* it is read again */
    return 0;
}

/* Whether it begins atoms or an address. */
static bool is_for_segments(uint8_t header)
{
    return csp_packet_atoms[header] || (header >= 0x90 && header <= 0x9e);
}

/* Atoms and addresses, nearly all there is, straight to the walker, and timestamps between them.
 * Returns where another packet begins, or one that is not complete. */
static const uint8_t *take_direct(struct csp_trace_source *source, const uint8_t *at,
                                  const uint8_t *end, const struct piece *piece)
{
    struct csp_resolver *resolver = &source->resolver;
    struct csp_walker *walker = &resolver->walker;
    struct csp_packet packet;
    while (at < end) {
        const uint8_t *behind = at;
        if (is_for_segments(*at))
            behind = csp_segments_take(source->segments, walker, &source->reader,
                                       !resolver->timestamps_need_a_marker, at, end);
        if (behind != at) {
            resolver->isa = 0;
            resolver->synced = false;
            at = behind;
            continue;
        }
        size_t size = 1;
        uint32_t atoms = csp_packet_atoms[*at];
        if (*at == CSP_HEADER_TIMESTAMP) {
            size = take_timestamp(source, at, end);
            if (!size)
                break;
        } else if (atoms) {
            resolver->synced = false;
            if (!csp_walker_atoms(walker, atoms & 0xffffff, atoms >> 24)) {
                take_bad(source, offset_at(piece, at));
                return at + 1;
            }
        } else {
            if (*at < 0x90 || *at > 0x9e)
                break;
            size = csp_packet_read(&source->reader, at, end, &packet);
            if (!size || packet.type != CSP_PACKET_ADDRESS)
                break;
            resolver->synced = false;
            resolver->isa = packet.isa;
            csp_walker_jump(walker, packet.address, packet.isa);
        }
        at += size;
    }
    return at;
}

/* Returns where the first packet begins that is not complete. */
static const uint8_t *take_packets(struct csp_trace_source *source, const uint8_t *at,
                                   const uint8_t *end, const struct piece *piece)
{
    struct csp_packet packet;
    while (at < end) {
        if (source->lost_by)
            tell_loss(source);
        const uint8_t *behind;
        if (source->state == CSP_SOURCE_UNSYNCED) {
            behind = enter_window(source, at, end, piece);
            at = behind ? behind : synchronise(source, at, end);
            continue;
        }
        if (source->state == CSP_SOURCE_DECODES && csp_resolver_is_direct(&source->resolver)) {
            at = take_direct(source, at, end, piece);
            if (source->state != CSP_SOURCE_DECODES)
                continue;
            behind = leave_window(source, at, end, piece);
            if (behind) {
                at = behind;
                continue;
            }
        }
        size_t size = csp_packet_read(&source->reader, at, end, &packet);
        if (!size)
            break;
        take_packet(source, &packet, piece, at);
        at += size;
    }
    return at;
}

static uint64_t offset_of_carry(const void *user, size_t position)
{
    const struct csp_trace_source *source = user;
    return source->carried_at + position; /* which is 0 */
}

/* Completes the packet whose beginning was carried over; returns where the next one begins. */
static const uint8_t *finish_carried(struct csp_trace_source *source, const struct piece *piece)
{
    size_t room = sizeof source->carry - source->carried;
    size_t added = (size_t)(piece->end - piece->start);
    if (added > room)
        added = room;
    memcpy(source->carry + source->carried, piece->start, added);
    struct csp_packet packet;
    size_t carried = source->carried;
    size_t size =
        csp_packet_read(&source->reader, source->carry, source->carry + carried + added, &packet);
    if (!size) { /* still incomplete; a packet is never longer than the room */
        source->carried += added;
        return piece->end;
    }
    source->carried = 0;
    struct piece carry = {source->carry, source->carry + carried, offset_of_carry, source};
    take_packet(source, &packet, &carry, source->carry);
    return piece->start + (size - carried);
}

/* The window goes on. None of its packets is asked where it is. */
static void reopen(struct csp_trace_source *source)
{
    const uint8_t *end = source->closing + source->closing_size;
    struct piece piece = {source->closing, end, offset_of_carry, source};
    source->closing_size = 0;
    take_packets(source, source->closing, end, &piece);
}

void csp_trace_source_feed(struct csp_trace_source *source, const uint8_t *data, size_t size,
                           csp_offset_fn *offset_of, const void *user)
{
    struct piece piece = {data, data + size, offset_of, user};
    const uint8_t *at = data;
    if (source->closing_size)
        reopen(source);
    if (source->carried)
        at = finish_carried(source, &piece);
    if (source->carried)
        return;
    at = take_packets(source, at, piece.end, &piece);
    if (at == piece.end)
        return;
    source->carried = (size_t)(piece.end - at);
    source->carried_at = offset_at(&piece, at);
    memcpy(source->carry, at, source->carried);
}

void csp_trace_source_end(struct csp_trace_source *source)
{
    source->lost_bytes += source->carried; /* a packet that was cut off */
    source->carried = 0;
    if (source->closing_size)
        csp_resolver_take_timestamp(&source->resolver, source->reader.timestamp);
    source->closing_size = 0;
    if (source->state == CSP_SOURCE_DECODES)
        csp_resolver_end(&source->resolver);
    source->state = CSP_SOURCE_UNSYNCED;
    source->zeroes = 0;
    source->lost_by = 0;
    csp_packet_reader_reset(&source->reader);
}
