#include "profgen/program.h"

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
    bool executable;
};

static const uint8_t *section_bytes(const struct csp_file *file, const GElf_Shdr *header)
{
    if (header->sh_type == SHT_NOBITS || header->sh_offset > file->size ||
        header->sh_size > file->size - header->sh_offset)
        return NULL;
    return file->data + header->sh_offset;
}

static void read_segments(struct csp_program *program, Elf *elf)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        struct csp_program_segment segment = {.address = header.p_vaddr,
                                              .offset = header.p_offset,
                                              .file_size = header.p_filesz,
                                              .executable = header.p_flags & PF_X};
        csp_vec_push(&program->segments, segment);
    }
}

static void read_build_id(const uint8_t *bytes, const GElf_Shdr *header, struct csp_build_id *id)
{
    if (!bytes || header->sh_size < 16)
        return;
    uint32_t name_size, size, type;
    memcpy(&name_size, bytes, 4);
    memcpy(&size, bytes + 4, 4);
    memcpy(&type, bytes + 8, 4);
    if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(bytes + 12, "GNU", 4) != 0 ||
        size > sizeof id->bytes || size > header->sh_size - 16)
        return;
    id->size = (uint8_t)size;
    memcpy(id->bytes, bytes + 16, size);
}

static void read_probe_section(const uint8_t *bytes, const GElf_Shdr *header, const char *name,
                               struct sections *found)
{
    if (!found->names && !strcmp(name, ".pseudo_probe_desc")) {
        found->names = bytes;
        found->names_size = header->sh_size;
    } else if (!found->probes && !strcmp(name, ".pseudo_probe")) {
        found->probes = bytes;
        found->probes_size = header->sh_size;
    }
}

static void read_code_section(struct csp_program *program, const uint8_t *bytes,
                              const GElf_Shdr *header, const char *name, struct sections *found)
{
    found->executable = true;
    /* Calls into other libraries go through the procedure linkage table: not our code. */
    if (strcmp(name, ".plt") != 0)
        csp_code_add_section(&program->code, header->sh_addr, header->sh_addr + header->sh_size,
                             bytes, program->machine_type == EM_AARCH64 ? 2 : 0);
}

/* By its section: the values of symbols in sections that are not loaded (where linkers put mapping
 * symbols too) are offsets, and may look like addresses of code. */
static bool is_in_code(const struct csp_program *program, Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr section;
    if (symbol->st_shndx != SHN_XINDEX &&
        (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE ||
         !gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &section) ||
         !(section.sh_flags & SHF_EXECINSTR)))
        return false;
    return csp_code_section(&program->code, symbol->st_value);
}

static void read_symbols(struct csp_program *program, Elf *elf, Elf_Scn *section,
                         const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    if (!data || !header->sh_entsize)
        return;
    size_t count = data->d_size / header->sh_entsize;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name && !strcmp(name, "__llvm_fs_discriminator__"))
            program->fs_discriminators = true;
        if (name && !strncmp(name, "_ZTV", 4) && symbol.st_shndx != SHN_UNDEF)
            csp_vec_push(&program->virtual_tables, (struct csp_symbol){.address = symbol.st_value,
                                                                       .size = symbol.st_size,
                                                                       .name = name});
        if (!is_in_code(program, elf, &symbol))
            continue;
        csp_vec_push(&program->symbols,
                     (struct csp_symbol){.address = symbol.st_value,
                                         .size = symbol.st_size,
                                         .name = name ? name : "",
                                         .order = (uint32_t)i,
                                         .function = GELF_ST_TYPE(symbol.st_info) == STT_FUNC,
                                         .local = GELF_ST_BIND(symbol.st_info) == STB_LOCAL,
                                         .weak = GELF_ST_BIND(symbol.st_info) == STB_WEAK});
    }
}

static int by_symbol_address(const void *a, const void *b)
{
    const struct csp_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Walks the sections of a file: code only of the program itself, what is of no use without it from
 * either. Returns the symbol table, or null. */
static Elf_Scn *walk_sections(struct csp_program *program, Elf *elf, const struct csp_file *file,
                              struct csp_build_id *id, struct sections *found)
{
    Elf_Scn *section = NULL, *symbols = NULL;
    size_t strings;
    elf_getshdrstrndx(elf, &strings);
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            continue;
        const uint8_t *bytes = section_bytes(file, &header);
        const char *text = elf_strptr(elf, strings, header.sh_name), *name = text ? text : "";
        if (header.sh_type == SHT_SYMTAB)
            symbols = section;
        else if (header.sh_type == SHT_NOTE && !strcmp(name, ".note.gnu.build-id"))
            read_build_id(bytes, &header, id);
        else if (elf == program->elf && (header.sh_flags & SHF_EXECINSTR) && header.sh_size &&
                 bytes)
            read_code_section(program, bytes, &header, name, found);
        else if (bytes)
            read_probe_section(bytes, &header, name, found);
    }
    return symbols;
}

