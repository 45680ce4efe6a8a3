/* Gathering a stretch (segments.h): which segments it has, and where they may be remembered.
 * Included by segments_take.h, once for each build. */
#include "decode/trace/native/packet_bits.h"
#include "decode/trace/native/segments.h"

/* ---- reading bytes ---- */

/* As many bytes as the processor takes at once. */
#ifdef __AVX2__
enum { ROW = 32 };
#else
enum { ROW = 16 };
#endif
_Static_assert(CSP_TRACE_ROW % ROW == 0, "room");

typedef uint8_t row __attribute__((vector_size(ROW), aligned(1), may_alias));
typedef int8_t truths __attribute__((vector_size(ROW), aligned(1), may_alias));
typedef uint64_t row_words __attribute__((vector_size(ROW), aligned(1), may_alias));

static INLINE row *row_at(uint8_t *bytes, uint32_t at)
{
    return (row *)(bytes + at);
}

/* The bytes from `count` on of a row and the one behind it. */
#ifdef __AVX2__
#define FROM(count, low, high)                                                                     \
    ((row)_mm256_alignr_epi8(_mm256_permute2x128_si256((__m256i)(low), (__m256i)(high), 0x21),     \
                             (__m256i)(low), count))
#else
#define FROM(count, low, high)                                                                     \
    ((row)((row_words)(low) >> 8 * (count) |                                                       \
           __builtin_shufflevector((row_words)(low), (row_words)(high), 1, 2)                      \
               << (64 - 8 * (count))))
#endif

/* Of a row, for each byte. */
struct headers {
    row atoms, sizes;
};

/* What each byte alone begins: an atom packet, or an address packet of so many bytes, which are
 * those that address_forms.h has. Of `next`, the bytes behind each, none but the highest bits
 * count. */
static INLINE struct headers read_headers(row byte, row next)
{
    row goes_on = (row)((truths)next < 0); /* as a number: -1 */
    return (struct headers){.atoms = (row)((byte & 0xc0) == 0xc0) & 1,
                            .sizes = ((row)(byte - 0x90 <= 2) & 1) |
                                     ((row)(byte == 0x95) & (2 - goes_on)) |
                                     ((row)(byte == 0x9a) & 5) | ((row)(byte == 0x9d) & 9)};
}

/* Where `count` atom packets are known to be in a row, `count` bytes further on it is known how
 * many more there are, and what is behind them. */
#define DOUBLE_ATOMS(count, low, high)                                                             \
    (struct headers)                                                                               \
    {                                                                                              \
        .atoms = (low).atoms +                                                                     \
                 ((row)((low).atoms == (count)) & FROM(count, (low).atoms, (high).atoms)),         \
        .sizes = (low).sizes |                                                                     \
                 ((row)((low).atoms == (count)) & FROM(count, (low).sizes, (high).sizes)),         \
    }

/* For each byte of a row, how many there are from it on. */
static INLINE row left_in_row(uint32_t left)
{
    row numbers;
    for (unsigned i = 0; i < ROW; i++)
        numbers[i] = (uint8_t)i;
    return (uint8_t)left - numbers;
}

/* Has the last of the bytes in their place, and zeroes behind them. */
static INLINE void copy_last(struct csp_segment_trace *trace, const uint8_t *at, uint32_t size)
{
    if (size >= ROW)
        *row_at(trace->bytes, size - ROW) = *(const row *)(at + size - ROW);
    else
        memcpy(trace->bytes, at, size);
    for (uint32_t i = 0; i < 2 * CSP_TRACE_ROW; i += ROW)
        *row_at(trace->bytes, size + i) = (row){0};
}

/* Finds out what begins at each byte, whether a packet begins there or not: of all at once that is
 * less than of one packet after the other, as each of those waits for the one before. Rows are read
 * from the last one on, and what is known of one kept for the one before it: stored and loaded
 * again elsewhere in the row, it would have to be waited for. */
static INLINE void read_trace(struct csp_segment_trace *trace, const uint8_t *at, uint32_t size)
{
    const struct headers none = {{0}, {0}};
    struct headers once = none, twice = none, four_times = none; /* of the row behind */
    row behind = {0};
    uint32_t start = size / ROW * ROW;
    row left = left_in_row(size - start), left_before = left + ROW;
    copy_last(trace, at, size);
    row byte = *row_at(trace->bytes, start);
    _Static_assert(CSP_SEGMENT_PACKETS == 8, "three times");
    for (;;) {
        struct headers first = read_headers(byte, FROM(1, byte, behind));
        first.sizes &= (row)(first.sizes <= left); /* it is there as a whole */
        struct headers second = DOUBLE_ATOMS(1, first, once);
        struct headers third = DOUBLE_ATOMS(2, second, twice);
        struct headers all = DOUBLE_ATOMS(4, third, four_times);
        *row_at(trace->atoms, start) = all.atoms;
        *row_at(trace->sizes, start) = all.sizes;
        *row_at(trace->steps, start) = all.atoms + all.sizes;
        if (!start)
            break;
        start -= ROW;
        behind = byte;
        byte = *(const row *)(at + start);
        *row_at(trace->bytes, start) = byte;
        once = first, twice = second, four_times = third;
        left = left_before, left_before = (row){0} - 1;
    }
}

