#include "decode/code/leaf_state.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/map.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>

enum { X29 = 29, LR = 30, PROLOGUE_INSTRUCTIONS = 16 };

/* A loaded segment that holds code. */
struct segment {
    uint64_t start, end;
    const uint8_t *bytes; /* end - start of them */
};

struct csp_leaf_table {
    Dwarf_CFI *cfi;
    const uint8_t *search_table; /* of .eh_frame_hdr: pairs of i32 (function, FDE), sorted */
    uint64_t search_base;        /* what they are relative to */
    size_t search_len;
    CSP_VEC(struct segment) segments;
    struct csp_map known; /* address -> state + 1 */
};

static const uint8_t *code_at(const struct csp_leaf_table *table, uint64_t address, uint64_t *end)
{
    for (size_t i = 0; i < table->segments.len; i++) {
        const struct segment *segment = &table->segments.data[i];
        if (address >= segment->start && address < segment->end) {
            *end = segment->end;
            return segment->bytes + (address - segment->start);
        }
    }
    return NULL;
}

/* `add x29, sp, #n`, of which `mov x29, sp` is n = 0. */
static bool sets_frame_pointer(uint32_t instruction)
{
    return (instruction & 0xff8003ff) == 0x910003fd;
}

static bool changes_flow(uint32_t instruction)
{
    return (instruction & 0x1c000000) == 0x14000000; /* branches, exceptions and system */
}

/* Hints (NOP, PACIASP, BTI …) share the encoding group of branches and are common in prologues. */
static bool is_hint(uint32_t instruction)
{
    return (instruction & 0xfffff01f) == 0xd503201f;
}

static bool sets_frame_pointer_before(const struct csp_leaf_table *table, uint64_t function,
                                      uint64_t address)
{
    uint64_t end;
    const uint8_t *code = code_at(table, function, &end);
    if (!code || address > end)
        return false;
    for (uint64_t at = function; at + 4 <= address; at += 4, code += 4)
        if (sets_frame_pointer(csp_load32(code)))
            return true;
    return false;
}

static bool sets_frame_pointer_soon(const struct csp_leaf_table *table, uint64_t address)
{
    uint64_t end;
    const uint8_t *code = code_at(table, address, &end);
    if (!code)
        return false;
    for (int i = 0; i < PROLOGUE_INSTRUCTIONS && address + 4 <= end; i++, address += 4, code += 4) {
        uint32_t instruction = csp_load32(code);
        if (sets_frame_pointer(instruction))
            return true;
        if (changes_flow(instruction) && !is_hint(instruction))
            return false;
    }
    return false;
}

/* The start of the function that holds an address, or 0. */
static uint64_t function_of(const struct csp_leaf_table *table, uint64_t address)
{
    size_t low = 0, high = table->search_len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int32_t offset = (int32_t)csp_load32(table->search_table + 8 * middle);
        if (table->search_base + (uint64_t)(int64_t)offset <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    int32_t offset = (int32_t)csp_load32(table->search_table + 8 * (low - 1));
    return table->search_base + (uint64_t)(int64_t)offset;
}

static bool cfa_is_on_x29(Dwarf_Frame *frame)
{
    Dwarf_Op *ops;
    size_t count;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || !count)
        return false;
    return ops[0].atom == DW_OP_breg29 || (ops[0].atom == DW_OP_bregx && ops[0].number == X29);
}

enum rule { RULE_UNDEFINED, RULE_UNCHANGED, RULE_SAVED };

static enum rule rule_of(Dwarf_Frame *frame, int reg)
{
    Dwarf_Op memory[3], *ops;
    size_t count;
    if (dwarf_frame_register(frame, reg, memory, &ops, &count) != 0)
        return RULE_UNDEFINED;
    if (count)
        return RULE_SAVED;
    return ops ? RULE_UNDEFINED : RULE_UNCHANGED;
}

static enum csp_leaf_state state_of_frame(const struct csp_leaf_table *table, Dwarf_Frame *frame,
                                          uint64_t address)
{
    switch (rule_of(frame, LR)) {
    case RULE_UNCHANGED:
        return CSP_LEAF_LR;
    case RULE_UNDEFINED: /* the outermost function */
        return CSP_LEAF_RECORD;
    case RULE_SAVED:
        break;
    }
    uint64_t function = function_of(table, address);
    if (cfa_is_on_x29(frame) || (function && sets_frame_pointer_before(table, function, address)))
        return CSP_LEAF_RECORD;
    /* Saved, and x29 not set yet: nothing was called since, so the register still holds it. */
    return sets_frame_pointer_soon(table, address) ? CSP_LEAF_LR : CSP_LEAF_STACK;
}

enum csp_leaf_state csp_leaf_table_find(struct csp_leaf_table *table, uint64_t address)
{
    uint64_t *known = csp_map_at(&table->known, address);
    if (*known)
        return (enum csp_leaf_state)(*known - 1);
    enum csp_leaf_state state = CSP_LEAF_UNKNOWN;
    Dwarf_Frame *frame;
    if (dwarf_cfi_addrframe(table->cfi, address, &frame) == 0) {
        state = state_of_frame(table, frame, address);
        free(frame);
    }
    *known = (uint64_t)state + 1;
    return state;
}

static void take_code(struct csp_leaf_table *table, const GElf_Phdr *header, const uint8_t *bytes)
{
    struct segment segment = {header->p_vaddr, header->p_vaddr + header->p_filesz, bytes};
    csp_vec_push(&table->segments, segment);
}

/* .eh_frame_hdr (Linux Standard Base, "The .eh_frame_hdr section"): version 1, encodings of the
 * pointer to .eh_frame, of the count, of the table. Linkers write sdata4 pcrel, udata4, sdata4
 * datarel. */
static void take_search_table(struct csp_leaf_table *table, const GElf_Phdr *header,
                              const uint8_t *bytes)
{
    static const uint8_t usual[4] = {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
                                     DW_EH_PE_datarel | DW_EH_PE_sdata4};
    const size_t head = 12, entry = 8;
    if (header->p_filesz < head || memcmp(bytes, usual, sizeof usual) != 0)
        return;
    size_t len = csp_load32(bytes + 8);
    if (len > (header->p_filesz - head) / entry)
        return;
    table->search_table = bytes + head;
    table->search_base = header->p_vaddr;
    table->search_len = len;
}

static void take_segments(struct csp_leaf_table *table, Elf *elf)
{
    size_t count, size;
    const uint8_t *file = (const uint8_t *)elf_rawfile(elf, &size);
    if (!file || elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_offset > size ||
            header.p_filesz > size - header.p_offset)
            continue;
        if (header.p_type == PT_LOAD && header.p_flags & PF_X)
            take_code(table, &header, file + header.p_offset);
        if (header.p_type == PT_GNU_EH_FRAME)
            take_search_table(table, &header, file + header.p_offset);
    }
}

struct csp_leaf_table *csp_leaf_table_create(Elf *elf)
{
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
    if (!cfi)
        return NULL;
    struct csp_leaf_table *table = csp_calloc(1, sizeof *table);
    table->cfi = cfi;
    take_segments(table, elf);
    return table;
}

void csp_leaf_table_destroy(struct csp_leaf_table *table)
{
    if (!table)
        return;
    dwarf_cfi_end(table->cfi);
    csp_vec_free(&table->segments);
    csp_map_free(&table->known);
    free(table);
}
