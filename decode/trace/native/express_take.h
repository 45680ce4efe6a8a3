/* The body of the express lane (express.h): compiled for any processor, and once more for newer
 * ones. The includer defines CSP_EXPRESS_TAKE, the name of its function. */
#include "base/bytes.h"
#include "decode/trace/native/express.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define INLINE inline __attribute__((always_inline))

/* Atoms of a stretch; some more are written than count. */
enum { STRETCH = CSP_ELEMENT_BATCH, SPARE = CSP_ELEMENT_BATCH_SPARE, ATOMS_MAX = 24 };
enum { ATOM_PACKETS = 4 /* taken at once */, LANES = 4, OLD = 3 };
_Static_assert(SPARE >= ATOM_PACKETS * ATOMS_MAX && SPARE >= STRETCH * 3 / 4, "room");

/* What an address before an atom does: the block walked is `block | (link & kept)`. A choice would
 * be compiled into a branch that cannot be predicted. */
struct mark {
    uint32_t block, kept;
};

/* An address packet: how many atoms came before it, and where the packet behind it begins. */
struct place {
    uint64_t address;
    uint32_t atoms, behind;
};

/* Between stretches all atoms are E and without marks. */
struct stretch {
    uint8_t taken[STRETCH + SPARE]; /* each atom: 1 for E */
    struct mark marks[STRETCH + SPARE];
    struct place places[OLD + STRETCH]; /* behind the address history from before, oldest first */
    size_t count, place_count;          /* of atoms; of places, with the old ones */
    size_t atoms_written, marks_end;    /* what is not as it was between stretches */
    const uint8_t *at;                  /* where the packets begin */
    bool goes_elsewhere; /* a last address, the newest of the history, is not in this region */
};

static const struct mark no_mark = {0, UINT32_MAX};

static void prepare(struct stretch *stretch)
{
    memset(stretch->taken, 1, sizeof stretch->taken);
    for (size_t i = 0; i < STRETCH + SPARE; i++)
        stretch->marks[i] = no_mark;
}

static INLINE void prepare_again(struct stretch *stretch)
{
    memset(stretch->taken, 1, stretch->atoms_written);
    stretch->marks[0] = no_mark;
    for (size_t i = OLD; i < stretch->place_count; i++)
        stretch->marks[stretch->places[i].atoms] = no_mark;
    for (size_t i = stretch->count; i < stretch->marks_end; i++)
        stretch->marks[i] = no_mark;
}

/* ---- atoms ---- */

/* One E or N as it lies in a stretch, and rows of them, oldest first. */
#define ROW(a, b, c, d, e)                                                                         \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 |              \
     (uint64_t)(e) << 32 | UINT64_C(0x0101010000000000))
#define ALL_E UINT64_C(0x0101010101010101)
enum { N = 0, E = 1 };

/* What is behind a row is E, and stays what it is: so a packet of many E is written by its last
 * eight atoms alone. */
static const uint64_t atom_rows[256] = {
    [0 ... 0xbf] = ALL_E,
    [0xc0 ... 0xd4] = ALL_E,
    [0xe0] = ROW(E, E, E, N, E),
    [0xe1] = ROW(E, E, E, E, N),
    [0xe2] = ALL_E ^ UINT64_C(1) << 40,
    [0xe3] = ALL_E ^ UINT64_C(1) << 48,
    [0xe4 ... 0xf4] = ALL_E ^ UINT64_C(1) << 56,
    [0xd5] = ROW(N, N, N, N, N),
    [0xd6] = ROW(N, E, N, E, N),
    [0xd7] = ROW(E, N, E, N, E),
    [0xf5] = ROW(N, E, E, E, E),
    [0xd8] = ROW(N, N, E, E, E),
    [0xd9] = ROW(E, N, E, E, E),
    [0xda] = ROW(N, E, E, E, E),
    [0xdb] = ALL_E,
    [0xdc] = ROW(N, E, E, E, E),
    [0xdd] = ROW(N, N, N, N, E),
    [0xde] = ROW(N, E, N, E, E),
    [0xdf] = ROW(E, N, E, N, E),
    [0xf6] = ROW(N, E, E, E, E),
    [0xf7] = ALL_E,
    [0xf8] = ROW(N, N, N, E, E),
    [0xf9] = ROW(E, N, N, E, E),
    [0xfa] = ROW(N, E, N, E, E),
    [0xfb] = ROW(E, E, N, E, E),
    [0xfc] = ROW(N, N, E, E, E),
    [0xfd] = ROW(E, N, E, E, E),
    [0xfe] = ROW(N, E, E, E, E),
    [0xff] = ALL_E,
};

