/* Walking segments and remembering them, for any processor, and the choice between the two builds
 * of what is done for each. */
#define CSP_SEGMENTS_TAKE csp_segments_take_anywhere
#include "decode/trace/native/segments_take.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- remembering ---- */

static const struct csp_segment *look_up(struct csp_segments *segments,
                                         const struct csp_segment_key *key)
{
    return csp_segment_look_up(segments, key, segments->tells == CSP_SEGMENTS_SUMS);
}

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

/* What a way adds. */
static inline csp_segment_sums sums_of(const struct csp_way *way)
{
    _Static_assert(CSP_TAG_TAKEN == 1 << 16, "to bit 48");
    return way->count | UINT64_C(1) << 32 | (uint64_t)(way->tags & CSP_TAG_TAKEN) << 32;
}

/* How a segment came out: its ranges, and whether the last one was by a branch that was taken. As
 * many ways can be read as are copied at once. */
struct outcome {
    const uint32_t *ways;
    uint32_t count;
    unsigned taken;
    csp_segment_sums sums;
};

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
                                       const struct outcome *outcome)
{
    struct csp_segment *segment = take_room(segments, place, (outcome->count + 1) / 2);
    if (!segment)
        return NULL;
    uint32_t *ways = csp_segment_ways(segment);
    memcpy(ways, outcome->ways, CSP_SEGMENT_WAYS * sizeof *ways);
    if (UNLIKELY(outcome->count > CSP_SEGMENT_WAYS))
        memcpy(ways, outcome->ways, outcome->count * sizeof *ways);
    return segment;
}

/* Null, too, when one of its branches cannot be packed. */
static struct csp_segment *keep_branches(struct csp_segments *segments, uint32_t place,
                                         const struct csp_block_table *table,
                                         const struct outcome *outcome)
{
    csp_branch_code codes[CSP_SEGMENT_RANGES + 1], *code = codes;
    const struct csp_way *way = csp_way_numbered(table, outcome->ways[0]);
    uint64_t begin = way->start, start = begin, most = 0;
    for (uint32_t i = 0;;) {
        uint64_t from = (uint64_t)way->end - (way->tags >> 24), ran = from - start;
        uint64_t taken = way->tags >> 16 & 1;
        uint32_t kind = way->tags >> 8 & 0xff;
        bool is_last = ++i == outcome->count;
        if (!is_last)
            way = csp_way_numbered(table, outcome->ways[i]);
        *code = csp_branch_code_of(ran, (is_last ? 0 : way->start) - from, kind);
        code += taken;
        most |= ran;
        if (is_last)
            break;
        start = taken ? way->start : start;
    }
    if (UNLIKELY(csp_branch_is_far(most, 0))) /* no distance is, within one piece of code */
        return NULL;
    uint32_t count = (uint32_t)(code - codes);
    struct csp_segment *segment = take_room(segments, place, 1 + count);
    if (!segment)
        return NULL;
    struct csp_segment_branches *branches = csp_segment_branches(segment);
    *branches = (struct csp_segment_branches){(uint32_t)begin, (uint32_t)start / 4,
                                              way->tags >> 16 & 1};
    memcpy(branches->codes, codes, count * sizeof *codes);
    return segment;
}

/* A place for a segment, with what is told of it. */
static struct csp_segment *keep(struct csp_segments *segments, uint32_t place,
                                const struct csp_block_table *table, const struct outcome *outcome)
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

/* Null when there is no room, or when what is told of it cannot be kept. */
static const struct csp_segment *remember(struct csp_segments *segments,
                                          const struct csp_segment_key *key,
                                          struct csp_block_table *table,
                                          const struct outcome *outcome)
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

/* ---- one at a time ---- */

enum { ATOMS = 64, TWO_PACKETS = 0xffff };

/* Of packets, the oldest in the lowest bit. */
struct atoms {
    uint64_t bits; /* the first of them */
    uint32_t count;
};

static inline struct atoms atoms_of(uint64_t packets)
{
    struct atoms atoms = {0};
    for (unsigned i = 0; i < CSP_SEGMENT_PACKETS; i++) {
        uint32_t packet = csp_packet_atoms[(uint8_t)(packets >> 8 * i)];
        atoms.bits |= (uint64_t)(packet & 0xffffff) << (atoms.count & (ATOMS - 1));
        atoms.count += packet >> 24;
    }
    return atoms;
}

/* Walks from a block on, and adds to what came out. Returns what follows, or a link that is none
 * where that was too early. */