/* Opens the file with what was stripped off the program. */
static int open_debug_file(struct csp_program *program, const char *path, struct csp_diag *diag)
{
    size_t strings;
    int error = csp_file_map(&program->debug_file, path, diag);
    if (error)
        return error;
    program->debug_elf =
        elf_memory((char *)(uintptr_t)program->debug_file.data, program->debug_file.size);
    if (!program->debug_elf || elf_getshdrstrndx(program->debug_elf, &strings))
        return csp_fail(diag, CSP_ERR_INPUT, "%s is no ELF file with section headers", path);
    return 0;
}

static int check_debug_file(const struct csp_program *program, const struct csp_build_id *id,
                            const char *path, struct csp_diag *diag)
{
    char ours[41], theirs[41];
    if (!id->size || !program->build_id.size || csp_build_id_equal(id, &program->build_id))
        return 0;
    csp_build_id_text(&program->build_id, ours);
    csp_build_id_text(id, theirs);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s is not of %s: its build-id is %s, that of the program %s", path,
                    program->path, theirs, ours);
}

/* Walks the section headers twice: symbols are kept only where code is. */
static int read_sections(struct csp_program *program, const struct csp_program_options *options,
                         struct sections *found, struct csp_diag *diag)
{
    size_t strings;
    if (elf_getshdrstrndx(program->elf, &strings))
        return csp_fail(diag, CSP_ERR_INPUT, "%s has no section headers: give the file as linked",
                        program->path);
    const char *debug_path = options->debug_path;
    Elf *elf = program->elf;
    Elf_Scn *symbols = walk_sections(program, elf, &program->file, &program->build_id, found);
    csp_code_seal(&program->code);
    if (debug_path && (!symbols || !found->probes)) {
        struct csp_build_id id = {0};
        int error = open_debug_file(program, debug_path, diag);
        if (error)
            return error;
        Elf_Scn *more =
            walk_sections(program, program->debug_elf, &program->debug_file, &id, found);
        error = check_debug_file(program, &id, debug_path, diag);
        if (error)
            return error;
        if (!symbols)
            elf = program->debug_elf;
        symbols = symbols ? symbols : more;
    }
    if (!symbols && options->code_only)
        return 0;
    if (!symbols)
        return csp_fail(
            diag, CSP_ERR_INPUT,
            "%s is stripped: its symbol table is gone; give the file as it was before "
            "strip, or with --debug-binary the one that keeps what was stripped off (the "
            "build-id tells which belongs together)",
            program->path);
    GElf_Shdr header;
    gelf_getshdr(symbols, &header);
    read_symbols(program, elf, symbols, &header);
    if (program->symbols.len)
        qsort(program->symbols.data, program->symbols.len, sizeof *program->symbols.data,
              by_symbol_address);
    return 0;
}

static int open_elf(struct csp_program *program, struct csp_diag *diag)
{
    elf_version(EV_CURRENT);
    if (program->file.size < sizeof(Elf64_Ehdr) || memcmp(program->file.data, ELFMAG, SELFMAG) != 0)
        return csp_fail(diag, CSP_ERR_INPUT, "%s is no ELF file", program->path);
    /* libelf reads only, whatever its prototype says. */
    program->elf = elf_memory((char *)(uintptr_t)program->file.data, program->file.size);
    GElf_Ehdr header;
    if (!program->elf || !gelf_getehdr(program->elf, &header))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", program->path, elf_errmsg(-1));
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED, "%s is no 64-bit little-endian ELF file",
                        program->path);
    if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s is neither an executable nor a shared object: give the linked file",
                        program->path);
    program->machine_type = header.e_machine;
    program->position_independent = header.e_type == ET_DYN;
    read_segments(program, program->elf);
    return csp_machine_create(&program->machine, program->machine_type, diag);
}

/* Mapping symbols of the AArch64 ELF ABI tell code ($x) from data in text ($d). */
static bool is_mapping_symbol(const char *name, char kind)
{
    return name[0] == '$' && name[1] == kind && (name[2] == '\0' || name[2] == '.');
}

/* From symbol to symbol, because padding and data need not end where an instruction would. */
static void disassemble(struct csp_program *program)
{
    const struct csp_code_section *section = NULL;
    bool data = false;
    for (size_t i = 0; !program->symbols.len && i < program->code.sections.len; i++)
        csp_code_disassemble(&program->code, program->machine, program->code.sections.data[i].start,
                             program->code.sections.data[i].end);
    for (size_t i = 0; i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        const struct csp_code_section *at = csp_code_section(&program->code, symbol->address);
        if (at != section)
            data = false;
        section = at;
        if (is_mapping_symbol(symbol->name, 'd'))
            data = true;
        else if (is_mapping_symbol(symbol->name, 'x'))
            data = false;
        uint64_t end = section->end;
        if (i + 1 < program->symbols.len && program->symbols.data[i + 1].address < end)
            end = program->symbols.data[i + 1].address;
        if (!data && end > symbol->address)
            csp_code_disassemble(&program->code, program->machine, symbol->address, end);
    }
}

