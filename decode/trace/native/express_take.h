/* The body of the express lane (express.h): compiled for any processor, and once more for newer
 * ones. The includer defines CSP_EXPRESS_TAKE, the name of its function. */
#include "decode/trace/native/express_bits.h"

/* Keeps the compiler from turning an index into one pointer for each array that it is used with:
 * there are not as many registers. */
#define KEEP_INDEX(i) __asm__("" : "+r"(i))

/* Atoms of a stretch; some more are written than count. */
enum { STRETCH = CSP_ELEMENT_BATCH, SPARE = CSP_ELEMENT_BATCH_SPARE, ATOMS_MAX = 24 };
enum { ATOM_PACKETS = 4 /* taken at once */, LANES = 4, OLD = 3, CLEARED = 16 };
_Static_assert(SPARE >= ATOM_PACKETS * ATOMS_MAX && SPARE >= STRETCH * 3 / 4, "room");

/* What an address before an atom does: the block walked is `block | (link & kept)`. A choice would
 * be compiled into a branch that cannot be predicted. */
struct mark {
    uint32_t block, kept;
};

/* An address packet that leads to a word of the region. */
struct place {
    uint32_t word, atoms; /* how many atoms came before it */
    uint32_t behind;      /* where the packet behind it begins */
};

/* A stretch. Between stretches all atoms are E and without marks. */
struct csp_express {
    uint8_t taken[STRETCH + SPARE]; /* each atom: N or E */
    struct mark marks[STRETCH + SPARE + CLEARED];
    uint64_t addresses[OLD + STRETCH]; /* behind the address history from before, oldest first */
    struct place places[STRETCH];
    size_t count, place_count; /* of atoms; of addresses, and places */
    size_t marks_end;          /* behind the last mark that may be set */
    bool goes_elsewhere; /* the last address leads to no block of this region: it has no mark */
};

/* Of `written` atoms. */
static INLINE void clear(struct csp_express *express, size_t written)
{
    typedef uint64_t four_marks __attribute__((vector_size(32), aligned(8), may_alias));
    const uint64_t none = (uint64_t)UINT32_MAX << 32; /* no block, and all of the link kept */
    const four_marks row = {none, none, none, none};
    memset(express->taken, E, written);
    for (size_t i = 0; i < express->marks_end; i += CLEARED)
        for (size_t k = 0; k < CLEARED; k += 4)
            *(four_marks *)&express->marks[i + k] = row;
}

/* ---- gathering ---- */

/* Always as many packets as fit at once, whether they are there or not: how many follow each other
 * is what the processor cannot predict. */
static INLINE size_t take_atoms(uint8_t *taken, size_t count, uint64_t bytes, unsigned bits)
{
    bytes &= (UINT64_C(1) << bits) - 1;
#pragma GCC unroll 4
    for (int i = 0; i < ATOM_PACKETS; i++, bytes >>= 8) {
        uint8_t packet = (uint8_t)bytes;
        memcpy(taken + tables.skipped[packet] + count, &tables.rows[packet], 8);
        count += tables.counts[packet];
    }
    return count;
}

/* Reads atoms and addresses until a packet comes that is neither, or is not complete, or an address
 * outside of the region. Returns where the next packet begins. */
