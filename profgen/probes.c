#include "profgen/probes.h"

#include "base/bytes.h"
#include "base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ATTRIBUTE_SENTINEL = 2, ATTRIBUTE_DISCRIMINATOR = 4 };

/* Real inlining is some tens deep; a malformed section must not make us recurse without end. */
enum { DEEPEST_INLINING = 1000 };

int csp_probes_read_names(struct csp_probes *probes, struct csp_intern *names, const uint8_t *data,
                          size_t size, struct csp_diag *diag)
{
    struct csp_cursor cursor = csp_cursor(data, size);
    while (csp_cursor_left(&cursor)) {
        size_t offset = (size_t)(cursor.at - data);
        struct csp_probe_function function = {.guid = csp_cursor_u64(&cursor)};
        function.hash = csp_cursor_u64(&cursor);
        uint64_t length = csp_cursor_uleb(&cursor);
        const uint8_t *name = csp_cursor_take(&cursor, length);
        if (!name)
            return csp_fail(diag, CSP_ERR_INPUT,
                            "the section .pseudo_probe_desc is truncated: its %zu bytes end within "
                            "the entry at offset %zu",
                            size, offset);
        function.name = csp_intern(names, name, length);
        uint64_t *known = csp_map_at(&probes->by_guid, function.guid);
        if (*known)
            continue;
        csp_vec_push(&probes->functions, function);
        *known = probes->functions.len;
    }
    return 0;
}

uint32_t csp_probes_function(struct csp_probes *probes, struct csp_intern *names, uint64_t guid)
{
    uint64_t *known = csp_map_at(&probes->by_guid, guid);
    if (!*known) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, guid);
        struct csp_probe_function function = {.guid = guid, .name = csp_intern_string(names, text)};
        csp_vec_push(&probes->functions, function);
        *known = probes->functions.len;
        probes->missing_guids++;
    }
    return (uint32_t)(*known - 1);
}

uint32_t csp_probes_add_node(struct csp_probes *probes, uint32_t parent, uint32_t callsite,
                             uint32_t function)
{
    struct csp_probe_node node = {
        .parent = parent,
        .callsite = callsite,
        .function = function,
        .first_probe = CSP_NO_PROBE,
        .last_probe = CSP_NO_PROBE,
        .first_child = CSP_NO_NODE,
        .next_sibling = CSP_NO_NODE,
    };
    uint32_t id = (uint32_t)probes->nodes.len;
    if (parent != CSP_NO_NODE) {
        node.next_sibling = probes->nodes.data[parent].first_child;
        probes->nodes.data[parent].first_child = id;
    }
    csp_vec_push(&probes->nodes, node);
    return id;
}

void csp_probes_add(struct csp_probes *probes, struct csp_probe probe)
{
    uint32_t id = (uint32_t)probes->probes.len;
    struct csp_probe_node *node = &probes->nodes.data[probe.node];
    probe.next = CSP_NO_PROBE;
    if (node->first_probe == CSP_NO_PROBE)
        node->first_probe = id;
    else
        probes->probes.data[node->last_probe].next = id;
    node->last_probe = id;
    csp_vec_push(&probes->probes, probe);
    if (csp_probe_is_call(&probe))
        probes->has_call_probes = true;
}

/* Reading one section: where the chain of distances is, and the open records. */
struct reader {
    struct csp_probes *probes;
    struct csp_intern *names;
    const struct csp_probe_symbols *symbols;
    struct csp_cursor cursor;
    uint64_t address;
    uint64_t floor; /* where the record before this one starts */
    bool placed;    /* `address` is known */
    bool absolute;  /* an old encoding: addresses chain across functions */
    bool elsewhere; /* the record is of code at the symbol of another function */
};

struct open_record {
    uint32_t node;
    uint64_t inlinees_left;
};

