/* The body of csp_segments_take (segments.h): compiled for any processor, and once more for newer
 * ones. The includer defines CSP_SEGMENTS_TAKE, the name of its function. */
#include "decode/trace/native/segments_gather.h"

/* ---- putting together ---- */

/* Finds out where segments begin that continue one that is remembered, so that what is remembered
 * of them is fetched, too. */
static INLINE void continue_known(struct csp_segments *segments, bool sums_up)
{
    for (uint32_t i = 0; i < segments->continuing_count; i++) {
        struct csp_segment_key *key = &segments->keys[segments->continuing[i]];
        if (segments->continuing[i] == segments->key_count ||
            !((uint32_t)key->start & CSP_SEGMENT_AT_BLOCK))
            continue; /* an address followed, or nothing */
        key->link = CSP_SEGMENT_CONTINUES;
        const struct csp_segment *before = csp_segment_look_up(segments, key - 1, sums_up);
        if (csp_segment_is_of(before, key - 1) && before->link >= CSP_BLOCK_FIRST)
            csp_segment_continue(segments, key, before->link, sums_up);
    }
}

/* Segments that follow each other. */
struct chain {
    uint32_t keys;       /* how many */
    uint32_t last, link; /* of the last one */
    csp_segment_sums sums;
    uint32_t ways; /* in csp_segments.ways */
};

static INLINE uint32_t copy_ways(uint32_t *to, const struct csp_segment *segment)
{
    typedef uint32_t eight __attribute__((vector_size(32), aligned(4), may_alias));
    uint32_t count = csp_segment_ranges(segment->sums);
    const uint32_t *ways = csp_segment_ways(segment);
#pragma GCC unroll 4
    for (unsigned i = 0; i < CSP_SEGMENT_WAYS; i += 8)
        *(eight *)(to + i) = *(const eight *)(ways + i);
    if (UNLIKELY(count > CSP_SEGMENT_WAYS))
        memcpy(to, ways, count * sizeof *to);
    return count;
}

/* Puts them together as far as one follows from the other. */
static INLINE struct chain chain_up(struct csp_segments *segments, const struct csp_walker *walker,
                                    bool sums_up)
{
    struct chain chain = {.link = CSP_BLOCK_INDIRECT};
    struct csp_segment_key *key = segments->keys, *end = key + segments->key_count;
    for (; key < end && (sums_up || chain.ways <= CSP_STRETCH_WAYS - CSP_SEGMENT_RANGES); key++) {
        const struct csp_segment *segment = key->segment;
        if (UNLIKELY(!csp_segment_is_of(segment, key) || chain.link != key->link)) {
            segment = csp_segment_look_up(segments, key, sums_up);
            if (!csp_segment_is_of(segment, key) || chain.link != key->link)
                segment = csp_segments_find(segments, walker, key, chain.link);
            if (!segment)
                break;
        }
        if (sums_up)
            chain.sums += segment->sums;
        else
            key->ways = chain.ways += copy_ways(&segments->ways[chain.ways], segment);
        chain.last = segment->last;
        chain.link = segment->link;
    }
    chain.keys = (uint32_t)(key - segments->keys);
    return chain;
}

/* ---- telling ---- */

static INLINE const struct csp_region *region_of(const struct csp_walker *walker, uint32_t number)
{
    return &walker->regions.met.data[number];
}

static INLINE void tell_stamp(const struct csp_segment_stamp *stamp,
                              const struct csp_walker *walker, struct csp_packet_reader *reader)
{
    reader->timestamp = stamp->value;
    csp_element_batch_add(walker->out, CSP_ELEMENT_TIMESTAMP, walker->source)->a = stamp->value;
}

/* All as one element. A timestamp within says nothing of what is executed, and is told behind it:
 * what is in one stretch is in one run, too. */