static inline uint32_t walk_atoms(struct csp_block_table *table, uint32_t block, struct atoms atoms,
                                  uint32_t *ways, struct outcome *outcome)
{
    for (; atoms.count && block >= CSP_BLOCK_FIRST; atoms.count--, atoms.bits >>= 1) {
        outcome->taken = atoms.bits & 1;
        uint32_t number = block + outcome->taken * CSP_WAY_UNITS;
        const struct csp_way *way = csp_way_numbered(table, number);
        ways[outcome->count++] = number;
        outcome->sums += sums_of(way);
        uint32_t next = csp_way_next(way);
        block =
            next != CSP_BLOCK_UNKNOWN ? next : csp_block_table_link(table, block, outcome->taken);
    }
    return atoms.count ? CSP_BLOCK_UNKNOWN : block;
}

/* Walks the segment of a key from a block on. */
static const struct csp_segment *walk(struct csp_segments *segments,
                                      const struct csp_segment_key *key,
                                      struct csp_block_table *table, uint32_t block)
{
    uint32_t ways[CSP_SEGMENT_RANGES + CSP_SEGMENT_WAYS];
    struct outcome outcome = {.ways = ways};
    struct atoms atoms = atoms_of(key->packets);
    uint64_t packets = 0; /* that are left */
    if (UNLIKELY(atoms.count > ATOMS)) {
        packets = key->packets >> 16;
        atoms = atoms_of(key->packets & TWO_PACKETS);
    }
    for (;;) {
        block = walk_atoms(table, block, atoms, ways, &outcome);
        if (!packets || block == CSP_BLOCK_UNKNOWN)
            break;
        atoms = atoms_of(packets & TWO_PACKETS);
        packets >>= 16;
    }
    return block == CSP_BLOCK_UNKNOWN ? NULL : remember(segments, key, table, &outcome);
}

static struct csp_block_table *table_of(const struct csp_regions *regions,
                                        const struct csp_segment_key *key)
{
    return regions->met.data[csp_segment_region(key->start)].table;
}

/* ---- several at once ---- */

/* A window that was cut anywhere begins and ends with segments that come once: a stretch with more
 * of them has many. What is summed up are windows so short that it takes still more of them. */
enum { LEARN_AT = 2, LEARN_SUMS_AT = 4, LANES = 4 };

/* A segment to be walked. */
struct lane {
    struct csp_segment_key *key;
    struct atoms atoms;
    uint32_t block;
};

/* Lanes of one table. */
struct lanes {
    struct csp_block_table *table;
    uint32_t count;
    struct lane lanes[LANES];
};

/* False when it has more atoms than are walked that way. */
static bool enter_lane(struct lane *lane, struct csp_segment_key *key, uint32_t block)
{
    *lane = (struct lane){.key = key, .atoms = atoms_of(key->packets), .block = block};
    return lane->atoms.count <= ATOMS;
}

/* Walks them as long as the longest one is. What is behind a link that is none is one, too
 * (csp_block_number): so whether all links were, is told by the last. */
static void walk_lanes(struct csp_segments *segments, struct lanes *lanes)
{
    uint32_t ways[LANES][ATOMS + CSP_SEGMENT_WAYS], links[LANES], left[LANES], steps = 0;
    uint64_t bits[LANES];
    csp_segment_sums sums[LANES] = {0};
    for (uint32_t i = 0; i < LANES; i++) {
        const struct lane *lane = &lanes->lanes[i];
        bool is_there = i < lanes->count;
        links[i] = is_there ? lane->block : CSP_BLOCK_UNKNOWN;
        bits[i] = is_there ? lane->atoms.bits : 0;
        left[i] = is_there ? lane->atoms.count : 0;
        steps = left[i] > steps ? left[i] : steps;
    }
    for (uint32_t step = 0; step < steps; step++) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < LANES; i++) {
            ways[i][step] = links[i] + (uint32_t)(bits[i] & 1) * CSP_WAY_UNITS;
            bits[i] >>= 1;
            const struct csp_way *way = csp_way_numbered(lanes->table, ways[i][step]);
            sums[i] += step < left[i] ? sums_of(way) : 0;
            links[i] = csp_way_next(way);
        }
    }
    for (uint32_t i = 0; i < lanes->count; i++) {
        const struct lane *lane = &lanes->lanes[i];
        uint32_t last = lane->atoms.count - 1;
        struct outcome outcome = {ways[i], lane->atoms.count, lane->atoms.bits >> last & 1,
                                  sums[i]};
        const struct csp_segment *segment =
            ways[i][last] < CSP_BLOCK_NUMBER_FIRST
                ? NULL
                : remember(segments, lane->key, lanes->table, &outcome);
        if (segment)
            lane->key->segment = segment;
    }
    lanes->count = 0;
}