static int by_guid(const void *a, const void *b)
{
    const struct csp_probe_symbol *x = a, *y = b;
    if (x->guid != y->guid)
        return x->guid < y->guid ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* Of the symbols of one name, the next one above the record before this one; where the records are
 * in another order, any that has none yet. */
static uint64_t choose_symbol(const struct reader *reader, const struct csp_probe_symbol *symbols,
                              size_t count)
{
    uint64_t unused = 0;
    if (count == 1 || reader->symbols->last_only)
        return symbols[count - 1].address;
    for (size_t i = 0; i < count; i++) {
        if (csp_map_find(&reader->probes->by_start, symbols[i].address))
            continue;
        if (symbols[i].address > reader->floor)
            return symbols[i].address;
        if (!unused)
            unused = symbols[i].address;
    }
    return unused ? unused : symbols[count - 1].address;
}

static bool find_symbol(const struct reader *reader, uint64_t guid, uint64_t *address)
{
    const struct csp_probe_symbol *symbols = reader->symbols->list.data;
    size_t first = csp_lower_bound(symbols, reader->symbols->list.len, guid, guid);
    size_t count = 0;
    while (first + count < reader->symbols->list.len && symbols[first + count].guid == guid)
        count++;
    if (count)
        *address = choose_symbol(reader, symbols + first, count);
    return count;
}

static void read_probe(struct reader *reader, uint32_t node)
{
    struct csp_cursor *cursor = &reader->cursor;
    struct csp_probe probe = {.node = node, .index = (uint32_t)csp_cursor_uleb(cursor)};
    uint8_t packed = csp_cursor_u8(cursor);
    uint8_t attributes = (packed >> 4) & 7;
    bool sentinel = attributes & ATTRIBUTE_SENTINEL;
    probe.type = packed & 15;
    if (packed & 0x80) {
        reader->address += (uint64_t)csp_cursor_sleb(cursor);
    } else if (sentinel) {
        reader->placed = find_symbol(reader, csp_cursor_u64(cursor), &reader->address);
    } else {
        reader->address = csp_cursor_u64(cursor);
        reader->placed = reader->absolute = true;
    }
    if (attributes & ATTRIBUTE_DISCRIMINATOR)
        probe.discriminator = (uint32_t)csp_cursor_uleb(cursor);
    if (cursor->overrun)
        return;
    if (sentinel) {
        reader->elsewhere = true;
        reader->probes->nodes.data[node].start = reader->placed ? reader->address : 0;
    } else if (reader->placed) {
        probe.address = reader->address;
        csp_probes_add(reader->probes, probe);
    } else {
        reader->probes->unplaced++;
    }
}

/* Reads a record up to its inlinees. */
static struct open_record read_record(struct reader *reader, uint32_t parent)
{
    struct csp_cursor *cursor = &reader->cursor;
    uint32_t callsite = 0;
    if (parent != CSP_NO_NODE)
        callsite = (uint32_t)csp_cursor_uleb(cursor);
    uint64_t guid = csp_cursor_u64(cursor);
    uint64_t probe_count = csp_cursor_uleb(cursor);
    struct open_record record = {.inlinees_left = csp_cursor_uleb(cursor)};
    if (cursor->overrun)
        return record;
    uint32_t function = csp_probes_function(reader->probes, reader->names, guid);
    record.node = csp_probes_add_node(reader->probes, parent, callsite, function);
    if (parent == CSP_NO_NODE)
        reader->elsewhere = false;
    if (parent == CSP_NO_NODE && !reader->absolute) {
        reader->placed = find_symbol(reader, guid, &reader->address);
        reader->probes->nodes.data[record.node].start = reader->placed ? reader->address : 0;
    }
    for (uint64_t i = 0; i < probe_count && !cursor->overrun; i++)
        read_probe(reader, record.node);
    return record;
}

void csp_probes_place(struct csp_probes *probes, uint32_t node, uint64_t start, bool own_symbol)
{
    struct csp_probe_node *placed = &probes->nodes.data[node];
    placed->start = start;
    if (!start)
        return;
    uint64_t *known = csp_map_at(&probes->by_start, start);
    if (*known && !own_symbol) {
        struct csp_probe_node *first = &probes->nodes.data[*known - 1];
        placed->next_sibling = first->next_sibling;
        first->next_sibling = node;
    } else {
        placed->next_sibling = *known ? (uint32_t)(*known - 1) : CSP_NO_NODE;
        *known = (uint64_t)node + 1;
    }
}

static void place_record(struct reader *reader, uint32_t node)
{
    uint64_t start = reader->probes->nodes.data[node].start;
    csp_probes_place(reader->probes, node, start, !reader->elsewhere);
    if (start && !reader->elsewhere)
        reader->floor = start;
}

int csp_probes_read(struct csp_probes *probes, struct csp_intern *names, const uint8_t *data,
                    size_t size, struct csp_probe_symbols *symbols, struct csp_diag *diag)
{
    if (symbols->list.len)
        qsort(symbols->list.data, symbols->list.len, sizeof *symbols->list.data, by_guid);
    struct reader reader = {
        .probes = probes, .names = names, .symbols = symbols, .cursor = csp_cursor(data, size)};
    CSP_VEC(struct open_record) open = {0};
    size_t offset = 0;
    while (!reader.cursor.overrun && (open.len || csp_cursor_left(&reader.cursor))) {
        uint32_t parent = CSP_NO_NODE;
        if (open.len) {
            struct open_record *top = &open.data[open.len - 1];
            if (!top->inlinees_left) {
                if (open.len == 1)
                    place_record(&reader, top->node);
                open.len--;
                continue;
            }
            top->inlinees_left--;
            parent = top->node;
            if (open.len == DEEPEST_INLINING) {
                csp_vec_free(&open);
                return csp_fail(diag, CSP_ERR_INPUT,
                                "the section .pseudo_probe is malformed: more than %d levels of "
                                "inlining in the function record at offset %zu",
                                DEEPEST_INLINING, offset);
            }
        } else {
            offset = (size_t)(reader.cursor.at - data);
        }
        csp_vec_push(&open, read_record(&reader, parent));
    }
    csp_vec_free(&open);
    if (reader.cursor.overrun)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "the section .pseudo_probe is truncated: its %zu bytes end within the "
                        "function record at offset %zu",
                        size, offset);
    return 0;
}

