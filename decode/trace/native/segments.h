/* Segments: what is executed from one address in the trace to the next.
 *
 * Between two addresses execution follows atoms alone, some ten of them, and programs repeat
 * themselves: of a hundred segments only seven have another beginning or other atoms than some that
 * was walked before. So what was walked is remembered by where it begins and the bytes of its atom
 * packets: its ranges, or, when nobody asks for them one by one, its branches, or what they add up
 * to. What is not as simple as that is walked packet by packet.
 *
 * Where a segment begins and its packets are in the trace: to look it up, nothing need be known of
 * those before it, nor of the code. So a stretch of trace is gathered first, and what may be
 * remembered of its segments is fetched meanwhile; those that are not remembered are walked,
 * several at once; then all are told in a row. Ranges become numbers first, which take no more than
 * the copy of a line or two, and then elements in one loop: how many each segment has is what a
 * processor cannot predict.
 */
#ifndef CSP_DECODE_TRACE_SEGMENTS_H
#define CSP_DECODE_TRACE_SEGMENTS_H

#include "decode/trace/native/packet.h"
#include "decode/trace/native/walker.h"

enum {
    CSP_SEGMENT_PACKETS = 8, /* of atoms */
    CSP_SEGMENT_RANGES = CSP_SEGMENT_PACKETS * 24,
    CSP_SEGMENT_WAYS = 32,              /* copied at once, whether they are there or not */
    CSP_SEGMENT_CODES = 8,              /* the same of branches */
    CSP_SEGMENT_INSTRUCTIONS = 1 << 23, /* at most, where they are added up */
    CSP_SEGMENT_PLACES_BITS = 15,
    CSP_SEGMENTS_WORDS = 200 << 10, /* for all that is remembered */
    CSP_STRETCH_BYTES = 512,
    CSP_STRETCH_SEGMENTS = CSP_STRETCH_BYTES / 2,
    CSP_STRETCH_WAYS = CSP_STRETCH_SEGMENTS * CSP_SEGMENT_WAYS,
    CSP_STRETCH_WORDS = 8 << 10, /* that it may come to remember */
    CSP_STRETCH_LEGS = 16,
    CSP_STRETCH_OLD = 3, /* addresses from before it */
    CSP_STRETCH_STAMPS = 4,
};

/* Where one begins: the word of the code, from bit 32 on the region's number, and from bit 56 on
 * the source. Where no address tells it, the block instead of the word, and CSP_SEGMENT_AT_BLOCK:
 * what leads there tells that without looking at the block. */
typedef uint64_t csp_segment_start;

enum { CSP_SEGMENT_REGIONS = 1 << 24 };
#define CSP_SEGMENT_AT_BLOCK (UINT32_C(1) << 31) /* no word, and no block, is that large */

static inline csp_segment_start csp_segment_start_at(const struct csp_walker *walker,
                                                     uint32_t region, uint32_t word)
{
    return (csp_segment_start)walker->source << 56 | (csp_segment_start)region << 32 | word;
}

/* Where one begins that continues another in the same region. */
static inline csp_segment_start csp_segment_at_block(csp_segment_start start, uint32_t block)
{
    return (start & ~(csp_segment_start)UINT32_MAX) | CSP_SEGMENT_AT_BLOCK | block;
}

static inline uint32_t csp_segment_region(csp_segment_start start)
{
    return start >> 32 & (CSP_SEGMENT_REGIONS - 1);
}

/* Instructions, and from bit 32 on ranges, from bit 48 on branches that were taken. */
typedef uint64_t csp_segment_sums;

_Static_assert(CSP_STRETCH_SEGMENTS *CSP_SEGMENT_RANGES <= 0xffff, "ranges");
_Static_assert((uint64_t)CSP_STRETCH_SEGMENTS *CSP_SEGMENT_INSTRUCTIONS <= UINT32_MAX,
               "instructions");

static inline uint32_t csp_segment_ranges(csp_segment_sums sums)
{
    return sums >> 32 & 0xffff;
}

