/* The memory of segments. */
#include "decode/trace/native/segments_remember.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_WORDS = sizeof(struct csp_segment) / sizeof(uint64_t) };

static void forget(struct csp_segments *segments)
{
    memset(segments->places, 0, sizeof segments->places);
    memset(segments->words, 0, HEAD_WORDS * sizeof *segments->words); /* the first is none */
    segments->used = HEAD_WORDS;
}

void csp_segments_reserve(struct csp_segments *segments)
{
    if (segments->used > CSP_SEGMENTS_WORDS - CSP_STRETCH_WORDS)
        forget(segments);
}

/* The last of a thread that was not needed any more. Live recording makes engines by the hundred a
 * second, and clearing 2 MB for each takes as long as decoding many windows. */
static pthread_key_t spare;

static void make_spare_key(void)
{
    if (pthread_key_create(&spare, free))
        abort();
}

static struct csp_segments *take_spare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_spare_key);
    struct csp_segments *segments = pthread_getspecific(spare);
    pthread_setspecific(spare, NULL);
    return segments;
}

struct csp_segments *csp_segments_create(void)
{
    enum { LARGE_PAGE = 2 << 20 }; /* which the system may map as one: it is read all over */
    _Static_assert(sizeof(struct csp_segments) <= LARGE_PAGE, "one page");
    struct csp_segments *segments = take_spare();
    if (!segments)
        segments = csp_calloc_table(1, LARGE_PAGE);
    segments->tells = CSP_SEGMENTS_RANGES;
    forget(segments);
    return segments;
}

void csp_segments_destroy(struct csp_segments *segments)
{
    free(take_spare());
    pthread_setspecific(spare, segments);
}

void csp_segments_tell(struct csp_segments *segments, enum csp_segments_telling what)
{
    segments->tells = what;
    if (what == CSP_SEGMENTS_SUMS)
        memset(segments->sums, 0, sizeof segments->sums);
}

/* Room for a segment in its place, and for `words` behind it. Null when there is none. */
static struct csp_segment *take_room(struct csp_segments *segments, uint32_t place, uint32_t words)
{
    uint32_t used = segments->used + HEAD_WORDS + words;
    if (used > CSP_SEGMENTS_WORDS)
        return NULL;
    struct csp_segment *segment = (struct csp_segment *)&segments->words[segments->used];
    segments->places[place ^ 1] = segments->places[place];
    segments->places[place] = segments->used;
    segments->used = used;
    return segment;
}

static struct csp_segment *keep_sums(struct csp_segments *segments, uint32_t place)
{
    segments->sums[place ^ 1] = segments->sums[place];
    return &segments->sums[place];
}

static struct csp_segment *keep_ranges(struct csp_segments *segments, uint32_t place,
                                       const struct csp_segment_outcome *outcome)
{
    struct csp_segment *segment = take_room(segments, place, (outcome->count + 1) / 2);
    if (!segment)
        return NULL;
    uint32_t *ways = csp_segment_ways(segment);
    memcpy(ways, outcome->ways, CSP_SEGMENT_WAYS * sizeof *ways);
    if (outcome->count > CSP_SEGMENT_WAYS)
        memcpy(ways, outcome->ways, outcome->count * sizeof *ways);
    return segment;
}

/* Writes the branches of what was walked. Returns how many, or a negative number when one cannot be
 * packed. */
static int pack_branches(const struct csp_block_table *table,
                         const struct csp_segment_outcome *outcome,
                         struct csp_segment_branches *branches)
{
    const uint32_t begin = csp_way_numbered(table, outcome->ways[0])->start;
    csp_branch_code *code = branches->codes;
    uint64_t start = begin, from = begin, taken = 0, most = 0;
    uint32_t kind = 0;
    for (uint32_t i = 0; i < outcome->count; i++) {
        const struct csp_way *way = csp_way_numbered(table, outcome->ways[i]);
        *code = csp_branch_code_of(from - start, way->start - from, kind);
        code += taken;
        start = taken ? way->start : start;
        taken = way->tags >> 16 & 1;
        kind = way->tags >> 8 & 0xff;
        from = (uint64_t)way->end - (way->tags >> 24);
        most |= from - start;
    }
    *code = csp_branch_code_of(from - start, -from, kind);
    code += taken;
    if (csp_branch_is_far(most, 0)) /* no distance is, within one piece of code */
        return -1;
    branches->begin = begin;
    branches->start = (uint32_t)(start / 4);
    branches->taken = (uint32_t)taken;
    return (int)(code - branches->codes);
}

_Static_assert(sizeof(struct csp_segment_branches) == sizeof(uint64_t), "a word");

/* Null, too, when one of its branches cannot be packed. */
static struct csp_segment *keep_branches(struct csp_segments *segments, uint32_t place,
                                         const struct csp_block_table *table,
                                         const struct csp_segment_outcome *outcome)
{
    union {
        struct csp_segment_branches branches;
        uint64_t room[1 + CSP_SEGMENT_RANGES + 1];
    } packed;
    int count = pack_branches(table, outcome, &packed.branches);
    if (count < 0)
        return NULL;
    struct csp_segment *segment = take_room(segments, place, 1 + (uint32_t)count);
    if (segment)
        memcpy(csp_segment_branches(segment), &packed, (1 + (size_t)count) * sizeof *packed.room);
    return segment;
}

/* A place for a segment, with what is told of it. */
static struct csp_segment *keep(struct csp_segments *segments, uint32_t place,
                                const struct csp_block_table *table,
                                const struct csp_segment_outcome *outcome)
{
    switch (segments->tells) {
    case CSP_SEGMENTS_RANGES:
        return keep_ranges(segments, place, outcome);
    case CSP_SEGMENTS_BRANCHES:
        return keep_branches(segments, place, table, outcome);
    case CSP_SEGMENTS_SUMS:
        return keep_sums(segments, place);
    }
    return NULL;
}

const struct csp_segment *csp_segments_remember(struct csp_segments *segments,
                                                const struct csp_segment_key *key,
                                                struct csp_block_table *table,
                                                const struct csp_segment_outcome *outcome)
{
    struct csp_segment *segment = NULL;
    if ((uint32_t)outcome->sums <= CSP_SEGMENT_INSTRUCTIONS)
        segment = keep(segments, csp_segment_place(key), table, outcome);
    if (!segment)
        return NULL;
    uint32_t last = outcome->ways[outcome->count - 1],
             block = last - outcome->taken * CSP_WAY_UNITS;
    uint32_t link = csp_way_next(csp_way_numbered(table, last));
    if (link == CSP_BLOCK_UNKNOWN)
        link = csp_block_table_link(table, block, outcome->taken);
    *segment = (struct csp_segment){.packets = key->packets,
                                    .start = key->start,
                                    .sums = outcome->sums,
                                    .last = block | (uint32_t)outcome->taken << 31,
                                    .link = link};
    return segment;
}
