#include "profgen/program_elf.h"

#include "profgen/program.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

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

int csp_program_elf_open(struct csp_program *program, struct csp_diag *diag)
{
    int error = csp_file_map(&program->file, program->path, diag);
    if (error)
        return error;
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
    return 0;
}

static const uint8_t *section_bytes(const struct csp_file *file, const GElf_Shdr *header)
{
    if (header->sh_type == SHT_NOBITS || header->sh_offset > file->size ||
        header->sh_size > file->size - header->sh_offset)
        return NULL;
    return file->data + header->sh_offset;
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
                               struct csp_program_sections *found)
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
                              const GElf_Shdr *header, const char *name,
                              struct csp_program_sections *found)
{
    found->executable = true;
    /* Calls into other libraries go through the procedure linkage table: not our code. */
    if (strcmp(name, ".plt") != 0)
        csp_code_add_section(&program->code, header->sh_addr, header->sh_addr + header->sh_size,
                             bytes, program->machine_type == EM_AARCH64 ? 2 : 0);
}

/* Walks the sections of a file: code only of the program itself, what is of no use without it from
 * either. Returns the symbol table, or null. */
static Elf_Scn *walk_sections(struct csp_program *program, Elf *elf, const struct csp_file *file,
                              struct csp_build_id *id, struct csp_program_sections *found)
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

/* The symbol table, and the file that it is in: of the program, or else of the debug file. Null:
 * neither has one. */
struct symbol_table {
    Elf *elf;
    Elf_Scn *section;
};

static int find_sections(struct csp_program *program, const char *debug_path,
                         struct csp_program_sections *found, struct symbol_table *symbols,
                         struct csp_diag *diag)
{
    symbols->elf = program->elf;
    symbols->section =
        walk_sections(program, program->elf, &program->file, &program->build_id, found);
    csp_code_seal(&program->code);
    if (!debug_path || (symbols->section && found->probes))
        return 0;
    struct csp_build_id id = {0};
    int error = open_debug_file(program, debug_path, diag);
    if (error)
        return error;
    Elf_Scn *section = walk_sections(program, program->debug_elf, &program->debug_file, &id, found);
    if (!symbols->section)
        *symbols = (struct symbol_table){program->debug_elf, section};
    return check_debug_file(program, &id, debug_path, diag);
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

static int by_symbol_address(const void *a, const void *b)
{
    const struct csp_symbol *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void read_symbols(struct csp_program *program, const struct symbol_table *table)
{
    GElf_Shdr header;
    gelf_getshdr(table->section, &header);
    Elf_Data *data = elf_getdata(table->section, NULL);
    if (!data || !header.sh_entsize)
        return;
    size_t count = data->d_size / header.sh_entsize;
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            continue;
        const char *name = elf_strptr(table->elf, header.sh_link, symbol.st_name);
        if (name && !strcmp(name, "__llvm_fs_discriminator__"))
            program->fs_discriminators = true;
        if (name && !strncmp(name, "_ZTV", 4) && symbol.st_shndx != SHN_UNDEF)
            csp_vec_push(&program->virtual_tables, (struct csp_symbol){.address = symbol.st_value,
                                                                       .size = symbol.st_size,
                                                                       .name = name});
        if (!is_in_code(program, table->elf, &symbol))
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
    if (program->symbols.len)
        qsort(program->symbols.data, program->symbols.len, sizeof *program->symbols.data,
              by_symbol_address);
}

/* Walks the section headers twice: symbols are kept only where code is. */
int csp_program_elf_read(struct csp_program *program, const struct csp_program_options *options,
                         struct csp_program_sections *found, struct csp_diag *diag)
{
    size_t strings;
    struct symbol_table symbols;
    if (elf_getshdrstrndx(program->elf, &strings))
        return csp_fail(diag, CSP_ERR_INPUT, "%s has no section headers: give the file as linked",
                        program->path);
    int error = find_sections(program, options->debug_path, found, &symbols, diag);
    if (error)
        return error;
    if (!symbols.section && !options->code_only)
        return csp_fail(
            diag, CSP_ERR_INPUT,
            "%s is stripped: its symbol table is gone; give the file as it was before "
            "strip, or with --debug-binary the one that keeps what was stripped off (the "
            "build-id tells which belongs together)",
            program->path);
    if (symbols.section)
        read_symbols(program, &symbols);
    if (!found->executable)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s holds no code: give the executable, not its separate debug file",
                        program->path);
    return 0;
}

void csp_program_elf_close(struct csp_program *program)
{
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
}