/* Of what begins at a byte of the trace. */
static INLINE unsigned atoms_at(const uint8_t *byte)
{
    return byte[offsetof(struct csp_segment_trace, atoms)];
}

static INLINE unsigned size_at(const uint8_t *byte)
{
    return byte[offsetof(struct csp_segment_trace, sizes)];
}

static INLINE unsigned step_at(const uint8_t *byte)
{
    return byte[offsetof(struct csp_segment_trace, steps)];
}

_Static_assert(offsetof(struct csp_segment_trace, bytes) == 0, "the bytes are what is pointed at");

/* ---- gathering ---- */

/* What of a stretch is in registers while it is gathered. */
struct gathering {
    const uint8_t *at;
    struct csp_region_words words;  /* of the region in force */
    csp_segment_start first;        /* where one begins at the first of them */
    csp_segment_start start;        /* where the next one begins */
    const struct csp_region *other; /* the region before */
    struct csp_segment_key *key;
    uint64_t *newest; /* address */
};

/* The lowest of eight bytes, but for none. */
static INLINE uint64_t low_bytes(uint64_t bytes, unsigned count)
{
#ifdef __BMI2__
    return _bzhi_u64(bytes, 8 * count);
#else
    return bytes & UINT64_MAX >> (64 - 8 * count);
#endif
}

static INLINE bool is_atoms(uint8_t header)
{
    return (header & 0xc0) == 0xc0;
}

/* Behind what was read so far a segment may begin. */
static INLINE void begin_segment(const struct gathering *gathering)
{
    gathering->key->at = gathering->at;
    gathering->key->newest = gathering->newest;
}

static INLINE void add_segment(struct csp_segments *segments, struct gathering *gathering,
                               uint64_t packets, bool sums_up)
{
    struct csp_segment_key *key = gathering->key++;
    key->packets = packets;
    key->start = gathering->start;
    key->link = CSP_BLOCK_INDIRECT;
    key->segment = csp_segment_at(segments, csp_segment_place(key), sums_up);
    __builtin_prefetch(key->segment);
    if (!sums_up) /* what is told of it goes on in the next line */
        __builtin_prefetch((const char *)key->segment + 64);
}

static INLINE uint32_t keys_of(const struct csp_segments *segments,
                               const struct gathering *gathering)
{
    return (uint32_t)(gathering->key - segments->keys);
}

static INLINE void enter_region(const struct csp_walker *walker, struct gathering *gathering,
                                const struct csp_region *region)
{
    gathering->words = region->words;
    gathering->first = csp_segment_start_at(walker, region->number, region->words.first);
}

/* An address outside of the region in force begins another leg, most often in the region before.
 * False when it ends the stretch, because what is there has to be asked for. */
static INLINE bool change_leg(struct csp_segments *segments, const struct csp_walker *walker,
                              struct gathering *gathering, uint64_t address)
{
    const struct csp_region *region = gathering->other;
    if (!csp_region_holds(region, address))
        region = csp_regions_find(&walker->regions, address);
    if (!region || segments->leg_count == CSP_STRETCH_LEGS || region->number >= CSP_SEGMENT_REGIONS)
        return false;
    uint64_t word = csp_region_word(&region->words, address);
    if (word >= region->words.count)
        return false;
    gathering->other = &walker->regions.met.data[csp_segment_region(gathering->first)];
    enter_region(walker, gathering, region);
    gathering->start = gathering->first + word;
    segments->legs[segments->leg_count - 1].end = keys_of(segments, gathering);
    segments->legs[segments->leg_count++].region = region->number;
    return true;
}

/* Whether segments can begin at this address. */
static INLINE bool go_to(struct csp_segments *segments, const struct csp_walker *walker,
                         struct gathering *gathering, uint64_t address)
{
    uint64_t word = csp_region_word(&gathering->words, address);
    gathering->start = gathering->first + word;
    if (UNLIKELY(word >= gathering->words.count))
        return change_leg(segments, walker, gathering, address);
    return true;
}

/* The region that execution was in before, if it is known to be there now. */
static INLINE const struct csp_region *region_before(const struct csp_regions *regions)
{
    bool is_current = csp_region_is_current(regions, regions->left);
    return &regions->met.data[is_current ? regions->left : 0];
}

