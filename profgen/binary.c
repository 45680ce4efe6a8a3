#include "profgen/binary.h"

#include "profgen/llvm/debug_info.h"
#include "profgen/llvm/machine.h"
#include "profgen/llvm/names.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

/* Sections found while walking the file; they live as long as the mapping. */
struct sections {
    const uint8_t *names, *probes;
    size_t names_size, probes_size;
    bool debug_lines, executable;
};

static const uint8_t *section_bytes(const struct csp_binary *binary, const GElf_Shdr *header)
{
    if (header->sh_type == SHT_NOBITS || header->sh_offset > binary->file.size ||
        header->sh_size > binary->file.size - header->sh_offset)
        return NULL;
    return binary->file.data + header->sh_offset;
}

static void read_segments(struct csp_binary *binary, Elf *elf)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        struct csp_segment segment = {.address = header.p_vaddr,
                                      .offset = header.p_offset,
                                      .file_size = header.p_filesz,
                                      .executable = header.p_flags & PF_X};
        csp_vec_push(&binary->segments, segment);
    }
}

static void read_build_id(struct csp_binary *binary, const GElf_Shdr *header)
{
    const uint8_t *bytes = section_bytes(binary, header);
    if (!bytes || header->sh_size < 16)
        return;
    uint32_t name_size, size, type;
    memcpy(&name_size, bytes, 4);
    memcpy(&size, bytes + 4, 4);
    memcpy(&type, bytes + 8, 4);
    if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(bytes + 12, "GNU", 4) != 0 ||
        size > sizeof binary->build_id.bytes || size > header->sh_size - 16)
        return;
    binary->build_id.size = (uint8_t)size;
    memcpy(binary->build_id.bytes, bytes + 16, size);
}

static void read_section(struct csp_binary *binary, const GElf_Shdr *header, const char *name,
                         struct sections *found)
{
    const uint8_t *bytes = section_bytes(binary, header);
    if (!strcmp(name, ".pseudo_probe_desc") && bytes) {
        found->names = bytes;
        found->names_size = header->sh_size;
    } else if (!strcmp(name, ".pseudo_probe") && bytes) {
        found->probes = bytes;
        found->probes_size = header->sh_size;
    } else if (!strcmp(name, ".debug_line")) {
        found->debug_lines = true;
    } else if (header->sh_type == SHT_NOTE && !strcmp(name, ".note.gnu.build-id")) {
        read_build_id(binary, header);
    } else if ((header->sh_flags & SHF_EXECINSTR) && header->sh_size && bytes) {
        found->executable = true;
        /* Calls into other libraries go through the procedure linkage table: not our code. */
        if (strcmp(name, ".plt") != 0)
            csp_code_add_section(&binary->code, header->sh_addr, header->sh_addr + header->sh_size,
                                 bytes, binary->machine_type == EM_AARCH64 ? 2 : 0);
    }
}

static void read_symbols(struct csp_binary *binary, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !header->sh_entsize)
        return;
    size_t count = data->d_size / header->sh_entsize;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_shndx == SHN_ABS || !csp_code_section(&binary->code, symbol.st_value))
            continue;
        const char *name = elf_strptr(binary->elf, header->sh_link, symbol.st_name);
        csp_vec_push(&binary->symbols,
                     (struct csp_symbol){.address = symbol.st_value,
                                         .size = symbol.st_size,
                                         .name = name ? name : "",
                                         .order = (uint32_t)i,
                                         .function = GELF_ST_TYPE(symbol.st_info) == STT_FUNC});
    }
}

