/* The body of csp_segments_take (segments.h): compiled for any processor, and once more for newer
 * ones. The includer defines CSP_SEGMENTS_TAKE, the name of its function. */
#include "decode/trace/native/express_bits.h"
#include "decode/trace/native/segments.h"

enum { OLD = CSP_STRETCH_OLD };
static const csp_segment_start region_bits = (csp_segment_start)UINT32_MAX << 32;

/* ---- gathering ---- */

/* What of a stretch is in registers while it is gathered. */
struct gathering {
    const uint8_t *begin, *at;
    struct words words;      /* of the region in force */
    csp_segment_start start; /* of the next segment */
    uint32_t keys, addresses;
};

/* The lowest `bits` of a number. */
static INLINE uint64_t low_bits(uint64_t number, unsigned bits)
{
#ifdef __BMI2__
    return _bzhi_u64(number, bits);
#else
    return number & ((UINT64_C(1) << bits) - 1);
#endif
}

static INLINE bool is_atoms(unsigned header)
{
    return (header & 0xc0) == 0xc0;
}

/* Behind what was read so far a segment may begin. */
static INLINE void begin_segment(struct csp_segments *segments, const struct gathering *gathering)
{
    struct csp_segment_key *key = &segments->keys[gathering->keys];
    key->at = (uint32_t)(gathering->at - gathering->begin);
    key->addresses = gathering->addresses;
}

static INLINE void add_segment(struct csp_segments *segments, struct gathering *gathering,
                               uint64_t packets)
{
    struct csp_segment_key *key = &segments->keys[gathering->keys++];
    key->packets = packets;
    key->start = gathering->start;
    key->place = csp_segment_place(key->start, packets);
    __builtin_prefetch(&segments->segments[key->place]);
}

/* An address outside of the region in force begins another leg. False when it ends the stretch,
 * because what is there has to be asked for. */
static __attribute__((noinline)) bool change_leg(struct csp_segments *segments,
                                                 const struct csp_regions *regions,
                                                 uint64_t address, uint32_t keys)
{
    const struct csp_region *region = csp_regions_find(regions, address);
    if (!region || !region->table || segments->leg_count == CSP_STRETCH_LEGS)
        return false;
    segments->legs[segments->leg_count - 1].end = keys;
    segments->legs[segments->leg_count++].region = region->number;
    return true;
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
    if (!keys || count == CSP_STRETCH_STAMPS || !segments->takes_stamps ||
        (size_t)(end - at) <= size || !is_atoms(at[size]))
        return 0;
    before = count ? segments->stamps[count - 1].value : before;
    before = is_whole ? (uint64_t)at[9] << bits : before >> bits << bits;
    segments->stamps[count] = (struct csp_segment_stamp){before | low.value, keys};
    segments->stamp_count++;
    return size;
}

/* Whether segments can begin at this address. */
static INLINE bool go_to(struct csp_segments *segments, const struct csp_regions *regions,
                         struct gathering *gathering, uint64_t address)
{
    for (bool is_changed = false;; is_changed = true) {
        uint64_t offset = address - gathering->words.base, word = offset >> 2 | offset << 62;
        gathering->start = (gathering->start & region_bits) | (uint32_t)word;
        if (!UNLIKELY(word - gathering->words.first >= gathering->words.count))
            return true;
        if (is_changed || !change_leg(segments, regions, address, gathering->keys))
            return false;
        uint32_t region = segments->legs[segments->leg_count - 1].region;
        gathering->words = words_of(&regions->met.data[region]);
        gathering->start = (csp_segment_start)region << 32;
    }
}

/* Gathers segments up to a packet that is neither atoms nor an address, or an address where no
 * segment can begin. More atom packets than are taken at once are several segments. */
