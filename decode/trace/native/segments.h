/* Segments: what is executed from one address in the trace to the next, when nobody asks for its
 * ranges one by one.
 *
 * Between two addresses execution follows atoms alone, some seven of them, and programs repeat
 * themselves: of a hundred segments hardly one has another beginning or other atoms than some that
 * was walked before. So what a segment adds up to is remembered by the block that it begins with
 * and its atoms, and a stretch of trace is told as one element (CSP_ELEMENT_STRETCH) of the sums of
 * its segments. What is not as simple as that is left to the express lane.
 */
#ifndef CSP_DECODE_TRACE_SEGMENTS_H
#define CSP_DECODE_TRACE_SEGMENTS_H

#include "decode/trace/native/packet.h"
#include "decode/trace/native/walker.h"

/* Atoms, the oldest in bit 0, with a 1 behind the newest. */
enum { CSP_SEGMENT_ATOMS = 63 };

struct csp_segment {
    uint64_t atoms; /* 0: none is remembered here */
    const struct csp_block_table *table;
    uint32_t block; /* that it begins with */
    uint32_t last;  /* that it ends with */
    uint32_t link;  /* what follows that */
    uint32_t sums; /* instructions, and from bit CSP_SEGMENT_BRANCHES on branches that were taken */
};

enum { CSP_SEGMENT_BRANCHES = 26, CSP_SEGMENTS = 1 << 15 };
_Static_assert(CSP_SEGMENT_ATOMS < 1 << (32 - CSP_SEGMENT_BRANCHES), "branches");
_Static_assert((uint64_t)CSP_SEGMENT_ATOMS *CSP_BLOCK_COUNT_MAX < 1 << CSP_SEGMENT_BRANCHES,
               "instructions");

struct csp_segments {
    struct csp_segment segments[CSP_SEGMENTS]; /* by hash; a later one takes the place */
};

/* Walks the segment that begins with a block, and remembers it. Null when it cannot be walked by
 * links alone. */
const struct csp_segment *csp_segments_walk(struct csp_segment *place,
                                            struct csp_block_table *table, uint32_t block,
                                            uint64_t atoms);

static inline const struct csp_segment *csp_segments_find(struct csp_segments *segments,
                                                          struct csp_block_table *table,
                                                          uint32_t block, uint64_t atoms)
{
    uint64_t mixed = (atoms ^ (uint64_t)block << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct csp_segment *place = &segments->segments[mixed >> 32 & (CSP_SEGMENTS - 1)];
    if (place->atoms == atoms && place->block == block && place->table == table)
        return place;
    return csp_segments_walk(place, table, block, atoms);
}

/* As csp_express_take, but what it takes is told as stretches. */
const uint8_t *csp_segments_take(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, const uint8_t *at,
                                 const uint8_t *end);

/* Its two builds, as of csp_express_take. */
typedef const uint8_t *csp_segments_take_fn(struct csp_segments *segments,
                                            struct csp_walker *walker,
                                            struct csp_packet_reader *reader, const uint8_t *at,
                                            const uint8_t *end);
csp_segments_take_fn csp_segments_take_anywhere, csp_segments_take_avx2;

#endif
