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
                                    enum csp_segments_telling tells)
{
    const bool sums_up = tells == CSP_SEGMENTS_SUMS, copies = tells == CSP_SEGMENTS_RANGES;
    struct chain chain = {.link = CSP_BLOCK_INDIRECT};
    struct csp_segment_key *key = segments->keys, *end = key + segments->key_count;
    for (; key < end && (!copies || chain.ways <= CSP_STRETCH_WAYS - CSP_SEGMENT_RANGES); key++) {
        const struct csp_segment *segment = key->segment;
        if (UNLIKELY(!csp_segment_is_of(segment, key) || chain.link != key->link)) {
            segment = csp_segment_look_up(segments, key, sums_up);
            if (!csp_segment_is_of(segment, key) || chain.link != key->link)
                segment = csp_segments_find(segments, walker, key, chain.link);
            if (!segment)
                break;
            key->segment = segment;
        }
        if (sums_up)
            chain.sums += segment->sums;
        if (copies)
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

/* Codes in one element, so that there is room in a batch. */
enum { PACKED_MOST = 256 };
_Static_assert((PACKED_MOST + CSP_SEGMENT_RANGES + CSP_SEGMENT_CODES) * sizeof(csp_branch_code) <
                   CSP_ELEMENT_BATCH * sizeof(struct csp_element) / 2,
               "room");

/* Branches that are put together. */
struct packing {
    csp_branch_code *next;
    uint32_t start; /* where execution goes on behind the last one that is complete */
    uint32_t
        taken; /* whether the one before `next` is not: where it leads, the next segment tells */
};

static INLINE void copy_codes(csp_branch_code *to, const csp_branch_code *codes, uint32_t count)
{
    typedef uint64_t four __attribute__((vector_size(32), aligned(8), may_alias));
#pragma GCC unroll 2
    for (unsigned i = 0; i < CSP_SEGMENT_CODES; i += 4)
        *(four *)(to + i) = *(const four *)(codes + i);
    if (UNLIKELY(count > CSP_SEGMENT_CODES))
        memcpy(to, codes, count * sizeof *to);
}

/* Adds those of a segment, which begins where the one before ended. Returns false when the first
 * one would be too far from where execution went on. */
static INLINE bool pack_segment(struct packing *packing, const struct csp_segment *segment)
{
    const struct csp_segment_branches *branches = csp_segment_branches(segment);
    uint32_t count = (uint32_t)(segment->sums >> 48);
    uint32_t start = packing->taken ? branches->begin : packing->start;
    csp_branch_code *codes = packing->next;
    uint64_t before = branches->begin - start; /* that ran */
    if (UNLIKELY(before)) {
        uint64_t ran = before + csp_branch_code_ran(count ? branches->codes[0] : 0);
        if (csp_branch_is_far(ran, 0))
            return false;
    }
    codes[-1] += csp_branch_code_of(0, packing->taken ? branches->begin : 0, 0);
    copy_codes(codes, branches->codes, count);
    codes[0] += csp_branch_code_of(before, 0, 0);
    packing->next = codes + count;
    packing->taken = branches->taken;
    packing->start = count > packing->taken ? 4 * (uint32_t)branches->start : start;
    return true;
}

/* Tells what it can of the segments [key, end), which lie in one region, as one element with the
 * branches between its ranges. Returns behind the last one. */
static INLINE const struct csp_segment_key *tell_packed(const struct csp_walker *walker,
                                                        const struct csp_region *region,
                                                        const struct csp_segment_key *key,
                                                        const struct csp_segment_key *end)
{
    struct csp_element_batch *batch = walker->out;
    csp_element_batch_reserve(batch, CSP_ELEMENT_BATCH / 2);
    struct csp_element *element = &batch->data[batch->len];
    struct csp_packed_branches *packed = (struct csp_packed_branches *)(element + 1);
    const csp_branch_code *most = packed->codes + PACKED_MOST;
    uint32_t begin = csp_segment_branches(key->segment)->begin;
    struct packing packing = {packed->codes, begin, 0};
    csp_segment_sums sums = 0;
    for (packed->start = 0; key < end && packing.next < most; key++) {
        if (UNLIKELY(!pack_segment(&packing, key->segment)))
            break;
        sums += key->segment->sums;
    }
    uint32_t last = key[-1].segment->last;
    const struct csp_way *way =
        &csp_block_numbered(region->table, last & INT32_MAX)->ways[last >> 31];
    uint32_t branches = (uint32_t)(packing.next - packed->codes) - packing.taken;
    *element = (struct csp_element){0};
    memcpy(element, &way->tags, sizeof way->tags);
    element->type = CSP_ELEMENT_STRETCH;
    element->source = walker->source;
    element->instructions = (uint32_t)sums;
    element->number = CSP_STRETCH_NUMBER(csp_segment_ranges(sums), branches);
    element->a = region->code.base + begin;
    element->b = region->code.base + way->end;
    packed->start = region->code.base + packing.start;
    batch->len += 1 + csp_packed_elements(branches);
    return key;
}

static INLINE void tell_branches(const struct csp_walker *walker, const struct csp_region *region,
                                 const struct csp_segment_key *key,
                                 const struct csp_segment_key *end)
{
    while (key < end)
        key = tell_packed(walker, region, key, end);
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

/* Each range, or all branches, and timestamps between them. */
static INLINE void tell_each(const struct csp_segments *segments, const struct chain *chain,
                             const struct csp_walker *walker, struct csp_packet_reader *reader,
                             enum csp_segments_telling tells)
{
    const struct csp_segment_leg *leg = segments->legs;
    const struct csp_segment_stamp *stamp = segments->stamps;
    const struct csp_segment_stamp *stamps_end = stamp + segments->stamp_count;
    const struct csp_segment_key *key = segments->keys;
    const uint32_t *ways = segments->ways;
    for (uint32_t keys = 0; keys < chain->keys; leg += keys == leg->end) {
        uint32_t end = leg->end < chain->keys ? leg->end : chain->keys;
        bool is_stamp = stamp < stamps_end && stamp->keys <= end && stamp->keys < chain->keys;
        keys = is_stamp ? stamp->keys : end;
        const struct csp_segment_key *keys_end = segments->keys + keys;
        if (tells == CSP_SEGMENTS_BRANCHES) {
            tell_branches(walker, region_of(walker, leg->region), key, keys_end);
        } else if (keys) { /* a leg may have none */
            const uint32_t *ways_end = segments->ways + keys_end[-1].ways;
            tell_ways(walker, region_of(walker, leg->region), ways, ways_end);
            ways = ways_end;
        }
        key = keys_end;
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
                                          bool takes_stamps, enum csp_segments_telling tells,
                                          const uint8_t *at, const uint8_t *end)
{
    const bool sums_up = tells == CSP_SEGMENTS_SUMS;
    gather(segments, walker, word, reader, takes_stamps, sums_up, at, end);
    continue_known(segments, sums_up);
    segments->asked = 0;
    struct chain chain = chain_up(segments, walker, tells);
    const struct csp_segment_key *next = &segments->keys[chain.keys];
    const uint64_t *newest = &segments->addresses[CSP_STRETCH_OLD - 1];
    if (chain.keys) {
        newest = next[-1].newest;
        if (sums_up)
            tell_sums(segments, &chain, walker, reader);
        else
            tell_each(segments, &chain, walker, reader, tells);
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
        const uint8_t *behind = at;
        switch (segments->tells) { /* each has a build of its own */
        case CSP_SEGMENTS_RANGES:
            behind = take_stretch(segments, walker, word, reader, takes_stamps, CSP_SEGMENTS_RANGES,
                                  at, end);
            break;
        case CSP_SEGMENTS_BRANCHES:
            behind = take_stretch(segments, walker, word, reader, takes_stamps,
                                  CSP_SEGMENTS_BRANCHES, at, end);
            break;
        case CSP_SEGMENTS_SUMS:
            behind = take_stretch(segments, walker, word, reader, takes_stamps, CSP_SEGMENTS_SUMS,
                                  at, end);
            break;
        }
        if (behind == at)
            break;
        at = behind;
    }
    return at;
}