static INLINE void gather(struct csp_segments *segments, const struct csp_walker *walker,
                          uint32_t word, const struct csp_packet_reader *reader, const uint8_t *at,
                          const uint8_t *end)
{
    struct gathering gathering = {.begin = at,
                                  .at = at,
                                  .words = words_of(&walker->region),
                                  .start = (csp_segment_start)walker->region.number << 32 | word};
    segments->legs[0].region = walker->region.number;
    segments->leg_count = 1;
    segments->stamp_count = 0;
    for (unsigned i = 0; i < OLD; i++)
        segments->addresses[i] = reader->history[OLD - 1 - i].value;
    begin_segment(segments, &gathering);
    /* Each step takes a segment, an address or both, at most. */
    for (unsigned left = CSP_STRETCH_SEGMENTS; left && end - gathering.at >= MARGIN; left--) {
        uint64_t bytes = csp_load64(gathering.at);
        unsigned bits = first_other(bytes);
        gathering.at += bits / 8;
        if (bits)
            add_segment(segments, &gathering, low_bits(bytes, bits));
        unsigned header = header_at(bytes >> bits);
        unsigned size = tables.sizes[header];
        if (!size) {
            if (bits)
                begin_segment(segments, &gathering);
            size_t stamp =
                (header & 0xff) == CSP_HEADER_TIMESTAMP
                    ? take_stamp(segments, reader->timestamp, gathering.at, end, gathering.keys)
                    : 0;
            if (stamp) {
                gathering.at += stamp;
                gathering.start |= bits ? CSP_WORD_CONTINUES : 0;
                begin_segment(segments, &gathering);
                continue;
            }
            if (bits < 8 * CSP_SEGMENT_PACKETS || !is_atoms(header))
                break;
            gathering.start |= CSP_WORD_CONTINUES;
            continue;
        }
        const struct address_form *form = &tables.address_forms[tables.forms[header]];
        const uint64_t *newest = &segments->addresses[OLD - 1 + gathering.addresses++];
        uint64_t value = take_bits(csp_load64(gathering.at + 1), form->taken) << 2;
        uint64_t address = (newest[-(ptrdiff_t)form->history] & ~form->replaced) | value;
        segments->addresses[OLD - 1 + gathering.addresses] = address;
        gathering.at += size;
        begin_segment(segments, &gathering);
        if (UNLIKELY(!go_to(segments, &walker->regions, &gathering, address)))
            break;
    }
    segments->legs[segments->leg_count - 1].end = gathering.keys;
    segments->key_count = gathering.keys;
}

/* ---- adding up ---- */

struct added {
    uint32_t keys;       /* that were added up */
    uint32_t last, link; /* of the last one */
    csp_segment_sums sums;
};

static INLINE bool is_of(const struct csp_segment *segment, const struct csp_segment_key *key)
{
    return segment->packets == key->packets && segment->start == key->start;
}

/* Whether a segment follows what came of the last one, which is no branch that always has an
 * address behind it. Where it begins may depend on that. */
static bool follows(struct csp_segment_key *key, const struct csp_region *region, uint32_t link,
                    bool returns_by_branch)
{
    if ((uint32_t)key->start != CSP_WORD_CONTINUES)
        return link == CSP_BLOCK_RETURN && !returns_by_branch;
    if (link < CSP_BLOCK_FIRST)
        return false;
    key->start =
        (key->start & region_bits) | csp_block_start(csp_block_numbered(region->table, link)) / 4;
    key->place = csp_segment_place(key->start, key->packets);
    return true;
}

/* The segment of a key that is not simply the one remembered; null where the stretch ends. */
static __attribute__((noinline)) const struct csp_segment *
find_segment(struct csp_segments *segments, const struct csp_regions *regions,
             struct csp_segment_key *key, uint32_t link, bool returns_by_branch)
{
    const struct csp_region *region = &regions->met.data[key->start >> 32];
    bool is_simple = link == CSP_BLOCK_INDIRECT && (uint32_t)key->start != CSP_WORD_CONTINUES;
    if (!is_simple && !follows(key, region, link, returns_by_branch))
        return NULL;
    const struct csp_segment *segment = &segments->segments[key->place];
    return is_of(segment, key) ? segment : csp_segments_walk(segments, region, key);
}

/* Adds segments up as far as one follows from the other. */
static INLINE struct added add_up(struct csp_segments *segments, const struct csp_regions *regions,
                                  bool returns_by_branch)
{
    struct added added = {.link = CSP_BLOCK_INDIRECT};
    for (; added.keys < segments->key_count; added.keys++) {
        struct csp_segment_key *key = &segments->keys[added.keys];
        const struct csp_segment *segment = &segments->segments[key->place];
        if (UNLIKELY(!is_of(segment, key) || added.link != CSP_BLOCK_INDIRECT)) {
            segment = find_segment(segments, regions, key, added.link, returns_by_branch);
            if (!segment)
                break;
        }
        added.sums += segment->sums;
        added.last = segment->last;
        added.link = segment->link;
    }
    return added;
}

