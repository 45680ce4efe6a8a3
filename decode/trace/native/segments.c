/* Segments for any processor, and the choice between the two. */
#define CSP_SEGMENTS_TAKE csp_segments_take_anywhere
#include "decode/trace/native/segments_take.h"

/* Follows the atoms of one packet; false where no link tells what follows. */
static bool walk_packet(struct csp_segment *segment, struct csp_block_table *table, uint32_t packet)
{
    for (unsigned left = packet >> 24; left; left--, packet >>= 1) {
        unsigned taken = packet & 1;
        uint32_t block = segment->link;
        if (block < CSP_BLOCK_FIRST)
            return false;
        const struct csp_way *way = &csp_block_numbered(table, block)->ways[taken];
        uint64_t branches = (way->tags & CSP_TAG_TAKEN) != 0;
        segment->sums += way->count | UINT64_C(1) << 32 | branches << 48;
        segment->last = block | (uint32_t)taken << 31;
        segment->link = csp_way_next(way);
        if (segment->link == CSP_BLOCK_UNKNOWN)
            segment->link = csp_block_table_link(table, block, taken);
    }
    return true;
}

const struct csp_segment *csp_segments_walk(struct csp_segments *segments,
                                            const struct csp_region *region,
                                            const struct csp_segment_key *key)
{
    struct csp_segment segment = {.packets = key->packets,
                                  .start = key->start,
                                  .link =
                                      csp_block_table_slot(region->table, (uint32_t)key->start)};
    if (segment.link & CSP_SLOT_RUNS_OUT)
        return NULL;
    for (uint64_t packets = key->packets; packets; packets >>= 8)
        if (!walk_packet(&segment, region->table, csp_packet_atoms[(uint8_t)packets]))
            return NULL;
    if ((uint32_t)segment.sums > CSP_SEGMENT_INSTRUCTIONS)
        return NULL;
    segments->segments[key->place] = segment;
    return &segments->segments[key->place];
}

const uint8_t *csp_segments_take(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, const uint8_t *at,
                                 const uint8_t *end)
{
    csp_segments_take_fn *take = csp_segments_take_anywhere;
    if (walker->has_return_stack || walker->isa != CSP_ISA_A64 ||
        (reader->history[0].isa | reader->history[1].isa | reader->history[2].isa))
        return at;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        take = csp_segments_take_avx2;
#endif
    return take(segments, walker, reader, at, end);
}
