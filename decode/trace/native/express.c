#include "decode/trace/native/express.h"

#include "base/bytes.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* An atom takes two bits of the stretch, from the lowest on: E, and marked. */
enum { ATOM_BITS = 2, TAKEN = 1, MARKED = 2, ATOMS_PER_WORD = 64 / ATOM_BITS };
enum { STRETCH_BYTES = 512, STARTS_MAX = 1024, PACKET_BYTES_MAX = 6 };

struct stretch {
    uint64_t words[STRETCH_BYTES / 8 + 2];
    uint32_t starts[STARTS_MAX + 1]; /* the blocks at the marks */
    size_t atom_count, start_count;
    bool ends_in_address; /* the last of the starts has no atom yet */
    bool goes_elsewhere;  /* a last address, the newest of the history, is not in this region */
};

/* ---- atoms ---- */

/* One E or N as it lies in a stretch, and rows of them, oldest first. */
enum { N = 0, E = 1 };
#define ROW2(a, b) ((uint64_t)(a) | (uint64_t)(b) << 2)
#define ROW3(a, b, c) (ROW2(a, b) | (uint64_t)(c) << 4)
#define ROW4(a, b, c, d) (ROW3(a, b, c) | (uint64_t)(d) << 6)
#define ROW5(a, b, c, d, e) (ROW4(a, b, c, d) | (uint64_t)(e) << 8)
#define ALL_E(count) (UINT64_C(0x5555555555555555) >> (64 - 2 * (count)))
/* With how many bits they take, in the highest byte. */
#define ATOMS(count, row) ((uint64_t)(row) | (uint64_t)(2 * (count)) << 56)
#define EEE_E(count) ATOMS((count) + 1, ALL_E((count) + 1))
#define EEE_N(count) ATOMS((count) + 1, ALL_E(count))

/* csp_packet_atoms, spread out. */
static const uint64_t spread_atoms[256] = {
    [0xc0] = EEE_E(3),
    EEE_E(4),
    EEE_E(5),
    EEE_E(6),
    EEE_E(7),
    EEE_E(8),
    EEE_E(9),
    EEE_E(10),
    EEE_E(11),
    EEE_E(12),
    EEE_E(13),
    EEE_E(14),
    EEE_E(15),
    EEE_E(16),
    EEE_E(17),
    EEE_E(18),
    EEE_E(19),
    EEE_E(20),
    EEE_E(21),
    EEE_E(22),
    EEE_E(23),
    [0xe0] = EEE_N(3),
    EEE_N(4),
    EEE_N(5),
    EEE_N(6),
    EEE_N(7),
    EEE_N(8),
    EEE_N(9),
    EEE_N(10),
    EEE_N(11),
    EEE_N(12),
    EEE_N(13),
    EEE_N(14),
    EEE_N(15),
    EEE_N(16),
    EEE_N(17),
    EEE_N(18),
    EEE_N(19),
    EEE_N(20),
    EEE_N(21),
    EEE_N(22),
    EEE_N(23),
    [0xd5] = ATOMS(5, ROW5(N, N, N, N, N)),
    [0xd6] = ATOMS(5, ROW5(N, E, N, E, N)),
    [0xd7] = ATOMS(5, ROW5(E, N, E, N, E)),
    [0xf5] = ATOMS(5, ROW5(N, E, E, E, E)),
    [0xd8] = ATOMS(2, ROW2(N, N)),
    [0xd9] = ATOMS(2, ROW2(E, N)),
    [0xda] = ATOMS(2, ROW2(N, E)),
    [0xdb] = ATOMS(2, ROW2(E, E)),
    [0xdc] = ATOMS(4, ROW4(N, E, E, E)),
    [0xdd] = ATOMS(4, ROW4(N, N, N, N)),
    [0xde] = ATOMS(4, ROW4(N, E, N, E)),
    [0xdf] = ATOMS(4, ROW4(E, N, E, N)),
    [0xf6] = ATOMS(1, N),
    [0xf7] = ATOMS(1, E),
    [0xf8] = ATOMS(3, ROW3(N, N, N)),
    [0xf9] = ATOMS(3, ROW3(E, N, N)),
    [0xfa] = ATOMS(3, ROW3(N, E, N)),
    [0xfb] = ATOMS(3, ROW3(E, E, N)),
    [0xfc] = ATOMS(3, ROW3(N, N, E)),
    [0xfd] = ATOMS(3, ROW3(E, N, E)),
    [0xfe] = ATOMS(3, ROW3(N, E, E)),
    [0xff] = ATOMS(3, ROW3(E, E, E)),
};

/* ---- addresses ---- */

/* Address packets of IS0 without context, read without a branch: which bits of the payload, shifted
 * left by two for the first byte and one for the second, replace those of which address before. */
struct address_form {
    uint64_t second, high, replaced;
    uint8_t history, size;
};

enum { FORM_NONE, FORM_MATCH, FORM_SHORT = 4, FORM_LONG, FORM_LONG_64, FORMS };

