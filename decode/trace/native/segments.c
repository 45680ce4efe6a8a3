/* Walking segments, for any processor, and the choice between the two builds of what is done for
 * each. */
#define CSP_SEGMENTS_TAKE csp_segments_take_anywhere
#include "decode/trace/native/segments_take.h"

#include "decode/trace/native/segments_remember.h"

static const struct csp_segment *look_up(struct csp_segments *segments,
                                         const struct csp_segment_key *key)
{
    return csp_segment_look_up(segments, key, segments->tells == CSP_SEGMENTS_SUMS);
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

/* What a way adds. */
static inline csp_segment_sums sums_of(const struct csp_way *way)
{
    _Static_assert(CSP_TAG_TAKEN == 1 << 16, "to bit 48");
    return way->count | UINT64_C(1) << 32 | (uint64_t)(way->tags & CSP_TAG_TAKEN) << 32;
}

/* Walks from a block on, and adds to what came out. Returns what follows, or a link that is none
 * where that was too early. */
static inline uint32_t walk_atoms(struct csp_block_table *table, uint32_t block, struct atoms atoms,
                                  uint32_t *ways, struct csp_segment_outcome *outcome)
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
    struct csp_segment_outcome outcome = {.ways = ways};
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
    return block == CSP_BLOCK_UNKNOWN ? NULL
                                      : csp_segments_remember(segments, key, table, &outcome);
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
        struct csp_segment_outcome outcome = {ways[i], lane->atoms.count,
                                              lane->atoms.bits >> last & 1, sums[i]};
        const struct csp_segment *segment =
            ways[i][last] < CSP_BLOCK_NUMBER_FIRST
                ? NULL
                : csp_segments_remember(segments, lane->key, lanes->table, &outcome);
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
