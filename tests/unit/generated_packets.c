/* Packets of atoms, addresses and contexts, each in any form that can say it. */
#include "generator_state.h"

#include <string.h>

void generator_put_continued(struct generator *g, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(g, (uint8_t)(value | 0x80));
    put(g, (uint8_t)value);
}

void generator_count_p0(struct generator *g, uint32_t count)
{
    g->depth += count;
    if (g->depth > g->depth_max)
        g->depth = g->depth_max;
}

/* The longest or any shorter packet that the oldest atoms fit. */
static void put_atoms(struct generator *g)
{
    uint32_t atoms = g->atoms;
    unsigned left = g->atom_count, ones = 0;
    while (ones < left && atoms >> ones & 1)
        ones++;
    unsigned taken = 1;
    uint8_t byte = 0xf6 | (atoms & 1);
    unsigned form = below(g, 6);
    if (ones >= 3 && ones < left && ones <= 23 && form) {
        taken = ones + 1;
        byte = (uint8_t)(0xe0 + ones - 3);
    } else if (ones >= 4 && form) {
        taken = ones < 24 ? ones : 24;
        byte = (uint8_t)(0xc0 + taken - 4);
    } else if (left >= 5 && form > 3) {
        static const uint8_t fives[32] = {[0] = 0xd5, [0x0a] = 0xd6, [0x15] = 0xd7, [0x1e] = 0xf5};
        if (fives[atoms & 31]) {
            taken = 5;
            byte = fives[atoms & 31];
        }
    } else if (left >= 4 && form > 2) {
        static const uint8_t fours[16] = {[0x0e] = 0xdc, [0] = 0xdd, [0x0a] = 0xde, [5] = 0xdf};
        if (fours[atoms & 15]) {
            taken = 4;
            byte = fours[atoms & 15];
        }
    } else if (left >= 3 && form > 1) {
        taken = 3;
        byte = 0xf8 | (atoms & 7);
    } else if (left >= 2 && form) {
        taken = 2;
        byte = 0xd8 | (atoms & 3);
    }
    header(g, byte);
    generator_count_p0(g, taken);
    g->atoms = taken < 32 ? atoms >> taken : 0;
    g->atom_count -= taken;
}

void generator_flush_atoms(struct generator *g)
{
    while (g->atom_count)
        put_atoms(g);
}

void generator_add_atom(struct generator *g, bool taken)
{
    g->atoms |= (uint32_t)taken << g->atom_count++;
    if (g->atom_count == 30 || one_in(g, 12))
        generator_flush_atoms(g);
}

void generator_remember(struct generator *g, uint64_t address)
{
    g->history[2] = g->history[1];
    g->history[1] = g->history[0];
    g->history[0] = address;
}

void generator_put_low_bytes(struct generator *g, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put(g, (uint8_t)(value >> 8 * i));
}

void generator_put_long(struct generator *g, uint64_t address, bool is_64bit)
{
    put(g, (uint8_t)(address >> 2 & 0x7f));
    put(g, (uint8_t)(address >> 9 & 0x7f));
    generator_put_low_bytes(g, address >> 16, is_64bit ? 6 : 2);
}

void generator_put_short(struct generator *g, uint64_t address, uint64_t changed)
{
    if (changed >> 9) {
        put(g, (uint8_t)((address >> 2 & 0x7f) | 0x80));
        put(g, (uint8_t)(address >> 9));
    } else {
        put(g, (uint8_t)(address >> 2 & 0x7f));
    }
}

void generator_put_address(struct generator *g, uint64_t address, const uint8_t headers[4])
{
    uint64_t changed = address ^ g->history[0];
    for (unsigned i = 0; i < 3; i++) {
        if (g->history[i] != address || one_in(g, 4))
            continue;
        header(g, (uint8_t)(headers[0] + i));
        generator_remember(g, address);
        return;
    }
    if (!(changed >> 17) && !one_in(g, 4)) {
        header(g, headers[1]);
        generator_put_short(g, address, changed);
    } else if (!(changed >> 32) && !one_in(g, 4)) {
        header(g, headers[2]);
        generator_put_long(g, address, false);
    } else {
        header(g, headers[3]);
        generator_put_long(g, address, true);
    }
    generator_remember(g, address);
}

const uint8_t generator_plain_address[4] = {0x90, 0x95, 0x9a, 0x9d};
const uint8_t generator_source_address[4] = {0xb0, 0xb4, 0xb6, 0xb8};

static void put_context_body(struct generator *g)
{
    bool ids = g->has_context_id, vmids = g->has_vmid;
    put(g, (uint8_t)(g->el | 0x30 | (vmids ? 0x40 : 0) | (ids ? 0x80 : 0)));
    if (vmids)
        generator_put_low_bytes(g, g->vmid, 4);
    if (ids)
        generator_put_low_bytes(g, g->context_id, 4);
}

static void tell_context(struct generator *g)
{
    struct csp_element *context = tell(g, CSP_ELEMENT_CONTEXT);
    context->a = g->has_context_id ? g->context_id : 0;
    context->b = g->has_vmid ? g->vmid : 0;
    context->el = g->el;
}

void generator_put_address_context(struct generator *g, uint64_t address)
{
    tell_context(g);
    if (one_in(g, 3)) { /* apart; ETM and ETE allow either */
        header(g, 0x81);
        put_context_body(g);
        generator_put_address(g, address, generator_plain_address);
        return;
    }
    bool is_64bit = (address ^ g->history[0]) >> 32 || one_in(g, 3);
    header(g, is_64bit ? 0x85 : 0x82);
    generator_put_long(g, address, is_64bit);
    put_context_body(g);
    generator_remember(g, address);
}

void generator_settle(struct generator *g)
{
    if (!g->address_due)
        return;
    generator_flush_atoms(g);
    generator_put_address(g, here(g), generator_plain_address);
    g->address_due = false;
}

void generator_begin(struct generator *g, bool on)
{
    generator_flush_atoms(g);
    for (unsigned i = 0; i < 11; i++)
        put(g, 0);
    put(g, 0x80);
    header(g, 0x01);
    bool speculative = g->depth_max && !on;
    uint8_t fields = 1 | (speculative ? 4 : 0) | (one_in(g, 2) ? 8 : 0);
    put(g, fields);
    put(g, 0x01);
    if (speculative)
        generator_put_continued(g, g->depth);
    if (fields & 8)
        generator_put_continued(g, 5 + below(g, 300));
    memset(g->history, 0, sizeof g->history);
    g->time_sent = 0;
    g->stack_depth = 0;
    if (on) {
        header(g, 0x04);
        tell(g, CSP_ELEMENT_SYNC);
        tell(g, CSP_ELEMENT_TRACE_ON);
    }
    generator_put_address_context(g, here(g));
    g->address_due = false;
}
