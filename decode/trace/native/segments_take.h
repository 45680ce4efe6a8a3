/* The body of csp_segments_take (segments.h): compiled for any processor, and once more for newer
 * ones. The includer defines CSP_SEGMENTS_TAKE, the name of its function. */
#include "decode/trace/native/express_bits.h"
#include "decode/trace/native/segments.h"

enum { PACKETS = 4 /* of atoms, taken at once */, STRETCH_RANGES = 1 << 10 };

/* A stretch as far as it was taken. */
struct stretch {
    struct csp_segments *segments;
    struct csp_block_table *table; /* of the region in force … */
    uint64_t base;                 /* … and where that is */
    uint64_t start;
    uint32_t block; /* that comes next; below CSP_BLOCK_FIRST: what came of the last one */
    uint32_t last;  /* block, how it ended, 0 or 1, and in which region */
    unsigned last_taken;
    const struct csp_block_table *last_table;
    uint64_t last_base;
    bool may_jump; /* an address may come without ending the stretch */
    uint32_t ranges, branches, instructions;
    uint64_t row; /* atoms since `block` began */
    unsigned row_len;
};

static INLINE uint64_t start_of(const struct stretch *stretch)
{
    return stretch->base + csp_block_start(csp_block_numbered(stretch->table, stretch->block));
}

/* Adds the atoms of the row; false when that is not possible. */
static INLINE bool take_segment(struct stretch *stretch, bool returns_by_branch)
{
    uint64_t atoms = stretch->row | UINT64_C(1) << stretch->row_len;
    const struct csp_segment *segment =
        csp_segments_find(stretch->segments, stretch->table, stretch->block, atoms);
    if (UNLIKELY(!segment))
        return false;
    if (!stretch->ranges)
        stretch->start = start_of(stretch);
    stretch->ranges += stretch->row_len;
    stretch->branches += segment->sums >> CSP_SEGMENT_BRANCHES;
    stretch->instructions += segment->sums & ((UINT32_C(1) << CSP_SEGMENT_BRANCHES) - 1);
    stretch->last = segment->last;
    stretch->last_taken = stretch->row >> (stretch->row_len - 1) & 1;
    stretch->last_table = stretch->table;
    stretch->last_base = stretch->base;
    stretch->block = segment->link;
    stretch->may_jump = segment->link == CSP_BLOCK_INDIRECT ||
                        (segment->link == CSP_BLOCK_RETURN && !returns_by_branch);
    stretch->row = stretch->row_len = 0;
    return true;
}

static INLINE void tell_stretch(const struct stretch *stretch, struct csp_walker *walker)
{
    if (!stretch->ranges)
        return;
    const struct csp_way *way =
        &csp_block_numbered(stretch->last_table, stretch->last)->ways[stretch->last_taken];
    struct csp_element *element =
        csp_element_batch_add(walker->out, CSP_ELEMENT_STRETCH, walker->source);
    memcpy(element, &way->tags, sizeof way->tags);
    element->type = CSP_ELEMENT_STRETCH;
    element->instructions = stretch->instructions;
    element->number = CSP_STRETCH_NUMBER(stretch->ranges, stretch->branches - element->taken);
    element->a = stretch->start;
    element->b = stretch->last_base + way->end;
}

/* Tells the stretch, and the walker where it leads. */
static INLINE void end_stretch(const struct stretch *stretch, struct csp_walker *walker)
{
    walker->block = stretch->block;
    walker->needs_address = walker->pc_is_stale = false;
    tell_stretch(stretch, walker);
    if (stretch->block < CSP_BLOCK_FIRST)
        csp_walker_leave_block(walker, stretch->last, stretch->block, stretch->last_taken);
}

/* Goes on in another region; false when there is no code to go on in: then the walker knows. */
static INLINE bool change_region(struct stretch *stretch, struct csp_walker *walker,
                                 struct words *words, uint64_t address)
{
    csp_walker_jump(walker, address, 0);
    if (!csp_walker_look_up(walker))
        return false;
    *words = words_of(walker);
    stretch->table = walker->table;
    stretch->base = walker->base;
    stretch->block = walker->block;
    return true;
}