/* How many atoms, and where the row begins. */
struct atom_size {
    uint8_t count, row;
};
#define SIX(n)                                                                                     \
    [0xc0 + (n) - 4] = {n, (n) > 8 ? (n) - 8 : 0}, [0xe0 + (n) - 4] = {n, (n) > 8 ? (n) - 8 : 0}
static const struct atom_size atom_sizes[256] = {
    SIX(4),
    SIX(5),
    SIX(6),
    SIX(7),
    SIX(8),
    SIX(9),
    SIX(10),
    SIX(11),
    SIX(12),
    SIX(13),
    SIX(14),
    SIX(15),
    SIX(16),
    SIX(17),
    SIX(18),
    SIX(19),
    SIX(20),
    SIX(21),
    SIX(22),
    SIX(23),
    SIX(24),
    [0xd5 ... 0xd7] = {5, 0},
    [0xd8 ... 0xdb] = {2, 0},
    [0xdc ... 0xdf] = {4, 0},
    [0xf5] = {5, 0},
    [0xf6 ... 0xf7] = {1, 0},
    [0xf8 ... 0xff] = {3, 0},
};

/* ---- addresses ---- */

/* Address packets of IS0 without context, read without a branch: which bits of the payload, shifted
 * left by two for the first byte and one for the second, replace those of which address before. */
struct address_form {
    uint64_t second, high, replaced, history;
};

enum { FORM_NONE, FORM_MATCH, FORM_SHORT = 4, FORM_LONG, FORM_LONG_64, FORMS };

/* Index: the form, and whether the first byte says that a second follows. */
#define EITHER(...) {__VA_ARGS__, __VA_ARGS__}
static const struct address_form address_forms[FORMS][2] = {
    [FORM_MATCH] = EITHER({.history = 0}),
    [FORM_MATCH + 1] = EITHER({.history = 1}),
    [FORM_MATCH + 2] = EITHER({.history = 2}),
    [FORM_SHORT] = {{.replaced = 0x1fc}, {.second = 0xff00, .replaced = 0x1fffc}},
    [FORM_LONG] = EITHER({.second = 0x7f00, .high = 0xffff0000, .replaced = 0xffffffff}),
    [FORM_LONG_64] =
        EITHER({.second = 0x7f00, .high = UINT64_C(0xffffffffffff0000), .replaced = UINT64_MAX}),
};

static const uint8_t form_of_header[256] = {
    [0x90] = FORM_MATCH, [0x91] = FORM_MATCH + 1, [0x92] = FORM_MATCH + 2,
    [0x95] = FORM_SHORT, [0x9a] = FORM_LONG,      [0x9d] = FORM_LONG_64,
};

/* Of the whole packet, by its header and whether the byte behind that says that one follows: what
 * the next packet has to wait for. */
#define SIZE(header, size, continued) [header] = (size), [0x100 + (header)] = (continued)
static const uint8_t address_sizes[512] = {
    SIZE(0x90, 1, 1), SIZE(0x91, 1, 1), SIZE(0x92, 1, 1),
    SIZE(0x95, 2, 3), SIZE(0x9a, 5, 5), SIZE(0x9d, 9, 9),
};

/* The lowest of eight bytes that is no atom packet, which are 11xxxxxx: 8 times its number. */
static INLINE unsigned first_other(uint64_t bytes)
{
    uint64_t others = ~(bytes & bytes << 1) & UINT64_C(0x8080808080808080);
    return others ? (unsigned)__builtin_ctzll(others) - 7 : 64;
}

/* Always as many packets as fit at once, whether they are there or not: how many follow each other
 * is what the processor cannot predict. */
static INLINE size_t take_atoms(uint8_t *taken, size_t count, uint64_t bytes, unsigned bits)
{
    bytes &= bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
#pragma GCC unroll 4
    for (int i = 0; i < ATOM_PACKETS; i++, bytes >>= 8) {
        struct atom_size size = atom_sizes[bytes & 0xff];
        memcpy(taken + count + size.row, &atom_rows[bytes & 0xff], 8);
        count += size.count;
    }
    return count;
}

