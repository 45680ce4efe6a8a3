#include "decode/window_key.h"

#include "base/bytes.h"

#include <xxhash.h>

/* Bytes that stand for a timestamp before a section's first atom, and behind it. No other packet
 * begins with them. */
enum { TIME_BEFORE = 0x02, TIME_BEHIND = 0x03 };
/* … and for atoms, with how many there are, and then each's bit: a timestamp within a row of them
 * has the trace unit send them in other packets. */
enum { ATOMS = 0xff, FIRST_ATOMS = 0xc0, ROW_MAX = 40 };

/* Sizes of address packets without context, by header - 0x90: shorter by one where their first byte
 * is the last. */
static const uint8_t address_sizes[16] = {1, 1, 1, 0, 0, 3, 3, 0, 0, 0, 5, 5, 0, 9, 9, 0};

static size_t address_size(const uint8_t *at, const uint8_t *end)
{
    size_t size = *at >= 0x90 && *at <= 0x9f ? address_sizes[*at - 0x90] : 0;
    if (size == 3 && end - at > 1 && !(at[1] & 0x80))
        size = 2;
    return size <= (size_t)(end - at) ? size : 0;
}

static size_t atoms_in_a_row(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *start = at;
    while (end - at >= 8) {
        uint64_t bytes = csp_load64(at);
        uint64_t others = ~(bytes & bytes << 1) & UINT64_C(0x8080808080808080);
        if (others)
            return (size_t)(at - start) + (unsigned)__builtin_ctzll(others) / 8;
        at += 8;
    }
    while (at < end && *at >= FIRST_ATOMS)
        at++;
    return (size_t)(at - start);
}

static bool is_ordinary(enum csp_packet_type type)
{
    switch (type) {
    case CSP_PACKET_ASYNC:
    case CSP_PACKET_TRACE_INFO:
    case CSP_PACKET_TRACE_ON:
    case CSP_PACKET_CONTEXT:
    case CSP_PACKET_ADDRESS_CONTEXT:
    case CSP_PACKET_EXCEPTION:
        return true;
    default:
        return false;
    }
}

struct scan {
    struct csp_window_key *key;
    struct csp_packet_reader *reader;
    const uint8_t *start; /* of all deframed bytes */
    const uint8_t *at, *end;
    uint8_t *out;
    uint64_t row;     /* atoms not written yet … */
    unsigned row_len; /* … so many */
    bool has_atoms;   /* in this section */
    bool has_context; /* of this chunk */
    bool has_address; /* since the last TRACE_ON: else it is not known what atoms are of */
    bool is_timed;    /* a timestamp came behind the section's first atom … */
    bool is_on;       /* there was a TRACE_ON */
    uint64_t time;    /* … the last one */
};

static bool add_time(struct scan *scan, uint8_t what, uint64_t time)
{
    struct csp_window_key *key = scan->key;
    if (key->time_count == CSP_KEY_TIMES)
        return false;
    *scan->out++ = what;
    key->times[key->time_count++] = time;
    return true;
}

static void write_row(struct scan *scan)
{
    if (!scan->row_len)
        return;
    *scan->out++ = ATOMS;
    *scan->out++ = (uint8_t)scan->row_len;
    memcpy(scan->out, &scan->row, sizeof scan->row);
    scan->out += (scan->row_len + 7) / 8;
    scan->key->atoms += scan->row_len;
    scan->row = scan->row_len = 0;
}

/* Rows are as long as can be, whatever packets they came in. */
static void take_atoms(struct scan *scan, size_t size)
{
    for (const uint8_t *end = scan->at + size; scan->at < end; scan->at++) {
        uint64_t atoms = csp_packet_atoms[*scan->at] & 0xffffff;
        unsigned count = csp_packet_atoms[*scan->at] >> 24, room = ROW_MAX - scan->row_len;
        scan->row |= atoms << scan->row_len;
        scan->row_len += count;
        if (count < room)
            continue;
        uint64_t rest = scan->row >> ROW_MAX;
        scan->row &= (UINT64_C(1) << ROW_MAX) - 1;
        scan->row_len = ROW_MAX;
        write_row(scan);
        scan->row = rest;
        scan->row_len = count - room;
    }
}

static void copy(struct scan *scan, size_t size)
{
    write_row(scan);
    memcpy(scan->out, scan->at, size);
    scan->out += size;
    scan->at += size;
}

