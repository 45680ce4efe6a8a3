/* Segments: what is executed from one address in the trace to the next, when nobody asks for its
 * ranges one by one.
 *
 * Between two addresses execution follows atoms alone, some seven of them, and programs repeat
 * themselves: of a hundred segments hardly one has another beginning or other atoms than some that
 * was walked before. So what a segment adds up to is remembered by where it begins and the bytes of
 * its atom packets, and a stretch of trace is told as one element (CSP_ELEMENT_STRETCH) of the sums
 * of its segments. What is not as simple as that is left to the express lane.
 *
 * Where a segment begins and its packets are in the trace: to look it up, nothing need be known of
 * those before it, nor of the code. So a stretch is gathered first, and where its segments may be
 * remembered is fetched meanwhile; then they are added up.
 */
#ifndef CSP_DECODE_TRACE_SEGMENTS_H
#define CSP_DECODE_TRACE_SEGMENTS_H

#include "decode/trace/native/packet.h"
#include "decode/trace/native/walker.h"

enum {
    CSP_SEGMENT_PACKETS = 6, /* of atoms */
    CSP_SEGMENT_RANGES = CSP_SEGMENT_PACKETS * 24,
    CSP_SEGMENT_INSTRUCTIONS = 1 << 25, /* at most */
    CSP_SEGMENTS = 1 << 15,
    CSP_STRETCH_SEGMENTS = 64,
    CSP_STRETCH_LEGS = 16,
    CSP_STRETCH_OLD = 3, /* addresses from before it */
    CSP_STRETCH_STAMPS = 4,
};

/* Where one begins: the word of the code, and from bit 32 on the region's number. */
typedef uint64_t csp_segment_start;

#define CSP_WORD_CONTINUES UINT32_MAX /* at which none begins */

/* Instructions, and from bit 32 on ranges, from bit 48 on branches that were taken. */
typedef uint64_t csp_segment_sums;

_Static_assert(CSP_STRETCH_SEGMENTS *CSP_SEGMENT_RANGES <= 0xffff, "ranges");
_Static_assert((uint64_t)CSP_STRETCH_SEGMENTS *CSP_SEGMENT_INSTRUCTIONS <= UINT32_MAX,
               "instructions");

struct csp_segment {
    uint64_t packets; /* its atom packets, the oldest in the lowest byte; 0: none is remembered */
    csp_segment_start start;
    csp_segment_sums sums;
    uint32_t last; /* the block that it ends with, and from bit 31 on how that came out */
    uint32_t link; /* what follows that */
};

/* What is gathered of a segment. */
struct csp_segment_key {
    uint64_t packets;
    csp_segment_start start; /* the word CSP_WORD_CONTINUES: where the one before leads */
    uint32_t place;          /* in csp_segments.segments */
    uint32_t at;             /* where its packets begin, in bytes from the start of the stretch */
    uint32_t addresses;      /* how many were read before them */
};

/* Segments that lie in one mapping. */
struct csp_segment_leg {
    uint32_t region; /* its number */
    uint32_t end;    /* behind its last key */
};

/* A timestamp within a stretch. It says nothing of what is executed, and is told behind it: what is
 * in one stretch is in one run, too. */
struct csp_segment_stamp {
    uint64_t value;
    uint32_t keys; /* before it: never none */
};

struct csp_segments {
    struct csp_segment segments[CSP_SEGMENTS]; /* by hash; a later one takes the place */
    /* The stretch being taken. Behind the last key is where the next one would begin. */
    struct csp_segment_key keys[CSP_STRETCH_SEGMENTS + 1];
    struct csp_segment_leg legs[CSP_STRETCH_LEGS];
    uint64_t addresses[CSP_STRETCH_OLD + CSP_STRETCH_SEGMENTS]; /* oldest first */
    struct csp_segment_stamp stamps[CSP_STRETCH_STAMPS];
    uint32_t key_count, leg_count, stamp_count;
    bool takes_stamps; /* each timestamp counts, whatever came before it */
};

static inline uint32_t csp_segment_place(csp_segment_start start, uint64_t packets)
{
    uint64_t mixed = (packets ^ start << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 32 & (CSP_SEGMENTS - 1);
}

/* Walks the segment of a key, and remembers it. Null when it cannot be walked by links alone. */
const struct csp_segment *csp_segments_walk(struct csp_segments *segments,
                                            const struct csp_region *region,
                                            const struct csp_segment_key *key);

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