static int by_symbol_address(const void *a, const void *b)
{
    const struct csp_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Walks the section headers twice: symbols are kept only where code is. */
static int read_sections(struct csp_binary *binary, struct sections *found, struct csp_diag *diag)
{
    size_t strings;
    if (elf_getshdrstrndx(binary->elf, &strings))
        return csp_fail(diag, CSP_ERR_INPUT, "%s has no section headers: give the file as linked",
                        binary->path);
    Elf_Scn *section = NULL, *symbols = NULL;
    while ((section = elf_nextscn(binary->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(binary->elf, strings, header.sh_name);
        if (header.sh_type == SHT_SYMTAB)
            symbols = section;
        read_section(binary, &header, name ? name : "", found);
    }
    csp_code_seal(&binary->code);
    if (!symbols)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s is stripped: its symbol table is gone; give the file as it was before "
                        "strip (the build-id tells which belongs together)",
                        binary->path);
    GElf_Shdr header;
    gelf_getshdr(symbols, &header);
    read_symbols(binary, symbols, &header);
    if (binary->symbols.len)
        qsort(binary->symbols.data, binary->symbols.len, sizeof *binary->symbols.data,
              by_symbol_address);
    return 0;
}

static int open_elf(struct csp_binary *binary, struct csp_diag *diag)
{
    elf_version(EV_CURRENT);
    if (binary->file.size < sizeof(Elf64_Ehdr) || memcmp(binary->file.data, ELFMAG, SELFMAG) != 0)
        return csp_fail(diag, CSP_ERR_INPUT, "%s is no ELF file", binary->path);
    /* libelf reads only, whatever its prototype says. */
    binary->elf = elf_memory((char *)(uintptr_t)binary->file.data, binary->file.size);
    GElf_Ehdr header;
    if (!binary->elf || !gelf_getehdr(binary->elf, &header))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", binary->path, elf_errmsg(-1));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "%s is no 64-bit little-endian ELF file",
                        binary->path);
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s is neither an executable nor a shared object: give the linked file",
                        binary->path);
    binary->machine_type = header.e_machine;
    binary->position_independent = header.e_type == ET_DYN;
    read_segments(binary, binary->elf);
    return csp_machine_create(&binary->machine, binary->machine_type, diag);
}

/* Mapping symbols of the AArch64 ELF ABI tell code ($x) from data in text ($d). */
static bool is_mapping_symbol(const char *name, char kind)
{
    return name[0] == '$' && name[1] == kind && (name[2] == '\0' || name[2] == '.');
}

/* From symbol to symbol, because padding and data need not end where an instruction would. */
static void disassemble(struct csp_binary *binary)
{
    const struct csp_code_section *section = NULL;
    bool data = false;
    for (size_t i = 0; i < binary->symbols.len; i++) {
        const struct csp_symbol *symbol = &binary->symbols.data[i];
        const struct csp_code_section *at = csp_code_section(&binary->code, symbol->address);
        if (at != section)
            data = false;
        section = at;
        if (is_mapping_symbol(symbol->name, 'd'))
            data = true;
        else if (is_mapping_symbol(symbol->name, 'x'))
            data = false;
        uint64_t end = section->end;
        if (i + 1 < binary->symbols.len && binary->symbols.data[i + 1].address < end)
            end = binary->symbols.data[i + 1].address;
        if (!data && end > symbol->address)
            csp_code_disassemble(&binary->code, binary->machine, symbol->address, end);
    }
}

/* llvm-profgen takes the first two instructions of a function for its prologue, and a return with
 * the instruction before it for an epilogue. */
static void mark_edges(struct csp_binary *binary)
{
    struct csp_code *code = &binary->code;
    for (size_t i = 0; i < binary->functions.ranges.len; i++) {
        uint64_t start = binary->functions.ranges.data[i].start;
        uint64_t first = csp_code_from(code, start);
        csp_code_mark(code, start, CSP_CODE_EDGE);
        if (first)
            csp_code_mark(code, csp_code_from(code, first + 1), CSP_CODE_EDGE);
    }
    for (size_t i = 0; i < code->sections.len; i++) {
        const struct csp_code_section *section = &code->sections.data[i];
        uint64_t slots = (section->end - section->start) >> section->shift;
        for (uint64_t slot = 0; slot < slots; slot++) {
            if (!(section->flags[slot] & CSP_CODE_RETURN))
                continue;
            uint64_t address = section->start + (slot << section->shift);
            section->flags[slot] |= CSP_CODE_EDGE;
            csp_code_mark(code, csp_code_before(code, address), CSP_CODE_EDGE);
        }
    }
}