/* The size of a timestamp that atoms follow; 0 where it is not taken. Nine bytes are there. */
static __attribute__((noinline)) size_t take_stamp(struct csp_segments *segments, uint64_t before,
                                                   const uint8_t *at, const uint8_t *end,
                                                   uint32_t keys)
{
    const uint64_t goes_on = UINT64_C(1) << 63; /* one of 64 bits has a ninth byte */
    uint64_t bytes = csp_load64(at + 1), first = bytes & ~goes_on;
    struct csp_cursor cursor = csp_cursor(&first, sizeof first);
    struct csp_short_leb low = csp_cursor_short_leb(&cursor);
    bool is_whole = low.bits == 64 && bytes & goes_on;
    unsigned count = segments->stamp_count, bits = low.bits / 8 * 7;
    size_t size = 1 + low.bits / 8 + is_whole;
    if (!keys || count == CSP_STRETCH_STAMPS || (size_t)(end - at) <= size || !is_atoms(at[size]))
        return 0;
    before = count ? segments->stamps[count - 1].value : before;
    before = is_whole ? (uint64_t)at[9] << bits : before >> bits << bits;
    segments->stamps[count] = (struct csp_segment_stamp){before | low.value, keys};
    segments->stamp_count++;
    return size;
}

/* The address that a packet tells. */
static INLINE uint64_t read_address(const uint8_t *packet, const uint64_t *newest)
{
    const struct address_form *form =
        &address_forms.forms[address_forms.numbers[header_at(csp_load64(packet))]];
    uint64_t value = take_bits(csp_load64(packet + 1), form->taken) << 2;
    return (newest[-(ptrdiff_t)form->history] & ~form->replaced) | value;
}

/* Takes what is neither atoms nor an address that is there as a whole. False where the stretch
 * ends. */
static INLINE bool take_other(struct csp_segments *segments, struct gathering *gathering,
                              const struct csp_packet_reader *reader, bool takes_stamps,
                              unsigned atoms, const uint8_t *end)
{
    uint32_t keys = keys_of(segments, gathering);
    size_t stamp = 0;
    begin_segment(gathering);
    if (*gathering->at == CSP_HEADER_TIMESTAMP && takes_stamps)
        stamp = take_stamp(segments, reader->timestamp, gathering->at, end, keys);
    if (!stamp && atoms != CSP_SEGMENT_PACKETS)
        return false;
    gathering->at += stamp;
    if (atoms) {
        gathering->start = csp_segment_at_block(gathering->first, 0);
        segments->continuing[segments->continuing_count++] = keys;
    }
    begin_segment(gathering);
    return true;
}

/* Gathers segments up to a packet that is neither atoms nor an address, or an address where no
 * segment can begin, or as many bytes as are taken at once. More atom packets than are taken at
 * once are several segments. */
static INLINE void gather(struct csp_segments *segments, const struct csp_walker *walker,
                          uint32_t word, const struct csp_packet_reader *reader, bool takes_stamps,
                          bool sums_up, const uint8_t *at, const uint8_t *end)
{
    uint32_t size = end - at < CSP_STRETCH_BYTES ? (uint32_t)(end - at) : CSP_STRETCH_BYTES;
    bool is_all = end - at == size;
    struct gathering gathering = {
        .at = segments->trace.bytes,
        .start = csp_segment_start_at(walker, walker->region.number, word),
        .other = region_before(&walker->regions),
        .key = segments->keys,
        .newest = &segments->addresses[CSP_STRETCH_OLD - 1],
    };
    read_trace(&segments->trace, at, size);
    end = segments->trace.bytes + size;
    const uint8_t *cut = is_all ? NULL : end; /* behind which more atoms may follow */
    enter_region(walker, &gathering, &walker->region);
    segments->legs[0].region = walker->region.number;
    segments->leg_count = 1;
    segments->stamp_count = 0;
    segments->continuing_count = 0;
    for (unsigned i = 0; i < CSP_STRETCH_OLD; i++)
        segments->addresses[i] = reader->history[CSP_STRETCH_OLD - 1 - i].value;
    begin_segment(&gathering);
    for (;;) {
        unsigned atoms = atoms_at(gathering.at), packet_size = size_at(gathering.at);
        uint64_t bytes = csp_load64(gathering.at);
        const uint8_t *behind = gathering.at + step_at(gathering.at);
        gathering.at += atoms;
        if (UNLIKELY(gathering.at == cut))
            break;
        if (atoms)
            add_segment(segments, &gathering, low_bytes(bytes, atoms), sums_up);
        if (UNLIKELY(!packet_size)) {
            if (!take_other(segments, &gathering, reader, takes_stamps, atoms, end))
                break;
            continue;
        }
        uint64_t address = read_address(gathering.at, gathering.newest);
        *++gathering.newest = address;
        gathering.at = behind;
        begin_segment(&gathering);
        if (UNLIKELY(!go_to(segments, walker, &gathering, address)))
            break;
    }
    segments->key_count = keys_of(segments, &gathering);
    segments->legs[segments->leg_count - 1].end = segments->key_count;
}