/* That of the last segment which was added up. */
static INLINE const struct csp_segment_leg *last_leg(const struct csp_segments *segments,
                                                     const struct added *added)
{
    const struct csp_segment_leg *leg = segments->legs;
    while (leg->end < added->keys)
        leg++;
    return leg;
}

static INLINE void tell_stretch(const struct csp_segments *segments, const struct added *added,
                                struct csp_walker *walker)
{
    const struct csp_region *met = walker->regions.met.data;
    const struct csp_region *first = &met[segments->keys[0].start >> 32];
    const struct csp_region *last = &met[segments->keys[added->keys - 1].start >> 32];
    uint32_t number = added->last & INT32_MAX;
    const struct csp_way *way = &csp_block_numbered(last->table, number)->ways[added->last >> 31];
    struct csp_element *element =
        csp_element_batch_add(walker->out, CSP_ELEMENT_STRETCH, walker->source);
    memcpy(element, &way->tags, sizeof way->tags);
    element->type = CSP_ELEMENT_STRETCH;
    element->instructions = (uint32_t)added->sums;
    element->number =
        CSP_STRETCH_NUMBER(added->sums >> 32 & 0xffff, (added->sums >> 48) - element->taken);
    element->a = first->code.base + 4 * (uint64_t)(uint32_t)segments->keys[0].start;
    element->b = last->code.base + way->end;
}

/* Tells the timestamps up to the last segment. */
static INLINE void tell_stamps(const struct csp_segments *segments, uint32_t keys,
                               const struct csp_walker *walker, struct csp_packet_reader *reader)
{
    for (uint32_t i = 0; i < segments->stamp_count && segments->stamps[i].keys <= keys; i++) {
        reader->timestamp = segments->stamps[i].value;
        csp_element_batch_add(walker->out, CSP_ELEMENT_TIMESTAMP, walker->source)->a =
            reader->timestamp;
    }
}

/* Tells the walker where the last segment leads. */
static INLINE void leave(const struct csp_segments *segments, const struct added *added,
                         struct csp_walker *walker)
{
    const struct csp_region *met = walker->regions.met.data;
    const struct csp_segment_leg *leg = last_leg(segments, added);
    if (leg > segments->legs) /* it is soon gone back to */
        csp_walker_change_region(walker, &met[leg[-1].region]);
    csp_walker_change_region(walker, &met[leg->region]);
    walker->block = added->link;
    walker->needs_address = walker->pc_is_stale = false;
    if (added->link < CSP_BLOCK_FIRST)
        csp_walker_leave_block(walker, added->last & INT32_MAX, added->link, added->last >> 31);
}

/* Takes one stretch. Returns where what was not taken begins. */
static INLINE const uint8_t *take_stretch(struct csp_segments *segments, struct csp_walker *walker,
                                          uint32_t word, struct csp_packet_reader *reader,
                                          const uint8_t *at, const uint8_t *end)
{
    gather(segments, walker, word, reader, at, end);
    struct added added = add_up(segments, &walker->regions, walker->returns_by_branch);
    const struct csp_segment_key *next = &segments->keys[added.keys];
    uint32_t addresses = 0; /* before the last segment */
    if (added.keys) {
        addresses = next[-1].addresses;
        tell_stretch(segments, &added, walker);
        tell_stamps(segments, added.keys, walker, reader);
        leave(segments, &added, walker);
    }
    const uint64_t *newest = &segments->addresses[OLD - 1 + next->addresses];
    if (next->addresses != addresses)
        csp_walker_jump(walker, *newest, 0);
    for (unsigned i = 0; i < OLD; i++)
        reader->history[i].value = newest[-(ptrdiff_t)i];
    return at + next->at;
}

const uint8_t *CSP_SEGMENTS_TAKE(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, const uint8_t *at,
                                 const uint8_t *end)
{
    uint32_t word;
    while (end - at >= MARGIN && (is_atoms(*at) || tables.sizes[*at])) {
        if (walker->needs_address || walker->needs_context || !csp_walker_find_word(walker, &word))
            break;
        const uint8_t *behind = take_stretch(segments, walker, word, reader, at, end);
        if (behind == at)
            break;
        at = behind;
    }
    return at;
}