/* Adds the atom packets among the lowest `bits` of eight bytes to the row; false when they do not
 * fit. */
static INLINE bool add_atoms(struct stretch *stretch, uint64_t bytes, unsigned bits)
{
    uint64_t row = stretch->row;
    unsigned len = stretch->row_len;
    bytes &= (UINT64_C(1) << bits) - 1;
#pragma GCC unroll 4
    for (int i = 0; i < PACKETS; i++, bytes >>= 8) {
        uint32_t atoms = csp_packet_atoms[(uint8_t)bytes];
        row |= (uint64_t)(atoms & 0xffffff) << (len & 63);
        len += atoms >> 24;
    }
    if (UNLIKELY(len > CSP_SEGMENT_ATOMS))
        return false;
    stretch->row = row;
    stretch->row_len = len;
    return true;
}

/* Takes segments up to a packet that is neither atoms nor an address, or an address that leads
 * elsewhere. Returns where what was not taken begins. */
static INLINE const uint8_t *take_stretch(struct csp_segments *segments, struct csp_walker *walker,
                                          struct csp_packet_reader *reader, const uint8_t *at,
                                          const uint8_t *end)
{
    struct words words = words_of(walker);
    const bool returns_by_branch = walker->returns_by_branch;
    struct stretch stretch = {.segments = segments,
                              .table = walker->table,
                              .base = walker->base,
                              .block = walker->block,
                              .may_jump = true};
    const uint8_t *begin = at; /* of the row */
    while (end - at >= MARGIN && stretch.ranges < STRETCH_RANGES) {
        uint64_t bytes = csp_load64(at);
        unsigned bits = first_other(bytes);
        if (UNLIKELY(!add_atoms(&stretch, bytes, bits))) {
            if (!stretch.row_len) { /* a packet by itself fits */
                add_atoms(&stretch, bytes, 8);
                at++;
                continue;
            }
            if (!take_segment(&stretch, returns_by_branch))
                break;
            begin = at;
            if (stretch.block < CSP_BLOCK_FIRST)
                break;
            continue;
        }
        if (bits > 8 * PACKETS) {
            at += PACKETS;
            continue;
        }
        unsigned header = header_at(bytes >> bits);
        at += bits / 8;
        unsigned size = tables.sizes[header];
        if (!size)
            break;
        if (stretch.row_len) {
            if (UNLIKELY(!take_segment(&stretch, returns_by_branch)))
                break;
            begin = at;
        }
        if (UNLIKELY(!stretch.may_jump))
            break;
        const struct address_form *form = &tables.address_forms[tables.forms[header]];
        uint64_t value = take_bits(csp_load64(at + 1), form->taken) << 2;
        uint64_t address = (reader->history[form->history].value & ~form->replaced) | value;
        csp_packet_remember(reader, address, 0);
        begin = at += size;
        uint64_t offset = address - words.base, word = offset >> 2 | offset << 62;
        uint32_t slot = CSP_SLOT_RUNS_OUT;
        if (word - words.first < words.count)
            slot = csp_block_table_slot(words.table, (uint32_t)word);
        stretch.block = slot;
        if (UNLIKELY(slot >= CSP_SLOT_RUNS_OUT) &&
            !change_region(&stretch, walker, &words, address)) {
            tell_stretch(&stretch, walker);
            return at;
        }
    }
    if (stretch.row_len && take_segment(&stretch, returns_by_branch))
        begin = at;
    end_stretch(&stretch, walker);
    return begin;
}

const uint8_t *CSP_SEGMENTS_TAKE(struct csp_segments *segments, struct csp_walker *walker,
                                 struct csp_packet_reader *reader, const uint8_t *at,
                                 const uint8_t *end)
{
    const uint8_t *before = NULL;
    while (end - at >= MARGIN && at != before) {
        bool is_known = !walker->needs_address && !walker->needs_context &&
                        (walker->block >= CSP_BLOCK_FIRST || csp_walker_look_up(walker));
        if (!is_known)
            break;
        before = at;
        at = take_stretch(segments, walker, reader, at, end);
    }
    return at;
}