static bool take_time(struct scan *scan, uint64_t time)
{
    if (!scan->has_atoms)
        return add_time(scan, TIME_BEFORE, time);
    scan->is_timed = true;
    scan->time = time;
    return true;
}

static bool end_section(struct scan *scan)
{
    write_row(scan);
    bool fits = !scan->is_timed || add_time(scan, TIME_BEHIND, scan->time);
    scan->is_timed = scan->has_atoms = false;
    return fits;
}

/* A packet that is neither atoms nor an address. */
static bool take_other(struct scan *scan)
{
    struct csp_packet packet;
    size_t size = csp_packet_read(scan->reader, scan->at, scan->end, &packet);
    if (!size)
        return false;
    if (packet.type == CSP_PACKET_TIMESTAMP) {
        scan->at += size;
        return take_time(scan, packet.timestamp);
    }
    bool is_exception = packet.type == CSP_PACKET_EXCEPTION;
    if (!is_ordinary((enum csp_packet_type)packet.type) || !end_section(scan) ||
        (is_exception && !scan->has_context))
        return false;
    if (packet.type == CSP_PACKET_TRACE_ON && !scan->is_on) {
        size_t frame =
            csp_deframer_frame_of(&scan->key->deframer, (uint32_t)(scan->at - scan->start));
        scan->key->trace_on = frame * CSP_FRAME_SIZE;
        scan->is_on = true;
    }
    scan->has_context |= packet.context.changed;
    scan->has_address = packet.type == CSP_PACKET_TRACE_ON ? false : scan->has_address;
    scan->has_address |= packet.has_address;
    copy(scan, size);
    return true;
}

static bool take_packets(struct scan *scan)
{
    while (scan->at < scan->end) {
        size_t size = atoms_in_a_row(scan->at, scan->end);
        if (size) {
            if (!scan->has_context || !scan->has_address)
                return false;
            scan->has_atoms = true;
            take_atoms(scan, size);
            continue;
        }
        size = address_size(scan->at, scan->end);
        scan->has_address |= size != 0;
        if (size)
            copy(scan, size);
        else if (!take_other(scan))
            return false;
    }
    return end_section(scan);
}

/* The bytes of the only source: all that is not padding must be in one row. */
static const struct csp_deframed_run *only_run(const struct csp_deframer *deframer)
{
    const struct csp_deframed_run *only = NULL;
    for (size_t i = 0; i < deframer->runs.len; i++) {
        const struct csp_deframed_run *run = &deframer->runs.data[i];
        if (run->id == CSP_FRAME_BARRIER || (only && run->id && run->start != run->end))
            return NULL;
        if (run->id && run->start != run->end)
            only = run;
    }
    return only;
}

bool csp_window_key_make(struct csp_window_key *key, struct csp_packet_reader *const readers[128],
                         const uint8_t *data, size_t size, uint64_t context)
{
    if (!size || size % CSP_FRAME_SIZE || size > UINT16_MAX)
        return false;
    csp_deframer_reset(&key->deframer);
    csp_deframe(&key->deframer, data, (uint32_t)(size / CSP_FRAME_SIZE));
    const struct csp_deframed_run *run = only_run(&key->deframer);
    if (!run || run->id >= 128 || !readers[run->id])
        return false;
    key->id = run->id;
    key->time_count = 0;
    key->bytes.len = 0;
    key->atoms = 0;
    /* An atom packet is at most a row of its own. */
    csp_vec_reserve(&key->bytes, 5 * (size_t)(run->end - run->start) + CSP_KEY_TIMES + ROW_MAX);
    struct scan scan = {.key = key,
                        .reader = readers[run->id],
                        .start = key->deframer.bytes.data,
                        .at = key->deframer.bytes.data + run->start,
                        .end = key->deframer.bytes.data + run->end,
                        .out = key->bytes.data};
    csp_packet_reader_reset(scan.reader);
    if (!take_packets(&scan) || !scan.is_on)
        return false;
    key->bytes.len = (size_t)(scan.out - key->bytes.data);
    key->context = context ^ (uint64_t)run->id << 56;
    key->hash = XXH3_64bits_withSeed(key->bytes.data, key->bytes.len, key->context);
    return true;
}

void csp_window_key_free(struct csp_window_key *key)
{
    csp_deframer_free(&key->deframer);
    csp_vec_free(&key->bytes);
}