/* What is remembered of one. */
struct csp_segment {
    uint64_t packets; /* its atom packets, the oldest in the lowest byte; 0: this is none */
    csp_segment_start start;
    csp_segment_sums sums;
    uint32_t last; /* the block that it ends with, and from bit 31 on how that came out */
    uint32_t link; /* what follows that */
};

/* Where ranges are told: the number of each. */
static inline uint32_t *csp_segment_ways(const struct csp_segment *segment)
{
    return (uint32_t *)(segment + 1);
}

/* Where branches are told: each, in the order in which they were taken. */
struct csp_segment_branches {
    uint32_t begin; /* where the first range begins, in bytes from the start of the code */
    uint32_t start
        : 31;           /* in words: where the last branch led, but for one that ends the segment */
    uint32_t taken : 1; /* whether one does */
    /* The first one's run is from `begin` on. Of one that the segment ends with it is not known
     * where it leads: its distance is that to the start of the code. */
    csp_branch_code codes[];
};

static inline struct csp_segment_branches *csp_segment_branches(const struct csp_segment *segment)
{
    return (struct csp_segment_branches *)(segment + 1);
}

/* What is gathered of a segment. */
struct csp_segment_key {
    uint64_t packets;
    csp_segment_start start;
    const struct csp_segment *segment; /* perhaps what is remembered of it */
    const uint8_t *at;                 /* where its packets begin, in csp_segment_trace.bytes */
    const uint64_t *newest;            /* the address read last before them */
    /* What the one before has to lead to: CSP_BLOCK_INDIRECT, as an address follows that. Where
     * none does, the block that this one begins at, and CSP_SEGMENT_CONTINUES until it is known. */
    uint32_t link;
    uint32_t ways; /* behind its last one in csp_segments.ways */
};

#define CSP_SEGMENT_CONTINUES UINT32_MAX

/* Segments that lie in one mapping. */
struct csp_segment_leg {
    uint32_t region; /* its number */
    uint32_t end;    /* behind its last key */
};

/* A timestamp within a stretch. */
struct csp_segment_stamp {
    uint64_t value;
    uint32_t keys; /* before it: never none */
};

/* The bytes of a stretch, zeroes behind them, and what begins at each: how many atom packets in a
 * row; the size of the address packet behind those, 0 when there is none; and both together. */
enum { CSP_TRACE_ROW = 32, CSP_TRACE_ROOM = CSP_STRETCH_BYTES + 2 * CSP_TRACE_ROW };
struct csp_segment_trace {
    uint8_t bytes[CSP_TRACE_ROOM];
    uint8_t atoms[CSP_TRACE_ROOM], sizes[CSP_TRACE_ROOM], steps[CSP_TRACE_ROOM];
};

enum csp_segments_telling {
    CSP_SEGMENTS_RANGES,   /* one by one */
    CSP_SEGMENTS_BRANCHES, /* of a stretch, packed (decode/trace/element.h) */
    CSP_SEGMENTS_SUMS,     /* for a stretch */
};

struct csp_segments {
    enum csp_segments_telling tells;
    /* The stretch being taken. Behind the last key is where the next one would begin. */
    uint32_t asked; /* how often what is remembered was not enough */
    uint32_t key_count, leg_count, stamp_count, continuing_count;
    struct csp_segment_trace trace;
    struct csp_segment_key keys[CSP_STRETCH_SEGMENTS + 1];
    struct csp_segment_leg legs[CSP_STRETCH_LEGS];
    uint64_t addresses[CSP_STRETCH_OLD + CSP_STRETCH_BYTES]; /* oldest first */
    struct csp_segment_stamp stamps[CSP_STRETCH_STAMPS];
    uint32_t continuing[CSP_STRETCH_SEGMENTS + 1]; /* keys that may continue the one before */
    uint32_t ways[CSP_STRETCH_WAYS + CSP_SEGMENT_WAYS];
    uint32_t used; /* words */
    /* What is remembered, by hash: sums in the place itself, so that one line of the cache is read
     * for each; with ranges or branches one behind the other, and where. A later one takes the
     * place, and what was there that beside. */
    union {
        struct csp_segment sums[1 << CSP_SEGMENT_PLACES_BITS];
        struct {
            uint32_t places[1 << CSP_SEGMENT_PLACES_BITS];
            uint64_t words[CSP_SEGMENTS_WORDS + CSP_SEGMENT_WAYS / 2];
        };
    } __attribute__((aligned(64)));
};