/* llvm-profgen takes the first two instructions of a function for its prologue, and a return with
 * the instruction before it for an epilogue. */
static void mark_edges(struct csp_program *program)
{
    struct csp_code *code = &program->code;
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        uint64_t start = program->functions.ranges.data[i].start;
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

/* The length of a name without the suffix of functions that control-flow integrity renamed: what
 * has their own names is a table of jumps then. 0: it has none. */
static size_t length_before_cfi(const char *name)
{
    size_t length = strlen(name);
    return length > 4 && !strcmp(name + length - 4, ".cfi") ? length - 4 : 0;
}

/* The addresses of symbols, by the GUIDs of the names that probes may call them by. */
static void collect_symbols(const struct csp_program *program, bool compat,
                            struct csp_probe_symbols *symbols)
{
    struct csp_map renamed = {0};
    for (size_t i = 0; !compat && i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        size_t length = length_before_cfi(symbol->name);
        if (!length)
            continue;
        uint64_t guid = csp_name_guid(symbol->name, length);
        csp_vec_push(&symbols->list, (struct csp_probe_symbol){guid, symbol->address});
        *csp_map_at(&renamed, guid) = 1;
    }
    for (size_t i = 0; i < program->symbols.len; i++) {
        const struct csp_symbol *symbol = &program->symbols.data[i];
        /* llvm-profgen has no probes of functions that it does not know otherwise. */
        if (compat && !csp_functions_find_start(&program->functions, symbol->address))
            continue;
        uint64_t guid = csp_name_guid(symbol->name, strlen(symbol->name));
        if (!csp_map_find(&renamed, guid))
            csp_vec_push(&symbols->list, (struct csp_probe_symbol){guid, symbol->address});
    }
    csp_map_free(&renamed);
}

static int read_probes(struct csp_program *program, const struct sections *found, bool compat,
                       struct csp_diag *diag)
{
    struct csp_probe_symbols symbols = {.last_only = compat};
    collect_symbols(program, compat, &symbols);
    int error = csp_probes_read_names(&program->probes, &program->names, found->names,
                                      found->names_size, diag);
    if (!error)
        error = csp_probes_read(&program->probes, &program->names, found->probes,
                                found->probes_size, &symbols, diag);
    csp_vec_free(&symbols.list);
    csp_probes_seal(&program->probes);
    return error;
}

/* Where DWARF and the symbol table disagree on a name, the probes decide. */
static void name_by_probes(struct csp_program *program)
{
    for (size_t i = 0; i < program->functions.ranges.len; i++) {
        const struct csp_function_range *range = &program->functions.ranges.data[i];
        struct csp_function *function = &program->functions.functions.data[range->function];
        if (function->name_source != CSP_NAME_MISMATCH || !range->entry ||
            function->probe_name != CSP_INTERN_NONE)
            continue;
        size_t at = csp_probes_from(&program->probes, range->start);
        if (at == program->probes.by_address.len ||
            program->probes.by_address.data[at].address >= range->end)
            continue;
        uint32_t node = program->probes.probes.data[program->probes.by_address.data[at].probe].node;
        while (program->probes.nodes.data[node].parent != CSP_NO_NODE)
            node = program->probes.nodes.data[node].parent;
        function->probe_name =
            program->probes.functions.data[program->probes.nodes.data[node].function].name;
    }
}

/* What the profile is made by: probes where there are any, or else lines. */
static int choose_probes_or_lines(struct csp_program *program, const struct sections *found,
                                  const struct csp_program_options *options, struct csp_diag *diag)
{
    program->has_lines = csp_debug_info_units(program->debug) != 0;
    program->uses_probes = found->names && found->probes && !options->by_lines;
    if (program->uses_probes || program->has_lines || options->compat || options->code_only)
        return 0;
    if (options->by_lines && found->probes)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s has no debug information, so it cannot be profiled by lines; it has "
                        "pseudo-probes: profile it by those",
                        program->path);
    return csp_fail(diag, CSP_ERR_INPUT,
                    "%s has neither pseudo-probes nor debug information: compile it with "
                    "-fpseudo-probe-for-profiling -gmlt -fdebug-info-for-profiling, or name the "
                    "file that its debug information is in with --debug-binary",
                    program->path);
}