/* Reads atoms and addresses until a packet comes that is neither, or an address outside of
 * [start, start + size). Returns where the next packet begins. */
static INLINE const uint8_t *gather(struct stretch *stretch, uint64_t start, uint64_t size,
                                    const uint8_t *at, const uint8_t *end)
{
    struct place *place = stretch->places + OLD;
    size_t count = 0;
    stretch->at = at;
    stretch->goes_elsewhere = false;
    while (end - at >= CSP_PACKET_SIZE_MAX && count <= STRETCH - ATOM_PACKETS * ATOMS_MAX &&
           place < stretch->places + OLD + STRETCH) {
        uint64_t bytes = csp_load64(at);
        unsigned bits = first_other(bytes);
        count = take_atoms(stretch->taken, count, bytes, bits);
        if (bits > 8 * ATOM_PACKETS) {
            at += ATOM_PACKETS;
            continue;
        }
        unsigned header = bytes >> bits & 0xff, is_continued = bytes >> bits >> 15 & 1;
        at += bits / 8;
        unsigned packet_size = address_sizes[header | is_continued << 8];
        if (UNLIKELY(!packet_size))
            break;
        uint64_t payload = csp_load64(at + 1);
        const struct address_form *form = &address_forms[form_of_header[header]][is_continued];
        uint64_t value =
            (payload & 0x7f) << 2 | (payload & form->second) << 1 | (payload & form->high);
        uint64_t before = place[-1 - (int)form->history].address;
        uint64_t address = (before & ~form->replaced) | (value & form->replaced);
        at += packet_size;
        *place++ = (struct place){address, (uint32_t)count, (uint32_t)(at - stretch->at)};
        if (UNLIKELY(address - start >= size) || UNLIKELY(address & 3)) {
            stretch->goes_elsewhere = true;
            break;
        }
    }
    stretch->count = stretch->atoms_written = count;
    stretch->marks_end = 0;
    stretch->place_count = (size_t)(place - stretch->places);
    return at;
}

/* Finds the blocks at the addresses, all at once, because most are not in the processor's cache.
 * Where there is none, the stretch ends. */
static INLINE const uint8_t *set_marks(const struct csp_walker *walker, struct stretch *stretch,
                                       const uint8_t *behind)
{
    size_t inside = stretch->place_count - stretch->goes_elsewhere;
    stretch->marks[0] = (struct mark){walker->block, 0};
    for (size_t i = OLD; i < inside; i++) {
        const struct place *place = &stretch->places[i];
        uint32_t word = (uint32_t)((place->address - walker->base) >> 2);
        uint32_t slot = csp_block_table_slot(walker->table, word);
        if (UNLIKELY(slot >= CSP_SLOT_RUNS_OUT)) {
            stretch->goes_elsewhere = true;
            stretch->place_count = i + 1;
            stretch->count = place->atoms;
            return stretch->at + place->behind;
        }
        stretch->marks[place->atoms] = (struct mark){slot, 0};
    }
    return behind;
}

/* How much from the start of the region in force on is both in it and in its table. */
static uint64_t known_size(const struct csp_walker *walker)
{
    const struct csp_code_region *region = &walker->region;
    uint64_t known = walker->base + 4 * (uint64_t)walker->table->words;
    return (region->end < known ? region->end : known) - region->start;
}

static void load_history(struct stretch *stretch, const struct csp_packet_reader *reader)
{
    for (unsigned i = 0; i < OLD; i++)
        stretch->places[i].address = reader->history[OLD - 1 - i].value;
}

static void store_history(const struct stretch *stretch, struct csp_packet_reader *reader)
{
    for (unsigned i = 0; i < OLD; i++)
        reader->history[i].value = stretch->places[OLD - 1 - i].address;
}

/* ---- walking ---- */

static INLINE uint32_t marked(const struct mark *mark, uint32_t link)
{
    return mark->block | (link & mark->kept);
}

/* Where each lane begins: at a mark, so that it need not wait for the lane before. False when there
 * are not enough marks. */
