#include "collect/binary_check.h"

#include "base/bytes.h"
#include "collect/elf_view.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* ---- line tables ---- */

static void skip_operation(struct csp_cursor *program, uint8_t opcode, const uint8_t *lengths)
{
    enum { FIXED_ADVANCE_PC = 9 };
    if (opcode == FIXED_ADVANCE_PC)
        csp_cursor_u16(program);
    else
        for (uint8_t i = 0; i < lengths[opcode - 1]; i++)
            csp_cursor_uleb(program);
}

static bool program_sets_discriminator(struct csp_cursor *program, uint8_t opcode_base,
                                       const uint8_t *lengths)
{
    enum { EXTENDED = 0, SET_DISCRIMINATOR = 4 };
    while (csp_cursor_left(program) && !program->overrun) {
        uint8_t opcode = csp_cursor_u8(program);
        if (opcode >= opcode_base)
            continue;
        if (opcode != EXTENDED) {
            skip_operation(program, opcode, lengths);
            continue;
        }
        uint64_t size = csp_cursor_uleb(program);
        const uint8_t *operation = csp_cursor_take(program, size);
        if (operation && size && *operation == SET_DISCRIMINATOR)
            return true;
    }
    return false;
}

/* DWARF 5, section 6.2.4. */
static bool unit_has_discriminators(struct csp_cursor *unit, bool is_64bit)
{
    uint16_t version = csp_cursor_u16(unit);
    if (version < 4 || version > 5)
        return false;
    if (version >= 5)
        csp_cursor_take(unit, 2); /* sizes of addresses and selectors */
    uint64_t header_size = is_64bit ? csp_cursor_u64(unit) : csp_cursor_u32(unit);
    struct csp_cursor header = *unit;
    csp_cursor_take(&header, 5); /* instruction length, operations, is_stmt, line base and range */
    uint8_t opcode_base = csp_cursor_u8(&header);
    const uint8_t *lengths = opcode_base ? csp_cursor_take(&header, opcode_base - 1u) : NULL;
    return lengths && csp_cursor_take(unit, header_size) &&
           program_sets_discriminator(unit, opcode_base, lengths);
}

bool csp_lines_have_discriminators(const uint8_t *data, size_t size)
{
    struct csp_cursor cursor = csp_cursor(data, size);
    while (csp_cursor_left(&cursor) > 4 && !cursor.overrun) {
        uint64_t length = csp_cursor_u32(&cursor);
        bool is_64bit = length == UINT32_MAX;
        if (is_64bit)
            length = csp_cursor_u64(&cursor);
        const uint8_t *at = csp_cursor_take(&cursor, length);
        if (!at)
            return false;
        struct csp_cursor unit = csp_cursor(at, length);
        if (unit_has_discriminators(&unit, is_64bit))
            return true;
    }
    return false;
}

/* ---- frame pointers ---- */

struct code {
    bool calls, frame;
};

/* BL, BLR and its PAuth forms; MOV x29, sp and ADD x29, sp, #n. */
static struct code look_at_aarch64(const uint8_t *bytes, size_t size)
{
    struct code code = {0};
    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t insn = csp_load32(bytes + i);
        code.calls |= insn >> 26 == 0x25 || (insn & 0xfffffc1f) == 0xd63f0000 ||
                      (insn & 0xfefff800) == 0xd63f0800;
        code.frame |= (insn & 0xff8003ff) == 0x910003fd;
    }
    return code;
}

/* CALL rel32 whose target the file has; MOV rbp, rsp near the start. Without decoding instructions
 * a constant may look like a call: good enough for a share of thousands. */
static struct code look_at_x86(const struct csp_elf_view *view, uint64_t address,
                               const uint8_t *bytes, size_t size)
{
    struct code code = {0};
    for (size_t i = 0; i + 5 <= size; i++) {
        size_t unused;
        code.frame |= i < 64 && (!memcmp(bytes + i, "\x48\x89\xe5", 3) ||
                                 !memcmp(bytes + i, "\x48\x8b\xec", 3));
        if (bytes[i] == 0xe8 && !code.calls) {
            uint64_t target =
                address + i + 5 + (uint64_t)(int64_t)(int32_t)csp_load32(bytes + i + 1);
            code.calls = csp_elf_view_at(view, target, &unused) != NULL;
        }
    }
    return code;
}

static void count_function(const struct csp_elf_view *view, const GElf_Sym *symbol,
                           struct csp_frame_use *use)
{
    size_t left;
    const uint8_t *bytes = csp_elf_view_at(view, symbol->st_value, &left);
    if (!bytes)
        return;
    size_t size = symbol->st_size < left ? symbol->st_size : left;
    struct code code = view->header.e_machine == EM_AARCH64
                           ? look_at_aarch64(bytes, size)
                           : look_at_x86(view, symbol->st_value, bytes, size);
    use->functions++;
    use->callers += code.calls;
    use->with_frames += code.calls && code.frame;
}

/* Of .symtab, or of .dynsym when that is all there is. */
static void count_frames(struct csp_elf_view *view, struct csp_frame_use *use)
{
    if (view->header.e_machine != EM_AARCH64 && view->header.e_machine != EM_X86_64)
        return;
    Elf_Data *symbols = csp_elf_view_section(view, ".symtab");
    if (!symbols)
        symbols = csp_elf_view_section(view, ".dynsym");
    GElf_Sym symbol;
    for (int i = 0; symbols && gelf_getsym(symbols, i, &symbol); i++)
        if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size &&
            symbol.st_shndx != SHN_UNDEF)
            count_function(view, &symbol, use);
}

