/* Segments for any processor, and the choice between the two. */
#define CSP_SEGMENTS_TAKE csp_segments_take_anywhere
#include "decode/trace/native/segments_take.h"

const struct csp_segment *csp_segments_walk(struct csp_segment *place,
                                            struct csp_block_table *table, uint32_t block,
                                            uint64_t atoms)
{
    struct csp_segment segment = {.atoms = atoms, .table = table, .block = block, .link = block};
    uint32_t instructions = 0, branches = 0;
    for (; atoms > 1; atoms >>= 1) {
        if (segment.link < CSP_BLOCK_FIRST)
            return NULL;
        segment.last = segment.link;
        const struct csp_way *way = &csp_block_numbered(table, segment.last)->ways[atoms & 1];
        instructions += way->count;
        branches += (way->tags & CSP_TAG_TAKEN) != 0;
        segment.link = __atomic_load_n(&way->next, __ATOMIC_ACQUIRE);
        if (segment.link == CSP_BLOCK_UNKNOWN)
            segment.link = csp_block_table_link(table, segment.last, atoms & 1);
    }
    segment.sums = instructions | branches << CSP_SEGMENT_BRANCHES;
    *place = segment;
    return place;
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