/* The keys from one on that nothing is remembered of, and where their blocks will be looked up.
 * Returns how many. */
static uint32_t find_missing(struct csp_segments *segments, const struct csp_regions *regions,
                             struct csp_segment_key *key, struct csp_segment_key **missing)
{
    uint32_t others = 0, count = 0;
    for (; key < &segments->keys[segments->key_count]; key++) {
        missing[others] = key;
        others += !csp_segment_is_of(key->segment, key);
    }
    for (uint32_t i = 0; i < others; i++) {
        key = missing[i];
        if (key->link == CSP_SEGMENT_CONTINUES) {
            const struct csp_segment *before = key[-1].segment;
            if (!csp_segment_is_of(before, key - 1) || before->link < CSP_BLOCK_FIRST)
                continue;
            csp_segment_continue(segments, key, before->link, segments->tells == CSP_SEGMENTS_SUMS);
        }
        if (key->link == CSP_BLOCK_INDIRECT)
            __builtin_prefetch(&table_of(regions, key)->slots[(uint32_t)key->start]);
        missing[count++] = key;
    }
    return count;
}

/* Walks what is not remembered of a stretch, from a key on. */
static void learn(struct csp_segments *segments, const struct csp_regions *regions,
                  struct csp_segment_key *key)
{
    struct csp_segment_key *missing[CSP_STRETCH_SEGMENTS + 1];
    struct lanes lanes = {0};
    uint32_t count = find_missing(segments, regions, key, missing);
    if (count == 1) /* it is asked for */
        return;
    for (uint32_t i = 0; i < count; i++) {
        key = missing[i];
        struct csp_block_table *table = table_of(regions, key);
        uint32_t block = key->link;
        if (block == CSP_BLOCK_INDIRECT)
            block = __atomic_load_n(&table->slots[(uint32_t)key->start], __ATOMIC_ACQUIRE);
        key->segment = look_up(segments, key); /* one before may be the same */
        if (csp_segment_is_of(key->segment, key) || block < CSP_BLOCK_FIRST ||
            block & CSP_SLOT_RUNS_OUT)
            continue;
        __builtin_prefetch(csp_block_numbered(table, block));
        if (lanes.count == LANES || (lanes.count && lanes.table != table))
            walk_lanes(segments, &lanes);
        lanes.table = table;
        lanes.count += enter_lane(&lanes.lanes[lanes.count], key, block);
    }
    if (lanes.count)
        walk_lanes(segments, &lanes);
}

/* ---- */

const struct csp_segment *csp_segments_find(struct csp_segments *segments,
                                            const struct csp_walker *walker,
                                            struct csp_segment_key *key, uint32_t link)
{
    struct csp_block_table *table = table_of(&walker->regions, key);
    if (++segments->asked == (segments->tells == CSP_SEGMENTS_SUMS ? LEARN_SUMS_AT : LEARN_AT)) {
        learn(segments, &walker->regions, key);
        if (csp_segment_is_of(key->segment, key) && key->link == link)
            return key->segment;
    }
    if (key->link == CSP_BLOCK_INDIRECT) {
        bool follows =
            link == CSP_BLOCK_INDIRECT || (link == CSP_BLOCK_RETURN && !walker->returns_by_branch);
        link = csp_block_table_slot(table, (uint32_t)key->start);
        if (!follows || link & CSP_SLOT_RUNS_OUT)
            return NULL;
    } else {
        if (link < CSP_BLOCK_FIRST)
            return NULL;
        if (key->link != link)
            csp_segment_continue(segments, key, link, segments->tells == CSP_SEGMENTS_SUMS);
    }
    const struct csp_segment *segment = look_up(segments, key);
    return csp_segment_is_of(segment, key) ? segment : walk(segments, key, table, link);
}

const uint8_t *csp_segments_take(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, bool takes_stamps,
                                 const uint8_t *at, const uint8_t *end)
{
    csp_segments_take_fn *take = csp_segments_take_anywhere;
    if (walker->has_return_stack || walker->isa != CSP_ISA_A64 ||
        (reader->history[0].isa | reader->history[1].isa | reader->history[2].isa))
        return at;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        take = csp_segments_take_avx2;
#endif
    return take(segments, walker, reader, takes_stamps, at, end);
}