static inline uint32_t csp_segment_place(const struct csp_segment_key *key)
{
    uint64_t mixed = (key->packets ^ key->start << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> (64 - CSP_SEGMENT_PLACES_BITS));
}

static inline struct csp_segment *csp_segment_at(struct csp_segments *segments, uint32_t place,
                                                 bool sums_up)
{
    return sums_up ? &segments->sums[place]
                   : (struct csp_segment *)&segments->words[segments->places[place]];
}

/* Whether it is what is remembered of a key. */
static inline bool csp_segment_is_of(const struct csp_segment *segment,
                                     const struct csp_segment_key *key)
{
    return !((segment->packets ^ key->packets) | (segment->start ^ key->start));
}

static inline void csp_segment_swap(struct csp_segments *segments, uint32_t one, uint32_t other,
                                    bool sums_up)
{
    if (sums_up) {
        struct csp_segment segment = segments->sums[one];
        segments->sums[one] = segments->sums[other];
        segments->sums[other] = segment;
    } else {
        uint32_t where = segments->places[one];
        segments->places[one] = segments->places[other];
        segments->places[other] = where;
    }
}

/* What is remembered of a key, wherever that is: then it gets its place back. What is in its place
 * otherwise. */
static inline const struct csp_segment *
csp_segment_look_up(struct csp_segments *segments, const struct csp_segment_key *key, bool sums_up)
{
    uint32_t place = csp_segment_place(key), beside = place ^ 1;
    const struct csp_segment *first = csp_segment_at(segments, place, sums_up);
    if (csp_segment_is_of(first, key) ||
        !csp_segment_is_of(csp_segment_at(segments, beside, sums_up), key))
        return first;
    csp_segment_swap(segments, place, beside, sums_up);
    return csp_segment_at(segments, place, sums_up);
}

/* Says of a key that continues the one before at which block it begins. */
static inline void csp_segment_continue(struct csp_segments *segments, struct csp_segment_key *key,
                                        uint32_t block, bool sums_up)
{
    key->link = block;
    key->start = csp_segment_at_block(key->start, block);
    key->segment = csp_segment_at(segments, csp_segment_place(key), sums_up);
    __builtin_prefetch(key->segment);
}

/* Tells ranges. */
struct csp_segments *csp_segments_create(void);
void csp_segments_destroy(struct csp_segments *segments);
/* From now on, before anything was taken. */
void csp_segments_tell(struct csp_segments *segments, enum csp_segments_telling what);

/* Makes sure that there is room for the segments of a stretch: forgets all if need be. */
void csp_segments_reserve(struct csp_segments *segments);
/* The segment of a key that follows on `link`, where that is not simply the one remembered. May
 * have those behind it walked, too. Null when it cannot be walked by links alone, or when something
 * is to be told before it. */
const struct csp_segment *csp_segments_find(struct csp_segments *segments,
                                            const struct csp_walker *walker,
                                            struct csp_segment_key *key, uint32_t link);

/* Takes what it can of [at, end): atoms, addresses, and timestamps between them. Returns where
 * another kind of packet begins, or one that is not complete, or what is not as simple; `at` where
 * nothing is. Everything before must have been resolved. With `takes_stamps` each timestamp counts,
 * whatever came before it. */
const uint8_t *csp_segments_take(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, bool takes_stamps,
                                 const uint8_t *at, const uint8_t *end);

/* Its two builds. csp_segments_take has made sure that the instruction set is A64 and that there
 * is no return stack. */
typedef const uint8_t *csp_segments_take_fn(struct csp_segments *segments,
                                            struct csp_walker *walker,
                                            struct csp_packet_reader *reader, bool takes_stamps,
                                            const uint8_t *at, const uint8_t *end);
csp_segments_take_fn csp_segments_take_anywhere, csp_segments_take_avx2;

#endif