static int read_probes(struct csp_binary *binary, const struct sections *found,
                       struct csp_diag *diag)
{
    if (!found->names || !found->probes)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no pseudo-probes: compile it with -fpseudo-probe-for-profiling "
                        "(and -gmlt -fdebug-info-for-profiling)",
                        binary->path);
    struct csp_map symbols = {0};
    for (size_t i = 0; i < binary->symbols.len; i++) {
        const struct csp_symbol *symbol = &binary->symbols.data[i];
        *csp_map_at(&symbols, csp_name_guid(symbol->name, strlen(symbol->name))) = symbol->address;
    }
    int error = csp_probes_read_names(&binary->probes, &binary->names, found->names,
                                      found->names_size, diag);
    if (!error)
        error = csp_probes_read(&binary->probes, &binary->names, found->probes, found->probes_size,
                                &symbols, diag);
    csp_map_free(&symbols);
    csp_probes_seal(&binary->probes);
    return error;
}

/* Where DWARF and the symbol table disagree on a name, the probes decide. */
static void name_by_probes(struct csp_binary *binary)
{
    for (size_t i = 0; i < binary->functions.ranges.len; i++) {
        const struct csp_function_range *range = &binary->functions.ranges.data[i];
        struct csp_function *function = &binary->functions.functions.data[range->function];
        if (function->name_source != CSP_NAME_MISMATCH || !range->entry ||
            function->probe_name != CSP_INTERN_NONE)
            continue;
        size_t at = csp_probes_from(&binary->probes, range->start);
        if (at == binary->probes.by_address.len ||
            binary->probes.by_address.data[at].address >= range->end)
            continue;
        uint32_t node = binary->probes.probes.data[binary->probes.by_address.data[at].probe].node;
        while (binary->probes.nodes.data[node].parent != CSP_NO_NODE)
            node = binary->probes.nodes.data[node].parent;
        function->probe_name =
            binary->probes.functions.data[binary->probes.nodes.data[node].function].name;
    }
}

int csp_binary_open(struct csp_binary *binary, const char *path, struct csp_diag *diag)
{
    *binary = (struct csp_binary){.path = csp_strdup(path)};
    const char *slash = strrchr(binary->path, '/');
    binary->name = slash ? slash + 1 : binary->path;
    struct sections found = {0};
    int error = csp_file_map(&binary->file, path, diag);
    if (!error)
        error = open_elf(binary, diag);
    if (!error)
        error = read_sections(binary, &found, diag);
    if (!error && !found.executable)
        error =
            csp_fail(diag, CSP_ERR_INPUT,
                     "%s holds no code: give the executable, not its separate debug file", path);
    if (!error)
        error = csp_debug_info_open(&binary->debug, path, diag);
    if (error)
        return error;
    binary->has_lines = found.debug_lines;
    disassemble(binary);
    csp_functions_load(binary);
    mark_edges(binary);
    error = read_probes(binary, &found, diag);
    if (!error)
        name_by_probes(binary);
    return error;
}

void csp_binary_close(struct csp_binary *binary)
{
    if (binary->debug)
        csp_debug_info_close(binary->debug);
    if (binary->machine)
        csp_machine_destroy(binary->machine);
    csp_probes_free(&binary->probes);
    csp_functions_free(&binary->functions);
    csp_code_free(&binary->code);
    csp_intern_free(&binary->names);
    csp_vec_free(&binary->segments);
    csp_vec_free(&binary->symbols);
    if (binary->elf)
        elf_end(binary->elf);
    if (binary->file.data)
        csp_file_unmap(&binary->file);
    free(binary->path);
    *binary = (struct csp_binary){0};
}

uint64_t csp_binary_call_before(const struct csp_binary *binary, uint64_t return_address)
{
    if (return_address == CSP_EXTERNAL)
        return CSP_EXTERNAL;
    uint64_t before = csp_code_before(&binary->code, return_address);
    return csp_code_flags(&binary->code, before) & CSP_CODE_CALL ? before : 0;
}

uint32_t csp_binary_callee_name(struct csp_binary *binary, uint64_t address)
{
    const struct csp_function_range *range = csp_functions_find_start(&binary->functions, address);
    if (!range || !range->entry)
        return CSP_INTERN_NONE;
    const struct csp_function *function = &binary->functions.functions.data[range->function];
    uint32_t name = function->probe_name == CSP_INTERN_NONE ? function->name : function->probe_name;
    const char *text = csp_intern_text(&binary->names, name);
    size_t length = csp_name_canonical(text);
    return text[length] ? csp_intern(&binary->names, text, length) : name;
}