static INLINE const uint8_t *gather(struct csp_express *express, const struct words *words,
                                    const uint8_t *at, const uint8_t *end, bool padded)
{
    const uint8_t *start = at;
    size_t count = 0, places = 0;
    /* Behind the last packet that may begin: none is shorter than a byte. */
    const uint8_t *limit = padded ? end : end - MARGIN + 1;
    if (limit - at > STRETCH)
        limit = at + STRETCH;
    express->goes_elsewhere = false;
    while (at < limit && count <= STRETCH - ATOM_PACKETS * ATOMS_MAX) {
        uint64_t bytes = csp_load64(at);
        unsigned bits = first_other(bytes);
        count = take_atoms(express->taken, count, bytes, bits);
        if (bits > 8 * ATOM_PACKETS) {
            at += ATOM_PACKETS;
            continue;
        }
        unsigned header = header_at(bytes >> bits);
        at += bits / 8;
        unsigned packet_size = tables.sizes[header];
        if (UNLIKELY(!packet_size) || (padded && packet_size > end - at))
            break;
        const struct address_form *form = &tables.address_forms[tables.forms[header]];
        uint64_t value = take_bits(csp_load64(at + 1), form->taken) << 2;
        uint64_t before = express->addresses[OLD - 1 + places - form->history];
        uint64_t address = (before & ~form->replaced) | value;
        at += packet_size;
        uint64_t offset = address - words->base;
        uint64_t word = offset >> 2 | offset
                                          << 62; /* none that is so large, unless it is aligned */
        express->addresses[OLD + places] = address;
        express->places[places++] =
            (struct place){(uint32_t)word, (uint32_t)count, (uint32_t)(at - start)};
        if (UNLIKELY(word - words->first >= words->count)) {
            express->goes_elsewhere = true;
            break;
        }
        __builtin_prefetch(&words->table->slots[word]);
    }
    express->count = count;
    express->place_count = places;
    return at;
}

/* The same of what is less than the margin. */
static INLINE const uint8_t *gather_rest(struct csp_express *express, const struct words *words,
                                         const uint8_t *at, const uint8_t *end)
{
    uint8_t rest[PADDED] = {0};
    memcpy(rest, at, (size_t)(end - at));
    return at + (gather(express, words, rest, rest + (end - at), true) - rest);
}

/* Finds the blocks at the addresses, all at once, because most are not in the processor's nearest
 * cache. Where there is none, the stretch ends. Returns where the next packet begins. */
static INLINE const uint8_t *set_marks(struct csp_express *express, const struct csp_walker *walker,
                                       const uint8_t *start, const uint8_t *behind)
{
    const uint32_t *blocks = walker->table->blocks;
    size_t inside = express->place_count - express->goes_elsewhere;
    express->marks[0] = (struct mark){walker->block, 0};
    for (size_t i = 0; i < inside; i++) {
        const struct place *place = &express->places[i];
        uint32_t slot = csp_block_table_slot(walker->table, place->word);
        if (UNLIKELY(slot >= CSP_SLOT_RUNS_OUT)) {
            express->goes_elsewhere = true;
            express->place_count = i + 1;
            express->count = place->atoms;
            behind = start + place->behind;
            break;
        }
        __builtin_prefetch(blocks + slot);
        express->marks[place->atoms] = (struct mark){slot, 0};
    }
    express->marks_end = express->count + 1;
    return behind;
}

static void load_history(struct csp_express *express, const struct csp_packet_reader *reader)
{
    for (unsigned i = 0; i < OLD; i++)
        express->addresses[i] = reader->history[OLD - 1 - i].value;
}

static void store_history(const struct csp_express *express, struct csp_packet_reader *reader)
{
    for (unsigned i = 0; i < OLD; i++)
        reader->history[i].value = express->addresses[OLD - 1 - i];
}

/* ---- walking ---- */

static INLINE uint32_t marked(const struct mark *mark, uint32_t link)
{
    return mark->block | (link & mark->kept);
}

/* Where each lane begins: at a mark, so that it need not wait for the lane before. False when there
 * are not enough marks. */
static INLINE bool find_lanes(const struct csp_express *express, size_t begin[LANES + 1],
                              size_t *steps)
{
    size_t next = 0;
    *steps = 0;
    begin[0] = 0;
    begin[LANES] = express->count;
    for (unsigned i = 1; i < LANES; i++) {
        size_t wanted = express->count * i / LANES;
        while (next < express->place_count && express->places[next].atoms < wanted)
            next++;
        begin[i] = next < express->place_count ? express->places[next].atoms : express->count;
    }
    for (unsigned i = 0; i < LANES; i++)
        if (begin[i + 1] - begin[i] > *steps)
            *steps = begin[i + 1] - begin[i];
    return *steps <= express->count * 3 / 4;
}