/* Those of one address stay in order. By some bits of the addresses after the others, because they
 * are many, and in order but for what is inlined. The result is in one of both arrays. */
static struct csp_probe_at *sort_by_address(struct csp_probe_at *list, struct csp_probe_at *other,
                                            size_t count)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= list[i].address;
    for (unsigned shift = 0; shift < 64 && bits >> shift; shift += BITS) {
        size_t at[DIGITS + 1] = {0};
        for (size_t i = 0; i < count; i++)
            at[(list[i].address >> shift) % DIGITS + 1]++;
        for (size_t digit = 0; digit < DIGITS; digit++)
            at[digit + 1] += at[digit];
        for (size_t i = 0; i < count; i++)
            other[at[(list[i].address >> shift) % DIGITS]++] = list[i];
        struct csp_probe_at *sorted = other;
        other = list;
        list = sorted;
    }
    return list;
}

void csp_probes_seal(struct csp_probes *probes)
{
    size_t count = probes->probes.len;
    struct csp_probe_at *list = csp_malloc((count + 1) * sizeof *list);
    struct csp_probe_at *other = csp_malloc((count + 1) * sizeof *other);
    for (size_t i = 0; i < count; i++)
        list[i] = (struct csp_probe_at){probes->probes.data[i].address, (uint32_t)i};
    struct csp_probe_at *sorted = sort_by_address(list, other, count);
    csp_vec_free(&probes->by_address);
    probes->by_address.data = sorted;
    probes->by_address.len = count;
    probes->by_address.cap = count + 1;
    free(sorted == list ? other : list);
}

void csp_probes_free(struct csp_probes *probes)
{
    csp_vec_free(&probes->functions);
    csp_vec_free(&probes->nodes);
    csp_vec_free(&probes->probes);
    csp_vec_free(&probes->by_address);
    csp_map_free(&probes->by_guid);
    csp_map_free(&probes->by_start);
}

size_t csp_probes_from(const struct csp_probes *probes, uint64_t address)
{
    return csp_lower_bound(probes->by_address.data, probes->by_address.len, address, address);
}

uint32_t csp_probes_call_at(const struct csp_probes *probes, uint64_t address)
{
    for (size_t i = csp_probes_from(probes, address);
         i < probes->by_address.len && probes->by_address.data[i].address == address; i++) {
        uint32_t id = probes->by_address.data[i].probe;
        if (csp_probe_is_call(&probes->probes.data[id]))
            return id;
    }
    return CSP_NO_PROBE;
}