static INLINE bool find_lanes(const struct stretch *stretch, size_t begin[LANES + 1], size_t *steps)
{
    size_t next = OLD;
    *steps = 0;
    begin[0] = 0;
    begin[LANES] = stretch->count;
    for (unsigned i = 1; i < LANES; i++) {
        size_t wanted = stretch->count * i / LANES;
        while (next < stretch->place_count && stretch->places[next].atoms < wanted)
            next++;
        begin[i] = next < stretch->place_count ? stretch->places[next].atoms : stretch->count;
    }
    for (unsigned i = 0; i < LANES; i++)
        if (begin[i + 1] - begin[i] > *steps)
            *steps = begin[i + 1] - begin[i];
    return *steps <= stretch->count * 3 / 4;
}

/* What follows the block of a range, whose link was never followed before. */
static __attribute__((noinline, cold)) uint32_t link_behind(const struct csp_walker *walker,
                                                            const struct csp_element *range,
                                                            unsigned taken)
{
    uint32_t word = (uint32_t)((range->a - walker->base) / 4);
    return csp_block_table_link(walker->table, csp_block_table_at(walker->table, word), taken);
}

/* Walks all of a stretch in several lanes at once, because each step of one must wait for the one
 * before. A lane that is done goes on to do what the next has done. False when there is an atom
 * whose block no link and no mark tells: then nothing has happened. */
static INLINE bool walk_in_lanes(struct csp_walker *walker, struct stretch *stretch,
                                 bool returns_by_branch)
{
    size_t begin[LANES + 1], steps;
    if (!find_lanes(stretch, begin, &steps))
        return false;
    stretch->marks_end = begin[LANES - 1] + steps;
    for (size_t i = stretch->count; i < stretch->marks_end; i++)
        stretch->marks[i] = stretch->marks[0];
    const uint64_t *blocks = walker->table->blocks;
    const csp_range_words bias = CSP_RANGE_BIAS(walker->source, walker->base);
    struct csp_element *out = walker->out->data + walker->out->len;
    uint32_t links[LANES] = {0};
    size_t at[LANES];
    memcpy(at, begin, sizeof at);
    for (size_t step = 0; step < steps; step++) {
#pragma GCC unroll 4
        for (unsigned lane = 0; lane < LANES; lane++) {
            size_t i = at[lane]++;
            uint32_t number = marked(&stretch->marks[i], links[lane]);
            if (returns_by_branch && UNLIKELY(links[lane] == CSP_BLOCK_RETURN))
                return false;
            if (UNLIKELY(number < CSP_BLOCK_FIRST)) {
                if (number == CSP_BLOCK_UNKNOWN)
                    number = link_behind(walker, &out[i - 1], stretch->taken[i - 1]);
                if (number < CSP_BLOCK_FIRST)
                    return false;
            }
            const struct csp_block *block = (const struct csp_block *)(blocks + number);
            unsigned taken = stretch->taken[i];
            csp_range_put(&out[i], block, &bias, taken);
            links[lane] = __atomic_load_n(block->next + taken, __ATOMIC_ACQUIRE);
        }
    }
    for (unsigned lane = 0; returns_by_branch && lane < LANES - 1; lane++)
        if (links[lane] == CSP_BLOCK_RETURN) /* which is to be told before the next lane begins */
            return false;
    walker->out->len += stretch->count;
    return true;
}

struct walk {
    size_t at;             /* atoms walked */
    uint32_t number, link; /* the block walked last, and what follows it */
    unsigned taken;        /* how it ended */
    bool is_left;          /* it has been left by hand: the walker knows where execution is */
};

/* Walks as far as links and marks tell. */
static INLINE void walk_in_order(struct csp_walker *walker, const struct stretch *stretch,
                                 struct walk *walk)
{
    const csp_range_words bias = CSP_RANGE_BIAS(walker->source, walker->base);
    csp_element_batch_reserve(walker->out, stretch->count - walk->at);
    struct csp_element *out = walker->out->data + walker->out->len;
    for (; walk->at < stretch->count; walk->at++) {
        uint32_t next = marked(&stretch->marks[walk->at], walk->link);
        if (UNLIKELY(next == CSP_BLOCK_UNKNOWN))
            next = csp_block_table_link(walker->table, walk->number, walk->taken);
        if (UNLIKELY(walk->link == CSP_BLOCK_RETURN) && walker->returns_by_branch)
            break;
        walk->link = next;
        if (UNLIKELY(next < CSP_BLOCK_FIRST))
            break;
        const struct csp_block *block = csp_block_numbered(walker->table, next);
        walk->number = next;
        walk->taken = stretch->taken[walk->at];
        csp_range_put(out++, block, &bias, walk->taken);
        walk->link = __atomic_load_n(&block->next[walk->taken], __ATOMIC_ACQUIRE);
    }
    walker->out->len = (size_t)(out - walker->out->data);
}