/* What follows the block of a range, whose link was never followed before. */
static __attribute__((noinline, cold)) uint32_t link_behind(const struct csp_walker *walker,
                                                            const struct csp_element *range,
                                                            unsigned taken)
{
    uint32_t word = (uint32_t)((range->a - walker->base) / 4);
    return csp_block_table_link(walker->table, csp_block_table_at(walker->table, word), taken == E);
}

/* Walks all of a stretch in several lanes at once, because each step of one must wait for the one
 * before. A lane that is done goes on to do what the next has done. False when there is an atom
 * whose block no link and no mark tells: then nothing has happened. */
static INLINE bool walk_in_lanes(struct csp_walker *walker, struct csp_express *express,
                                 bool returns_by_branch)
{
    size_t begin[LANES + 1], steps;
    if (!find_lanes(express, begin, &steps))
        return false;
    size_t marks_end = begin[LANES - 1] + steps;
    for (size_t i = express->count; i < marks_end; i++)
        express->marks[i] = express->marks[0];
    if (express->marks_end < marks_end)
        express->marks_end = marks_end;
    const uint32_t *blocks = walker->table->blocks;
    const csp_range_words bias = CSP_RANGE_BIAS(walker->source, walker->base);
    struct csp_element *out = walker->out->data + walker->out->len;
    uint32_t links[LANES] = {0};
    for (size_t step = 0; step < steps; step++) {
        KEEP_INDEX(step);
#pragma GCC unroll 4
        for (unsigned lane = 0; lane < LANES; lane++) {
            size_t i = lane ? begin[lane]++ : step;
            KEEP_INDEX(i);
            uint64_t number = marked(&express->marks[i], links[lane]);
            if (returns_by_branch && UNLIKELY(links[lane] == CSP_BLOCK_RETURN))
                return false;
            if (UNLIKELY(number < CSP_BLOCK_FIRST)) {
                if (number == CSP_BLOCK_UNKNOWN)
                    number = link_behind(walker, &out[i - 1], express->taken[i - 1]);
                if (number < CSP_BLOCK_FIRST)
                    return false;
            }
            const struct csp_way *way =
                (const struct csp_way *)(blocks + number + express->taken[i]);
            csp_range_put(&out[i], way, &bias);
            links[lane] = csp_way_next(way);
        }
    }
    for (unsigned lane = 0; returns_by_branch && lane < LANES - 1; lane++)
        if (links[lane] == CSP_BLOCK_RETURN) /* which is to be told before the next lane begins */
            return false;
    walker->out->len += express->count;
    return true;
}

struct walk {
    size_t at;             /* atoms walked */
    uint32_t number, link; /* the block walked last, and what follows it */
    unsigned taken;        /* how it ended: 0 or 1 */
    bool is_left;          /* it has been left by hand: the walker knows where execution is */
};

/* Walks as far as links and marks tell. */
static INLINE void walk_in_order(struct csp_walker *walker, const struct csp_express *express,
                                 struct walk *walk)
{
    const csp_range_words bias = CSP_RANGE_BIAS(walker->source, walker->base);
    csp_element_batch_reserve(walker->out, express->count - walk->at);
    struct csp_element *out = walker->out->data + walker->out->len;
    for (; walk->at < express->count; walk->at++) {
        uint32_t next = marked(&express->marks[walk->at], walk->link);
        if (UNLIKELY(next == CSP_BLOCK_UNKNOWN))
            next = csp_block_table_link(walker->table, walk->number, walk->taken);
        if (UNLIKELY(walk->link == CSP_BLOCK_RETURN) && walker->returns_by_branch)
            break;
        walk->link = next;
        if (UNLIKELY(next < CSP_BLOCK_FIRST))
            break;
        const struct csp_block *block = csp_block_numbered(walker->table, next);
        walk->number = next;
        walk->taken = express->taken[walk->at] == E;
        const struct csp_way *way = &block->ways[walk->taken];
        csp_range_put(out++, way, &bias);
        walk->link = csp_way_next(way);
    }
    walker->out->len = (size_t)(out - walker->out->data);
}

