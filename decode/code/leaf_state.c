#include "decode/code/leaf_state.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/map.h"
#include "decode/code/aarch64.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>

enum { X29 = 29, LR = 30, SP = 31, NEARBY = 16 /* instructions */ };

/* A loaded segment that holds code. */
struct segment {
    uint64_t start, end;
    const uint8_t *bytes; /* end - start of them */
};

struct csp_leaf_table {
    Dwarf_CFI *cfi;              /* null: none */
    const uint8_t *search_table; /* of .eh_frame_hdr: pairs of i32 (function, FDE), sorted */
    uint64_t search_base;        /* what they are relative to */
    size_t search_len;
    CSP_VEC(struct segment) segments;
    struct csp_map known; /* address -> number in `leaves` + 1 */
    CSP_VEC(struct csp_leaf) leaves;
};

static const struct segment *segment_of(const struct csp_leaf_table *table, uint64_t address)
{
    for (size_t i = 0; i < table->segments.len; i++) {
        const struct segment *segment = &table->segments.data[i];
        if (address >= segment->start && address < segment->end)
            return segment;
    }
    return NULL;
}

static const uint8_t *code_at(const struct csp_leaf_table *table, uint64_t address, uint64_t *end)
{
    const struct segment *segment = segment_of(table, address);
    if (!segment)
        return NULL;
    *end = segment->end;
    return segment->bytes + (address - segment->start);
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

/* The next instruction may come next, with x30 as it was. */
static bool is_conditional(uint32_t instruction)
{
    return csp_aarch64_classify(instruction).kind == CSP_BRANCH_CONDITIONAL;
}

/* B, BR, RET and their like, and calls. */
static bool is_unconditional_branch(uint32_t instruction)
{
    uint8_t kind = csp_aarch64_classify(instruction).kind;
    return kind != CSP_BRANCH_UNKNOWN && kind != CSP_BRANCH_CONDITIONAL;
}

/* Load pair or load register, 64-bit, into a register: any addressing mode. */
static bool loads_register(uint32_t instruction, unsigned wanted)
{
    unsigned first = instruction & 31, second = instruction >> 10 & 31;
    if ((instruction & 0xfe400000) == 0xa8400000)
        return first == wanted || second == wanted;
    return (instruction & 0xfec00000) == 0xf8400000 && first == wanted;
}

static bool loads_link_register(uint32_t instruction)
{
    return loads_register(instruction, LR);
}

/* From a place that is not in the frame of the function. */
static bool loads_foreign_frame_pointer(uint32_t instruction)
{
    unsigned base = instruction >> 5 & 31;
    return loads_register(instruction, X29) && base != SP && base != X29;
}

/* Goes back from `address`, at most to `function`, over at most so many instructions: whether one
 * is as wanted before another stops. */
static bool is_behind(const struct csp_leaf_table *table, uint64_t function, uint64_t address,
                      unsigned most, bool (*wanted)(uint32_t instruction),
                      bool (*stops)(uint32_t instruction))
{
    const struct segment *segment = segment_of(table, address);
    if (!segment)
        return false;
    uint64_t lowest = function > segment->start ? function : segment->start;
    for (unsigned i = 0; i < most && address - lowest >= 4; i++) {
        address -= 4;
        uint32_t instruction = csp_load32(segment->bytes + (address - segment->start));
        if (wanted(instruction))
            return true;
        if (stops(instruction))
            return false;
    }
    return false;
}

static bool ends_block(uint32_t instruction)
{
    return changes_flow(instruction) && !is_hint(instruction);
}

/* In the epilogue, behind the load that took the caller's x29 and x30 from the stack. */
static bool is_restored_before(const struct csp_leaf_table *table, uint64_t function,
                               uint64_t address)
{
    return is_behind(table, function, address, NEARBY, loads_link_register, ends_block);
}

/* In longjmp, setcontext and what else goes to a context that was saved, behind the load of that
 * one's x29. What such functions restore after it may be conditional: glibc's setcontext takes 26
 * instructions. `function` may be 0. */
static bool is_in_longjmp(const struct csp_leaf_table *table, uint64_t function, uint64_t address)
{
    const unsigned longest = 64;
    return is_behind(table, function, address, longest, loads_foreign_frame_pointer,
                     is_unconditional_branch);
}

/* Nothing has been called since the function was entered. */
static bool is_entry(const struct csp_leaf_table *table, uint64_t function, uint64_t address)
{
    uint64_t end;
    const uint8_t *code = code_at(table, function, &end);
    for (; code && function < address && function + 4 <= end; function += 4, code += 4)
        if (ends_block(csp_load32(code)))
            return false;
    return code && function == address;
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
    for (int i = 0; i < NEARBY && address + 4 <= end; i++, address += 4, code += 4) {
        uint32_t instruction = csp_load32(code);
        if (sets_frame_pointer(instruction))
            return true;
        if (ends_block(instruction))
            return false;
    }
    return false;
}

static uint64_t function_start(const struct csp_leaf_table *table, size_t number)
{
    int32_t offset = (int32_t)csp_load32(table->search_table + 8 * number);
    return table->search_base + (uint64_t)(int64_t)offset;
}

/* From the start of the function that holds an address to the next one's; 0, 0 when unknown. */
static struct csp_leaf function_of(const struct csp_leaf_table *table, uint64_t address)
{
    size_t low = 0, high = table->search_len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (function_start(table, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return (struct csp_leaf){0};
    return (struct csp_leaf){
        .start = function_start(table, low - 1),
        .end = low < table->search_len ? function_start(table, low) : UINT64_MAX,
    };
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
                                          uint64_t function, uint64_t address)
{
    if (is_in_longjmp(table, function, address))
        return CSP_LEAF_LONGJMP;
    switch (rule_of(frame, LR)) {
    case RULE_UNCHANGED:
        return CSP_LEAF_LR;
    case RULE_UNDEFINED: /* the outermost function */
        return CSP_LEAF_RECORD;
    case RULE_SAVED:
        break;
    }
    if (function && is_restored_before(table, function, address))
        return CSP_LEAF_LR;
    if (cfa_is_on_x29(frame) || (function && sets_frame_pointer_before(table, function, address)))
        return CSP_LEAF_RECORD;
    /* Saved, and x29 not set yet: nothing was called since, so the register still holds it. */
    if (sets_frame_pointer_soon(table, address) || (function && is_entry(table, function, address)))
        return CSP_LEAF_LR;
    return CSP_LEAF_STACK;
}

/* Where x30 is at `address`; undefined, too, where there is no table. */
static enum rule rule_at(const struct csp_leaf_table *table, uint64_t address)
{
    Dwarf_Frame *frame;
    if (!table->cfi || dwarf_cfi_addrframe(table->cfi, address, &frame) != 0)
        return RULE_UNDEFINED;
    enum rule rule = rule_of(frame, LR);
    free(frame);
    return rule;
}

static bool is_system_call(uint32_t instruction)
{
    return csp_aarch64_classify(instruction).type == CSP_AARCH64_SYSTEM_CALL;
}

/* A system call that never returns, a thread's exit, may be the last instruction of its function:
 * a sample in it has the next function's first as its PC. */
static bool is_behind_system_call(const struct csp_leaf_table *table, uint64_t address)
{
    return is_behind(table, 0, address, 1, is_system_call, is_system_call);
}

static bool stores_link_register(uint32_t instruction)
{
    unsigned first = instruction & 31, second = instruction >> 10 & 31;
    if ((instruction & 0xfe400000) == 0xa8000000) /* store pair */
        return first == LR || second == LR;
    return (instruction & 0xfec00000) == 0xf8000000 && first == LR;
}

/* Without a table: a linker's stub goes on by x16 or x17 (Procedure Call Standard, "IP0 and IP1");
 * what next stores x30, or returns without loading it, has not saved it or has it back. One way on
 * is enough: wherever the other leads, x30 is now what this one returns to. */
static enum csp_leaf_state state_of_code(const struct csp_leaf_table *table, uint64_t address)
{
    uint64_t end;
    const uint8_t *code = code_at(table, address, &end);
    if (is_in_longjmp(table, 0, address))
        return CSP_LEAF_LONGJMP;
    for (int i = 0; code && i < NEARBY && address + 4 <= end; i++, address += 4, code += 4) {
        uint32_t instruction = csp_load32(code);
        unsigned target = instruction >> 5 & 31;
        if (stores_link_register(instruction) || sets_frame_pointer(instruction))
            return CSP_LEAF_LR;
        if (loads_link_register(instruction))
            return CSP_LEAF_UNKNOWN;
        if ((instruction & 0xfffffc1f) == 0xd61f0000 && (target == 16 || target == 17))
            return CSP_LEAF_LR; /* BR */
        if ((instruction & 0xfffffc1f) == 0xd65f0000)
            return CSP_LEAF_LR; /* RET */
        if (ends_block(instruction) && !is_conditional(instruction))
            return CSP_LEAF_UNKNOWN;
    }
    return CSP_LEAF_UNKNOWN;
}

static struct csp_leaf look_up(const struct csp_leaf_table *table, uint64_t address)
{
    Dwarf_Frame *frame;
    if (!table->cfi || dwarf_cfi_addrframe(table->cfi, address, &frame) != 0)
        return (struct csp_leaf){.state = state_of_code(table, address)};
    struct csp_leaf leaf = function_of(table, address);
    if (address == leaf.start && is_behind_system_call(table, address)) {
        free(frame);
        return (struct csp_leaf){.state = CSP_LEAF_UNKNOWN};
    }
    leaf.state = state_of_frame(table, frame, leaf.start, address);
    free(frame);
    enum rule rule = rule_at(table, leaf.start), next = rule_at(table, leaf.start + 4);
    /* Whoever comes to the other parts of a function that was split has not called them: they begin
     * with its frame in place. Nobody called a program's first function, whose table says so after
     * an instruction. */
    if (rule != RULE_UNCHANGED || next == RULE_UNDEFINED)
        leaf.start = leaf.end = 0;
    if (next == RULE_UNDEFINED)
        leaf.state = CSP_LEAF_RECORD;
    return leaf;
}

struct csp_leaf csp_leaf_table_find(struct csp_leaf_table *table, uint64_t address)
{
    uint64_t *known = csp_map_at(&table->known, address);
    if (!*known) {
        csp_vec_push(&table->leaves, look_up(table, address));
        *known = table->leaves.len;
    }
    return table->leaves.data[*known - 1];
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
    struct csp_leaf_table *table = csp_calloc(1, sizeof *table);
    table->cfi = dwarf_getcfi_elf(elf);
    take_segments(table, elf);
    return table;
}

void csp_leaf_table_destroy(struct csp_leaf_table *table)
{
    if (!table)
        return;
    if (table->cfi)
        dwarf_cfi_end(table->cfi);
    csp_vec_free(&table->segments);
    csp_map_free(&table->known);
    csp_vec_free(&table->leaves);
    free(table);
}