int csp_frame_use_of(struct csp_frame_use *use, const char *path, struct csp_diag *diag)
{
    struct csp_elf_view view;
    *use = (struct csp_frame_use){0};
    int error = csp_elf_view_open(&view, path, diag);
    if (error)
        return error;
    count_frames(&view, use);
    csp_elf_view_close(&view);
    return 0;
}

bool csp_frame_use_good(const struct csp_frame_use *frames)
{
    uint32_t without = frames->callers - frames->with_frames;
    return without <= 4 || without <= frames->callers / 10;
}

/* ---- libraries ---- */

struct search {
    struct csp_binary_check *check;
    const char *triple; /* of Debian's directories */
    uint16_t machine;
};

static char *find_library(const struct search *search, const char *name, const char *runpath,
                          const char *origin)
{
    char *standard = csp_asprintf("/lib/%s:/usr/lib/%s:/usr/%s/lib:/lib64:/usr/lib64:/lib:/usr/lib",
                                  search->triple, search->triple, search->triple);
    char *all = csp_asprintf("%s:%s", runpath ? runpath : "", standard);
    char *found = NULL, *rest = all;
    free(standard);
    for (char *directory; !found && (directory = strsep(&rest, ":"));) {
        bool relative = !strncmp(directory, "$ORIGIN", 7) || !strncmp(directory, "${ORIGIN}", 9);
        const char *below =
            relative ? strchr(directory, 'N') + 1 + (directory[1] == '{') : directory;
        struct csp_elf_view view;
        if (!*directory)
            continue;
        found = csp_asprintf("%s%s/%s", relative ? origin : "", below, name);
        bool fits = csp_elf_view_open(&view, found, NULL) == 0;
        if (fits) {
            fits = view.header.e_machine == search->machine;
            csp_elf_view_close(&view);
        }
        if (!fits) {
            free(found);
            found = NULL;
        }
    }
    free(all);
    return found;
}

static bool known(const struct csp_binary_check *check, const char *name)
{
    for (size_t i = 0; i < check->libraries.len; i++)
        if (!strcmp(check->libraries.data[i].name, name))
            return true;
    return false;
}

static const char *dynamic_text(Elf_Data *strings, uint64_t offset)
{
    const char *text =
        strings && offset < strings->d_size ? (const char *)strings->d_buf + offset : NULL;
    return text && memchr(text, '\0', strings->d_size - offset) ? text : NULL;
}

static void add_needed(const struct search *search, struct csp_elf_view *view, const char *path)
{
    Elf_Data *dynamic = csp_elf_view_section(view, ".dynamic");
    Elf_Data *strings = csp_elf_view_section(view, ".dynstr");
    const char *runpath = NULL, *slash = strrchr(path, '/');
    char *origin = slash ? csp_strndup(path, (size_t)(slash - path)) : csp_strdup(".");
    GElf_Dyn entry;
    for (int i = 0; dynamic && gelf_getdyn(dynamic, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && !runpath))
            runpath = dynamic_text(strings, entry.d_un.d_val);
    for (int i = 0; dynamic && gelf_getdyn(dynamic, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *name =
            entry.d_tag == DT_NEEDED ? dynamic_text(strings, entry.d_un.d_val) : NULL;
        if (!name || known(search->check, name))
            continue;
        struct csp_library_check library = {
            .name = csp_strdup(name),
            .path = find_library(search, name, runpath, origin),
        };
        csp_vec_push(&search->check->libraries, library);
    }
    free(origin);
}

static void check_libraries(const struct search *search)
{
    struct csp_binary_check *check = search->check;
    for (size_t i = 0; i < check->libraries.len; i++) { /* which grows meanwhile */
        struct csp_elf_view view;
        char *path = check->libraries.data[i].path;
        if (!path || csp_elf_view_open(&view, path, NULL) < 0)
            continue;
        count_frames(&view, &check->libraries.data[i].frames);
        add_needed(search, &view, path);
        csp_elf_view_close(&view);
    }
}

int csp_binary_check(struct csp_binary_check *check, const char *path, struct csp_diag *diag)
{
    struct csp_elf_view view;
    *check = (struct csp_binary_check){0};
    int error = csp_elf_view_open(&view, path, diag);
    if (error)
        return error;
    check->path = csp_strdup(path);
    bool arm = view.header.e_machine == EM_AARCH64;
    struct search search = {check, arm ? "aarch64-linux-gnu" : "x86_64-linux-gnu",
                            view.header.e_machine};
    csp_elf_view_build_id(&view, &check->build_id);
    check->probes = csp_elf_view_section(&view, ".pseudo_probe") != NULL;
    check->probe_names = csp_elf_view_section(&view, ".pseudo_probe_desc") != NULL;
    const Elf_Data *lines = csp_elf_view_section(&view, ".debug_line");
    check->lines = lines && lines->d_size;
    check->discriminators =
        check->lines && csp_lines_have_discriminators(lines->d_buf, lines->d_size);
    count_frames(&view, &check->frames);
    add_needed(&search, &view, path);
    csp_elf_view_close(&view);
    check_libraries(&search);
    check->complete = check->build_id.size && check->probes && check->probe_names && check->lines &&
                      check->frames.functions && csp_frame_use_good(&check->frames);
    return 0;
}

void csp_binary_check_free(struct csp_binary_check *check)
{
    for (size_t i = 0; i < check->libraries.len; i++) {
        free(check->libraries.data[i].name);
        free(check->libraries.data[i].path);
    }
    csp_vec_free(&check->libraries);
    free(check->path);
}