static void return_to(struct csp_walker *walker, const struct csp_code_region *region,
                      struct csp_block_table *table)
{
    walker->table = table;
    walker->region = *region;
    walker->base = region->base;
}

static void enter_block(struct csp_walker *walker, uint32_t number)
{
    walker->block = number;
    walker->needs_address = walker->pc_is_stale = false;
}

/* Goes on to the next mark atom by atom, and through other regions if need be. */
static void walk_by_hand(struct csp_walker *walker, const struct stretch *stretch,
                         struct walk *walk)
{
    struct csp_block_table *table = walker->table;
    struct csp_code_region region = walker->region;
    enter_block(walker, walk->number); /* where a walk by hand before may have lost it */
    csp_walker_leave_block(walker, walk->number, walk->link, walk->taken);
    walk->link = CSP_BLOCK_OUTSIDE;
    for (; walk->at < stretch->count && !stretch->marks[walk->at].block; walk->at++)
        csp_walker_atoms(walker, stretch->taken[walk->at], 1);
    walk->is_left = walk->at == stretch->count;
    if (!walk->is_left)
        return_to(walker, &region, table);
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
static struct walk end_of_lanes(const struct csp_walker *walker, const struct stretch *stretch)
{
    const struct csp_element *last = &walker->out->data[walker->out->len - 1];
    uint32_t word = (uint32_t)((last->a - walker->base) / 4);
    struct walk walk = {.at = stretch->count,
                        .number = csp_block_table_at(walker->table, word),
                        .taken = stretch->taken[stretch->count - 1]};
    walk.link = csp_block_numbered(walker->table, walk.number)->next[walk.taken];
    return walk;
}

static INLINE void walk_stretch(struct csp_walker *walker, struct stretch *stretch)
{
    struct csp_block_table *table = walker->table;
    struct csp_code_region region = walker->region;
    struct walk walk = {.link = CSP_BLOCK_OUTSIDE};
    uint32_t last = stretch->marks[stretch->count].block; /* an address without an atom yet */
    csp_element_batch_reserve(walker->out, stretch->count);
    bool is_walked =
        stretch->count && (walker->returns_by_branch ? walk_in_lanes(walker, stretch, true)
                                                     : walk_in_lanes(walker, stretch, false));
    if (is_walked)
        walk = end_of_lanes(walker, stretch);
    while (walk.at < stretch->count) {
        walk_in_order(walker, stretch, &walk);
        if (walk.at < stretch->count)
            walk_by_hand(walker, stretch, &walk);
    }
    if (stretch->count && !walk.is_left)
        end_walk(walker, &walk);
    if (!last)
        return;
    return_to(walker, &region, table);
    enter_block(walker, last);
}

const uint8_t *CSP_EXPRESS_TAKE(struct csp_walker *walker, struct csp_packet_reader *reader,
                                const uint8_t *at, const uint8_t *end)
{
    struct stretch stretch;
    const uint8_t *before;
    prepare(&stretch);
    load_history(&stretch, reader);
    do {
        bool is_known = !walker->needs_address && !walker->needs_context &&
                        (walker->block >= CSP_BLOCK_FIRST || csp_walker_look_up(walker));
        if (!is_known)
            break;
        before = at;
        at = gather(&stretch, walker->region.start, known_size(walker), at, end);
        at = set_marks(walker, &stretch, at);
        walk_stretch(walker, &stretch);
        prepare_again(&stretch);
        memmove(stretch.places, &stretch.places[stretch.place_count - OLD],
                OLD * sizeof *stretch.places);
        if (stretch.goes_elsewhere)
            csp_walker_jump(walker, stretch.places[OLD - 1].address, 0);
    } while (at != before);
    store_history(&stretch, reader);
    return at;
}