static INLINE void tell_sums(const struct csp_segments *segments, const struct chain *chain,
                             const struct csp_walker *walker, struct csp_packet_reader *reader)
{
    csp_segment_start begin = segments->keys[0].start, end = segments->keys[chain->keys - 1].start;
    const struct csp_region *first = region_of(walker, csp_segment_region(begin));
    const struct csp_region *last = region_of(walker, csp_segment_region(end));
    uint32_t number = chain->last & INT32_MAX;
    const struct csp_way *way = &csp_block_numbered(last->table, number)->ways[chain->last >> 31];
    struct csp_element *element =
        csp_element_batch_add(walker->out, CSP_ELEMENT_STRETCH, walker->source);
    memcpy(element, &way->tags, sizeof way->tags);
    element->type = CSP_ELEMENT_STRETCH;
    element->instructions = (uint32_t)chain->sums;
    element->number =
        CSP_STRETCH_NUMBER(csp_segment_ranges(chain->sums), (chain->sums >> 48) - element->taken);
    element->a = first->code.base + 4 * (uint64_t)(uint32_t)begin;
    element->b = last->code.base + way->end;
    for (uint32_t i = 0; i < segments->stamp_count && segments->stamps[i].keys < chain->keys; i++)
        tell_stamp(&segments->stamps[i], walker, reader);
}

static INLINE void tell_ways(const struct csp_walker *walker, const struct csp_region *region,
                             const uint32_t *ways, const uint32_t *end)
{
    const csp_range_words bias = CSP_RANGE_BIAS(walker->source, region->code.base);
    const uint32_t *blocks = region->table->blocks;
    struct csp_element_batch *batch = walker->out;
    while (ways < end) {
        csp_element_batch_reserve(batch, 1);
        struct csp_element *out = &batch->data[batch->len];
        size_t count = (size_t)(end - ways), room = CSP_ELEMENT_BATCH - batch->len;
        count = count < room ? count : room;
#pragma GCC unroll 4
        for (size_t i = 0; i < count; i++)
            csp_range_put(&out[i], (const struct csp_way *)(blocks + ways[i]), &bias);
        batch->len += count;
        ways += count;
    }
}

enum {
    PACKED_LEAST = 4,  /* ranges, for which it is worth it */
    PACKED_MOST = 256, /* so that there is room in a batch */
};

/* As one element, with the branches between them. Returns false when some cannot be packed. */
static INLINE bool tell_packed(const struct csp_walker *walker, const struct csp_region *region,
                               const uint32_t *ways, uint32_t count)
{
    const uint32_t *blocks = region->table->blocks;
    struct csp_element_batch *batch = walker->out;
    csp_element_batch_reserve(batch, 1 + csp_packed_elements(count));
    struct csp_element *element = &batch->data[batch->len];
    struct csp_packed_branches *packed = (struct csp_packed_branches *)(element + 1);
    csp_branch_code *code = packed->codes;
    const struct csp_way *way = (const struct csp_way *)(blocks + ways[0]);
    uint64_t begin = way->start, start = begin, from = begin, taken = 0, most = 0;
    uint32_t kind = 0, instructions = 0;
    for (uint32_t i = 0; i < count; i++) {
        way = (const struct csp_way *)(blocks + ways[i]);
        /* Written whether or not there was a branch: which it is, no processor can predict. */
        uint64_t ran = from - start;
        *code = csp_branch_code_of(ran, way->start - from, kind);
        most |= ran;
        code += taken;
        start += (way->start - start) & -taken;
        taken = way->tags >> 16 & 1;
        kind = way->tags >> 8 & 0xff;
        from = (uint64_t)way->end - (way->tags >> 24);
        instructions += way->count;
    }
    if (UNLIKELY(csp_branch_is_far(most, 0))) /* no distance is, within one piece of code */
        return false;
    uint32_t branches = (uint32_t)(code - packed->codes);
    *element = (struct csp_element){0};
    memcpy(element, &way->tags, sizeof way->tags);
    element->type = CSP_ELEMENT_STRETCH;
    element->source = walker->source;
    element->instructions = instructions;
    element->number = CSP_STRETCH_NUMBER(count, branches);
    element->a = region->code.base + begin;
    element->b = region->code.base + way->end;
    packed->start = region->code.base + start;
    batch->len += 1 + csp_packed_elements(branches);
    return true;
}

static INLINE void tell_branches(const struct csp_walker *walker, const struct csp_region *region,
                                 const uint32_t *ways, const uint32_t *end)
{
    while (ways < end) {
        uint32_t count = end - ways < PACKED_MOST ? (uint32_t)(end - ways) : PACKED_MOST;
        if (count < PACKED_LEAST || !tell_packed(walker, region, ways, count))
            tell_ways(walker, region, ways, ways + count);
        ways += count;
    }
}