/* Index: the form, and whether the first byte says that a second follows. */
#define EITHER(...) {__VA_ARGS__, __VA_ARGS__}
static const struct address_form address_forms[FORMS][2] = {
    [FORM_MATCH] = EITHER({.size = 1, .history = 0}),
    [FORM_MATCH + 1] = EITHER({.size = 1, .history = 1}),
    [FORM_MATCH + 2] = EITHER({.size = 1, .history = 2}),
    [FORM_SHORT] = {{.size = 2, .replaced = 0x1fc},
                    {.size = 3, .second = 0xff00, .replaced = 0x1fffc}},
    [FORM_LONG] = EITHER({.size = 5, .second = 0x7f00, .high = 0xffff0000, .replaced = 0xffffffff}),
    [FORM_LONG_64] = EITHER({.size = 9,
                             .second = 0x7f00,
                             .high = UINT64_C(0xffffffffffff0000),
                             .replaced = UINT64_MAX}),
};

static const uint8_t form_of_header[256] = {
    [0x90] = FORM_MATCH, [0x91] = FORM_MATCH + 1, [0x92] = FORM_MATCH + 2,
    [0x95] = FORM_SHORT, [0x9a] = FORM_LONG,      [0x9d] = FORM_LONG_64,
};

/* ---- gathering ---- */

/* The region in force, in a form in which an address is looked up quickly. */
struct place {
    struct csp_block_table *table;
    uint64_t start, size; /* addresses that both region and table hold */
    uint64_t base;
};

static struct place place_of(const struct csp_walker *walker)
{
    const struct csp_code_region *region = &walker->region;
    uint64_t known = walker->base + 4 * (uint64_t)walker->table->words;
    uint64_t end = region->end < known ? region->end : known;
    return (struct place){walker->table, region->start, end - region->start, walker->base};
}

/* The block at an address; CSP_BLOCK_UNKNOWN when it is elsewhere, or runs out of the code. */
static inline uint32_t block_at(const struct place *place, uint64_t address)
{
    if (UNLIKELY(address - place->start >= place->size) || UNLIKELY(address & 3))
        return CSP_BLOCK_UNKNOWN;
    uint32_t slot = csp_block_table_slot(place->table, (uint32_t)((address - place->base) >> 2));
    return slot < CSP_SLOT_RUNS_OUT ? slot : CSP_BLOCK_UNKNOWN;
}

static const uint8_t *gather(const struct csp_walker *walker, struct csp_packet_reader *reader,
                             struct stretch *stretch, const uint8_t *at, const uint8_t *end)
{
    const struct place place = place_of(walker);
    uint64_t history[3] = {reader->history[0].value, reader->history[1].value,
                           reader->history[2].value};
    uint8_t *const first = (uint8_t *)stretch->words;
    uint8_t *out = first, *const full = first + STRETCH_BYTES - PACKET_BYTES_MAX;
    uint64_t bits = 0, mark = MARKED; /* of the byte at `out` on; for the next atom */
    unsigned fill = 0;
    size_t starts = 1;
    stretch->starts[0] = walker->block;
    stretch->goes_elsewhere = false;
    while (end - at >= CSP_PACKET_SIZE_MAX && out < full && starts < STARTS_MAX) {
        uint64_t atoms = spread_atoms[*at];
        if (atoms) {
            bits |= ((atoms & UINT64_MAX >> 8) | mark) << fill;
            memcpy(out, &bits, sizeof bits);
            fill += (unsigned)(atoms >> 56);
            unsigned whole = fill / 8;
            out += whole;
            bits >>= 8 * whole;
            fill %= 8;
            mark = 0;
            at++;
            continue;
        }
        unsigned form_number = form_of_header[*at];
        if (!form_number)
            break;
        uint64_t payload = csp_load64(at + 1);
        const struct address_form *form = &address_forms[form_number][payload >> 7 & 1];
        uint64_t value =
            (payload & 0x7f) << 2 | (payload & form->second) << 1 | (payload & form->high);
        uint64_t address = (history[form->history] & ~form->replaced) | (value & form->replaced);
        history[2] = history[1];
        history[1] = history[0];
        history[0] = address;
        at += form->size;
        uint32_t block = block_at(&place, address);
        if (UNLIKELY(block < CSP_BLOCK_FIRST)) {
            stretch->goes_elsewhere = true;
            break;
        }
        starts -= mark / MARKED; /* no atom came since the address before */
        stretch->starts[starts++] = block;
        mark = MARKED;
    }
    stretch->starts[starts] = CSP_BLOCK_UNKNOWN; /* looked at, never used */
    stretch->atom_count = ((size_t)(out - first) * 8 + fill) / ATOM_BITS;
    stretch->start_count = starts;
    stretch->ends_in_address = mark;
    for (unsigned i = 0; i < 3; i++)
        reader->history[i].value = history[i];
    return at;
}

/* ---- walking ---- */