/* libLLVM goes on without what it does not find. */
static int open_debug_info(struct csp_program *program, const struct csp_program_options *options,
                           struct csp_diag *diag)
{
    const char *path = options->debug_path ? options->debug_path : options->path, *dwo = NULL;
    struct csp_file dwp = {0};
    int error = 0;
    if (options->dwp_path) {
        error = csp_file_map(&dwp, options->dwp_path, diag);
        csp_file_unmap(&dwp);
    }
    if (!error)
        error = csp_debug_info_open(&program->debug, path, options->dwp_path, diag);
    if (error || options->code_only)
        return error;
    size_t missing = csp_debug_info_missing(program->debug, &dwo);
    if (missing)
        csp_warn(diag,
                 "%s: debug information of %zu of %zu compile units is missing (%s): inlined calls "
                 "in them are not known; put the .dwo files back, or name their .dwp with --dwp",
                 path, missing, csp_debug_info_units(program->debug), dwo);
    return 0;
}

int csp_program_open(struct csp_program *program, const struct csp_program_options *options,
                     struct csp_diag *diag)
{
    const char *path = options->path;
    *program = (struct csp_program){.path = csp_strdup(path)};
    const char *slash = strrchr(program->path, '/');
    program->name = slash ? slash + 1 : program->path;
    struct sections found = {0};
    int error = csp_file_map(&program->file, path, diag);
    if (!error)
        error = open_elf(program, diag);
    if (!error)
        error = read_sections(program, options, &found, diag);
    if (!error && !found.executable)
        error =
            csp_fail(diag, CSP_ERR_INPUT,
                     "%s holds no code: give the executable, not its separate debug file", path);
    if (!error)
        error = open_debug_info(program, options, diag);
    if (!error)
        error = choose_probes_or_lines(program, &found, options, diag);
    if (error)
        return error;
    disassemble(program);
    csp_functions_load(program,
                       !options->without_symbols && (program->uses_probes || !options->compat));
    mark_edges(program);
    if (!program->uses_probes)
        return 0;
    error = read_probes(program, &found, options->compat, diag);
    if (!error)
        name_by_probes(program);
    return error;
}

void csp_program_close(struct csp_program *program)
{
    if (program->debug)
        csp_debug_info_close(program->debug);
    if (program->machine)
        csp_machine_destroy(program->machine);
    csp_probes_free(&program->probes);
    csp_lines_free(&program->lines);
    csp_functions_free(&program->functions);
    csp_code_free(&program->code);
    csp_intern_free(&program->names);
    csp_vec_free(&program->segments);
    csp_vec_free(&program->symbols);
    csp_vec_free(&program->virtual_tables);
    if (program->elf)
        elf_end(program->elf);
    if (program->debug_elf)
        elf_end(program->debug_elf);
    if (program->debug_file.data)
        csp_file_unmap(&program->debug_file);
    if (program->file.data)
        csp_file_unmap(&program->file);
    free(program->path);
    *program = (struct csp_program){0};
}

const struct csp_program_segment *csp_program_segment_at(const struct csp_program *program,
                                                         uint64_t offset)
{
    for (size_t i = 0; i < program->segments.len; i++) {
        const struct csp_program_segment *segment = &program->segments.data[i];
        if (segment->executable && offset >= segment->offset &&
            offset - segment->offset < segment->file_size)
            return segment;
    }
    return NULL;
}

uint64_t csp_program_at_offset(const struct csp_program *program, uint64_t offset)
{
    const struct csp_program_segment *segment = csp_program_segment_at(program, offset);
    return segment ? segment->address + (offset - segment->offset) : CSP_EXTERNAL;
}

uint64_t csp_program_call_before(const struct csp_program *program, uint64_t return_address)
{
    if (return_address == CSP_EXTERNAL)
        return CSP_EXTERNAL;
    uint64_t before = csp_code_before(&program->code, return_address);
    return csp_code_flags(&program->code, before) & CSP_CODE_CALL ? before : 0;
}

bool csp_program_has_probes(const struct csp_program *program, uint64_t address)
{
    const struct csp_function_range *range = csp_functions_find(&program->functions, address);
    if (!range)
        return false;
    size_t at = csp_probes_from(&program->probes, range->start);
    return at < program->probes.by_address.len &&
           program->probes.by_address.data[at].address < range->end;
}

uint32_t csp_program_callee_name(struct csp_program *program, uint64_t address)
{
    const struct csp_function_range *range = csp_functions_find_start(&program->functions, address);
    if (!range || !range->entry)
        return CSP_INTERN_NONE;
    const struct csp_function *function = &program->functions.functions.data[range->function];
    uint32_t name = function->probe_name == CSP_INTERN_NONE ? function->name : function->probe_name;
    const char *text = csp_intern_text(&program->names, name);
    size_t length = csp_name_canonical(text);
    return text[length] ? csp_intern(&program->names, text, length) : name;
}