/* Those behind the last segment, and so behind what that led to. */
static INLINE void tell_last_stamps(const struct csp_segments *segments, const struct chain *chain,
                                    const struct csp_walker *walker,
                                    struct csp_packet_reader *reader)
{
    for (uint32_t i = 0; i < segments->stamp_count && segments->stamps[i].keys <= chain->keys; i++)
        if (segments->stamps[i].keys == chain->keys)
            tell_stamp(&segments->stamps[i], walker, reader);
}

/* Each range, and timestamps between them. */
static INLINE void tell_ranges(const struct csp_segments *segments, const struct chain *chain,
                               const struct csp_walker *walker, struct csp_packet_reader *reader)
{
    const struct csp_segment_leg *leg = segments->legs;
    const struct csp_segment_stamp *stamp = segments->stamps;
    const struct csp_segment_stamp *stamps_end = stamp + segments->stamp_count;
    const uint32_t *ways = segments->ways;
    for (uint32_t keys = 0; keys < chain->keys; leg += keys == leg->end) {
        uint32_t end = leg->end < chain->keys ? leg->end : chain->keys;
        bool is_stamp = stamp < stamps_end && stamp->keys <= end && stamp->keys < chain->keys;
        keys = is_stamp ? stamp->keys : end;
        if (keys) { /* a leg may have none */
            const uint32_t *ways_end = segments->ways + segments->keys[keys - 1].ways;
            if (segments->packs_branches)
                tell_branches(walker, region_of(walker, leg->region), ways, ways_end);
            else
                tell_ways(walker, region_of(walker, leg->region), ways, ways_end);
            ways = ways_end;
        }
        if (is_stamp)
            tell_stamp(stamp++, walker, reader);
    }
}

/* Tells the walker where the last segment leads. */
static INLINE void leave(const struct csp_segments *segments, const struct chain *chain,
                         struct csp_walker *walker)
{
    const struct csp_segment_leg *leg = &segments->legs[segments->leg_count - 1];
    while (leg > segments->legs && leg[-1].end >= chain->keys)
        leg--;
    if (leg > segments->legs) /* it is soon gone back to */
        csp_walker_change_region(walker, region_of(walker, leg[-1].region));
    csp_walker_change_region(walker, region_of(walker, leg->region));
    walker->block = chain->link;
    walker->needs_address = walker->pc_is_stale = false;
    if (chain->link < CSP_BLOCK_FIRST)
        csp_walker_leave_block(walker, chain->last & INT32_MAX, chain->link, chain->last >> 31);
}

/* Takes one stretch. Returns where what was not taken begins. */
static INLINE const uint8_t *take_stretch(struct csp_segments *segments, struct csp_walker *walker,
                                          uint32_t word, struct csp_packet_reader *reader,
                                          bool takes_stamps, bool sums_up, const uint8_t *at,
                                          const uint8_t *end)
{
    gather(segments, walker, word, reader, takes_stamps, sums_up, at, end);
    continue_known(segments, sums_up);
    segments->asked = 0;
    struct chain chain = chain_up(segments, walker, sums_up);
    const struct csp_segment_key *next = &segments->keys[chain.keys];
    const uint64_t *newest = &segments->addresses[CSP_STRETCH_OLD - 1];
    if (chain.keys) {
        newest = next[-1].newest;
        if (sums_up)
            tell_sums(segments, &chain, walker, reader);
        else
            tell_ranges(segments, &chain, walker, reader);
        leave(segments, &chain, walker);
        tell_last_stamps(segments, &chain, walker, reader);
    }
    if (next->newest != newest)
        csp_walker_jump(walker, *next->newest, 0);
    for (unsigned i = 0; i < CSP_STRETCH_OLD; i++)
        reader->history[i].value = next->newest[-(ptrdiff_t)i];
    return at + (next->at - segments->trace.bytes);
}

const uint8_t *CSP_SEGMENTS_TAKE(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, bool takes_stamps,
                                 const uint8_t *at, const uint8_t *end)
{
    uint32_t word;
    while (at < end && (is_atoms(*at) || address_forms.sizes[*at])) {
        if (walker->needs_address || walker->needs_context ||
            !csp_walker_find_word(walker, &word) || walker->region.number >= CSP_SEGMENT_REGIONS)
            break;
        csp_segments_reserve(segments);
        const uint8_t *behind =
            segments->sums_up
                ? take_stretch(segments, walker, word, reader, takes_stamps, true, at, end)
                : take_stretch(segments, walker, word, reader, takes_stamps, false, at, end);
        if (behind == at)
            break;
        at = behind;
    }
    return at;
}