static void enter_block(struct csp_walker *walker, uint32_t number)
{
    walker->block = number;
    walker->needs_address = walker->pc_is_stale = false;
}

/* Goes on to the next mark atom by atom, and through other regions if need be. */
static void walk_by_hand(struct csp_walker *walker, const struct csp_express *express,
                         struct walk *walk)
{
    struct csp_region region = walker->region;
    enter_block(walker, walk->number); /* where a walk by hand before may have lost it */
    csp_walker_leave_block(walker, walk->number, walk->link, walk->taken);
    walk->link = CSP_BLOCK_OUTSIDE;
    for (; walk->at < express->count && !express->marks[walk->at].block; walk->at++)
        csp_walker_atoms(walker, express->taken[walk->at] == E, 1);
    walk->is_left = walk->at == express->count;
    if (!walk->is_left)
        csp_walker_change_region(walker, &region);
}

/* Says where execution is after the last atom. */
static void end_walk(struct csp_walker *walker, struct walk *walk)
{
    if (walk->link == CSP_BLOCK_UNKNOWN)
        walk->link = csp_block_table_link(walker->table, walk->number, walk->taken);
    enter_block(walker, walk->link);
    if (walk->link < CSP_BLOCK_FIRST)
        csp_walker_leave_block(walker, walk->number, walk->link, walk->taken);
}

/* A stretch that was walked in lanes: where its last atom was. */
static struct walk end_of_lanes(const struct csp_walker *walker, const struct csp_express *express)
{
    const struct csp_element *last = &walker->out->data[walker->out->len - 1];
    uint32_t word = (uint32_t)((last->a - walker->base) / 4);
    struct walk walk = {.at = express->count,
                        .number = csp_block_table_at(walker->table, word),
                        .taken = express->taken[express->count - 1] == E};
    walk.link = csp_way_next(&csp_block_numbered(walker->table, walk.number)->ways[walk.taken]);
    return walk;
}

static INLINE void walk_stretch(struct csp_walker *walker, struct csp_express *express)
{
    struct csp_region region = walker->region;
    struct walk walk = {.link = CSP_BLOCK_OUTSIDE};
    uint32_t last = express->marks[express->count].block; /* an address without an atom yet */
    csp_element_batch_reserve(walker->out, express->count);
    bool is_walked =
        express->count && (walker->returns_by_branch ? walk_in_lanes(walker, express, true)
                                                     : walk_in_lanes(walker, express, false));
    if (is_walked)
        walk = end_of_lanes(walker, express);
    while (walk.at < express->count) {
        walk_in_order(walker, express, &walk);
        if (walk.at < express->count)
            walk_by_hand(walker, express, &walk);
    }
    if (express->count && !walk.is_left)
        end_walk(walker, &walk);
    if (!last)
        return;
    csp_walker_change_region(walker, &region);
    enter_block(walker, last);
}

const uint8_t *CSP_EXPRESS_TAKE(struct csp_express *express, struct csp_walker *walker,
                                struct csp_packet_reader *reader, const uint8_t *at,
                                const uint8_t *end)
{
    const uint8_t *before = NULL;
    load_history(express, reader);
    while (at != end && at != before) {
        bool is_known = !walker->needs_address && !walker->needs_context &&
                        (walker->block >= CSP_BLOCK_FIRST || csp_walker_look_up(walker));
        if (!is_known)
            break;
        struct words words = words_of(&walker->region);
        before = at;
        at = end - at >= MARGIN ? gather(express, &words, at, end, false)
                                : gather_rest(express, &words, at, end);
        size_t written = express->count;
        at = set_marks(express, walker, before, at);
        walk_stretch(walker, express);
        clear(express, written);
        memmove(express->addresses, &express->addresses[express->place_count],
                OLD * sizeof *express->addresses);
        if (express->goes_elsewhere)
            csp_walker_jump(walker, express->addresses[OLD - 1], 0);
    }
    store_history(express, reader);
    return at;
}
