#include "profgen/code.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "profgen/llvm/machine.h"
#include "profgen/plain_insns.h"

#include <string.h>
#include <xxhash.h>

void csp_code_add_section(struct csp_code *code, uint64_t start, uint64_t end, const uint8_t *bytes,
                          unsigned shift)
{
    struct csp_code_section section = {.start = start, .end = end, .bytes = bytes, .shift = shift};
    section.flags = csp_calloc(((end - start) >> shift) + 1, 1);
    csp_vec_push(&code->sections, section);
}

static int by_start(const void *a, const void *b)
{
    const struct csp_code_section *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

void csp_code_seal(struct csp_code *code)
{
    if (code->sections.len)
        qsort(code->sections.data, code->sections.len, sizeof *code->sections.data, by_start);
}

void csp_code_free(struct csp_code *code)
{
    for (size_t i = 0; i < code->sections.len; i++)
        free(code->sections.data[i].flags);
    csp_vec_free(&code->sections);
}

uint64_t csp_code_digest(const struct csp_code *code)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < code->sections.len; i++) {
        const struct csp_code_section *section = &code->sections.data[i];
        digest = XXH3_64bits_withSeed(section->bytes, section->end - section->start,
                                      digest ^ section->start);
    }
    return digest;
}

/* The number of sections that start at or below an address. */
static size_t sections_up_to(const struct csp_code *code, uint64_t address)
{
    return csp_upper_bound(code->sections.data, code->sections.len, start, address);
}

const struct csp_code_section *csp_code_section(const struct csp_code *code, uint64_t address)
{
    size_t count = sections_up_to(code, address);
    if (!count)
        return NULL;
    const struct csp_code_section *section = &code->sections.data[count - 1];
    return address < section->end ? section : NULL;
}

static uint8_t *flags_at(const struct csp_code_section *section, uint64_t address)
{
    uint64_t offset = address - section->start;
    if (offset & ((UINT64_C(1) << section->shift) - 1))
        return NULL;
    return &section->flags[offset >> section->shift];
}

uint8_t csp_code_flags(const struct csp_code *code, uint64_t address)
{
    const struct csp_code_section *section = csp_code_section(code, address);
    const uint8_t *flags = section ? flags_at(section, address) : NULL;
    return flags ? *flags : 0;
}

void csp_code_mark(struct csp_code *code, uint64_t address, uint8_t marks)
{
    const struct csp_code_section *section = csp_code_section(code, address);
    uint8_t *flags = section ? flags_at(section, address) : NULL;
    if (flags)
        *flags |= marks;
}

/* How many slots the instruction that begins at one takes. */
static uint32_t slots_from(const struct csp_code_section *section, const uint8_t *flags)
{
    const uint8_t *end = section->flags + ((section->end - section->start) >> section->shift);
    uint32_t slots = 1;
    while (flags + slots < end &&
           (flags[slots] & (CSP_CODE_INSIDE | CSP_CODE_START)) == CSP_CODE_INSIDE)
        slots++;
    return slots;
}

uint32_t csp_code_size(const struct csp_code *code, uint64_t address)
{
    const struct csp_code_section *section = csp_code_section(code, address);
    const uint8_t *flags = section ? flags_at(section, address) : NULL;
    if (!flags || !(*flags & CSP_CODE_START))
        return 0;
    return slots_from(section, flags) << section->shift;
}

/* The first slot that begins at or above an address. */
static uint64_t slot_from(const struct csp_code_section *section, uint64_t address)
{
    if (address <= section->start)
        return 0;
    return (address - section->start + (UINT64_C(1) << section->shift) - 1) >> section->shift;
}

uint64_t csp_code_bytes(const struct csp_code *code, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;
    size_t first = sections_up_to(code, start);
    for (size_t i = first ? first - 1 : 0; i < code->sections.len; i++) {
        const struct csp_code_section *section = &code->sections.data[i];
        if (section->start >= end)
            break;
        uint64_t slots = (section->end - section->start) >> section->shift;
        uint64_t limit = slot_from(section, end);
        for (uint64_t slot = slot_from(section, start); slot < limit && slot < slots; slot++)
            if (section->flags[slot] & CSP_CODE_START)
                bytes += (uint64_t)slots_from(section, &section->flags[slot]) << section->shift;
    }
    return bytes;
}

static uint8_t flags_of(const struct csp_insn *insn)
{
    uint8_t flags = CSP_CODE_START;
    if (insn->flags & CSP_INSN_CALL)
        flags |= CSP_CODE_CALL;
    if (insn->flags & CSP_INSN_RETURN)
        flags |= CSP_CODE_RETURN;
    if (insn->flags & CSP_INSN_BRANCH)
        flags |= CSP_CODE_BRANCH;
    if (insn->flags & CSP_INSN_NEVER_FALLS)
        flags |= CSP_CODE_ALWAYS;
    if (insn->flags & CSP_INSN_INDIRECT)
        flags |= CSP_CODE_INDIRECT;
    return flags;
}