struct walk {
    const uint64_t *words;
    size_t at, count; /* atoms */
    const uint32_t *starts;
    uint32_t number, link; /* the block walked last, and what follows it */
    unsigned taken;        /* how it ended */
    bool is_left;          /* it has been left by hand: the walker knows where execution is */
};

/* Walks `count` atoms of one word; stops before one that has no block. */
static inline __attribute__((always_inline)) void walk_word(struct csp_walker *walker,
                                                            struct walk *walk, uint64_t atoms,
                                                            size_t count, bool returns_by_branch)
{
    const struct csp_block *blocks = walker->table->blocks;
    const uint64_t base = walker->base, header = csp_range_header(walker->source);
    csp_element_batch_reserve(walker->out, count);
    struct csp_element *out = walker->out->data + walker->out->len;
    struct csp_element *const stop = out + count;
    const uint32_t *starts = walk->starts;
    uint32_t link = walk->link, number = walk->number;
    unsigned taken = walk->taken;
    while (out < stop) {
        if (returns_by_branch && UNLIKELY(link == CSP_BLOCK_RETURN))
            break;
        uint32_t start = *starts;
        uint32_t next = atoms & MARKED ? start : link;
        if (UNLIKELY(next < CSP_BLOCK_FIRST))
            break;
        starts += atoms >> 1 & 1;
        taken = atoms & TAKEN;
        atoms >>= ATOM_BITS;
        number = next;
        csp_range_put(out++, header, base, &blocks[number], taken);
        link = __atomic_load_n(&blocks[number].next[taken], __ATOMIC_ACQUIRE);
    }
    walk->at += count - (size_t)(stop - out);
    walker->out->len = (size_t)(out - walker->out->data);
    walk->starts = starts;
    walk->link = link;
    walk->number = number;
    walk->taken = taken;
}

static unsigned atom_at(const struct walk *walk)
{
    return walk->words[walk->at / ATOMS_PER_WORD] >> (walk->at % ATOMS_PER_WORD * ATOM_BITS) &
           (TAKEN | MARKED);
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
static void walk_by_hand(struct csp_walker *walker, struct walk *walk)
{
    struct csp_block_table *table = walker->table;
    struct csp_code_region region = walker->region;
    enter_block(walker, walk->number); /* where a walk by hand before may have lost it */
    csp_walker_leave_block(walker, walk->number, walk->link, walk->taken);
    walk->link = CSP_BLOCK_OUTSIDE;
    for (; walk->at < walk->count; walk->at++) {
        unsigned atom = atom_at(walk);
        if (atom & MARKED)
            break;
        csp_walker_atoms(walker, atom & TAKEN, 1);
    }
    walk->is_left = walk->at == walk->count;
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

static void walk_stretch(struct csp_walker *walker, const struct stretch *stretch)
{
    struct csp_block_table *table = walker->table;
    struct csp_code_region region = walker->region;
    struct walk walk = {.words = stretch->words,
                        .count = stretch->atom_count,
                        .starts = stretch->starts,
                        .link = CSP_BLOCK_OUTSIDE};
    while (walk.at < walk.count) {
        size_t within = walk.at % ATOMS_PER_WORD, left = walk.count - walk.at;
        size_t count = ATOMS_PER_WORD - within < left ? ATOMS_PER_WORD - within : left;
        uint64_t atoms = walk.words[walk.at / ATOMS_PER_WORD] >> (within * ATOM_BITS);
        size_t before = walk.at;
        if (walker->returns_by_branch)
            walk_word(walker, &walk, atoms, count, true);
        else
            walk_word(walker, &walk, atoms, count, false);
        if (walk.at - before == count)
            continue;
        if (walk.link == CSP_BLOCK_UNKNOWN)
            walk.link = csp_block_table_link(walker->table, walk.number, walk.taken);
        if (walk.link < CSP_BLOCK_FIRST)
            walk_by_hand(walker, &walk);
    }
    if (walk.count && !walk.is_left)
        end_walk(walker, &walk);
    if (!stretch->ends_in_address)
        return;
    return_to(walker, &region, table);
    enter_block(walker, stretch->starts[stretch->start_count - 1]);
}

const uint8_t *csp_express_take(struct csp_walker *walker, struct csp_packet_reader *reader,
                                const uint8_t *at, const uint8_t *end)
{
    struct stretch stretch;
    const uint8_t *before;
    if (walker->has_return_stack || walker->isa != CSP_ISA_A64 ||
        (reader->history[0].isa | reader->history[1].isa | reader->history[2].isa))
        return at;
    do {
        bool is_known = !walker->needs_address && !walker->needs_context &&
                        (walker->block >= CSP_BLOCK_FIRST || csp_walker_look_up(walker));
        if (!is_known)
            return at;
        before = at;
        at = gather(walker, reader, &stretch, at, end);
        walk_stretch(walker, &stretch);
        if (stretch.goes_elsewhere)
            csp_walker_jump(walker, reader->history[0].value, 0);
    } while (at != before);
    return at;
}