/* The flags of the instruction at an address of the section, and its size; 0: it is none. */
static uint8_t identify(const struct csp_code_section *section, const struct csp_machine *machine,
                        uint64_t at, uint32_t *size)
{
    const uint8_t *bytes = section->bytes + (at - section->start);
    struct csp_insn insn;
    uint32_t word;
    uint8_t plain = 0;
    if (section->shift == 2 && section->end - at >= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        plain = csp_plain_insn(word);
    }
    *size = sizeof word;
    if (plain)
        return plain;
    bool valid = csp_machine_decode(machine, bytes, section->end - at, at, &insn);
    *size = insn.size;
    return valid ? flags_of(&insn) : 0;
}

void csp_code_disassemble(struct csp_code *code, const struct csp_machine *machine, uint64_t start,
                          uint64_t end)
{
    const struct csp_code_section *section = csp_code_section(code, start);
    if (!section)
        return;
    if (end > section->end)
        end = section->end;
    bool was_invalid = false;
    for (uint64_t at = start; at < end;) {
        uint32_t size;
        uint8_t known = identify(section, machine, at, &size);
        uint8_t *flags = flags_at(section, at);
        if (known && flags) {
            *flags |= known;
            for (uint64_t slot = 1; slot < size >> section->shift; slot++)
                flags[slot] |= CSP_CODE_INSIDE;
            code->instructions++;
        }
        if (!known && !was_invalid)
            code->invalid++;
        was_invalid = !known;
        at += size;
    }
}

uint64_t csp_code_before(const struct csp_code *code, uint64_t address)
{
    for (size_t count = sections_up_to(code, address); count; count--) {
        const struct csp_code_section *section = &code->sections.data[count - 1];
        uint64_t limit = address < section->end ? address : section->end;
        uint64_t slots =
            (limit - section->start + (UINT64_C(1) << section->shift) - 1) >> section->shift;
        while (slots)
            if (section->flags[--slots] & CSP_CODE_START)
                return section->start + (slots << section->shift);
    }
    return 0;
}

uint64_t csp_code_find(const struct csp_code *code, uint64_t address, uint8_t marks)
{
    size_t first = sections_up_to(code, address);
    for (size_t i = first ? first - 1 : 0; i < code->sections.len; i++) {
        const struct csp_code_section *section = &code->sections.data[i];
        uint64_t slots = (section->end - section->start) >> section->shift;
        for (uint64_t slot = slot_from(section, address); slot < slots; slot++)
            if ((section->flags[slot] & CSP_CODE_START) && (section->flags[slot] & marks))
                return section->start + (slot << section->shift);
    }
    return 0;
}

uint64_t csp_code_from(const struct csp_code *code, uint64_t address)
{
    return csp_code_find(code, address, CSP_CODE_START);
}

bool csp_code_falls_through(const struct csp_code *code, uint64_t start, uint64_t end,
                            bool indirect_falls)
{
    if (start > end)
        return false;
    if (start == end)
        return true;
    const struct csp_code_section *section = csp_code_section(code, start);
    if (!section || end >= section->end)
        return false;
    uint64_t last = (end - section->start) >> section->shift;
    for (uint64_t slot = (start - section->start) >> section->shift; slot < last; slot++) {
        uint8_t flags = section->flags[slot];
        if (flags & (CSP_CODE_CALL | CSP_CODE_RETURN))
            return false;
        if ((flags & CSP_CODE_ALWAYS) && !((flags & CSP_CODE_INDIRECT) && indirect_falls))
            return false;
    }
    return true;
}

bool csp_code_decode(const struct csp_code *code, const struct csp_machine *machine,
                     uint64_t address, struct csp_insn *insn)
{
    const struct csp_code_section *section = csp_code_section(code, address);
    return section && csp_machine_decode(machine, section->bytes + (address - section->start),
                                         section->end - address, address, insn);
}

void csp_code_find_targets(const struct csp_code *code, const struct csp_machine *machine,
                           uint64_t start, uint64_t end, struct csp_map *targets)
{
    struct csp_insn insn;
    for (uint64_t at = csp_code_from(code, start); at && at < end; at = csp_code_from(code, at + 1))
        if (csp_code_flags(code, at) & CSP_CODE_BRANCH &&
            csp_code_decode(code, machine, at, &insn) && insn.has_target)
            *csp_map_at(targets, insn.target) = 1;
}
