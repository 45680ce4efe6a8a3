#include "emulate/binary.h"

#include "base/bytes.h"
#include "base/file.h"

#include <elf.h>
#include <string.h>

/* The file's header; false when it is not a 64-bit little-endian ELF file. */
static bool read_header(const struct csp_file *file, Elf64_Ehdr *header)
{
    if (file->size < sizeof *header)
        return false;
    memcpy(header, file->data, sizeof *header);
    return !memcmp(header->e_ident, ELFMAG, SELFMAG) && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == ELFDATA2LSB;
}

int csp_binary_machine(const char *path)
{
    struct csp_file file;
    Elf64_Ehdr header;
    if (csp_file_map(&file, path, NULL) < 0)
        return -1;
    int machine = read_header(&file, &header) ? header.e_machine : -1;
    csp_file_unmap(&file);
    return machine;
}

/* Notes: three words (name size, descriptor size, type), then both padded to 4 bytes. */
static bool find_note(const uint8_t *data, size_t size, struct csp_build_id *id)
{
    struct csp_cursor cursor = csp_cursor(data, size);
    while (csp_cursor_left(&cursor) >= 12) {
        uint32_t name_size = csp_cursor_u32(&cursor), size_of_id = csp_cursor_u32(&cursor);
        uint32_t type = csp_cursor_u32(&cursor);
        const uint8_t *name = csp_cursor_take(&cursor, ((uint64_t)name_size + 3) & ~3ull);
        const uint8_t *bytes = csp_cursor_take(&cursor, ((uint64_t)size_of_id + 3) & ~3ull);
        if (!name || !bytes)
            return false;
        if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) != 0)
            continue;
        id->size = (uint8_t)(size_of_id < sizeof id->bytes ? size_of_id : sizeof id->bytes);
        memcpy(id->bytes, bytes, id->size);
        return true;
    }
    return false;
}

struct csp_build_id csp_binary_build_id(const char *path)
{
    struct csp_build_id id = {0};
    struct csp_file file;
    Elf64_Ehdr header;
    if (csp_file_map(&file, path, NULL) < 0)
        return id;
    if (!read_header(&file, &header))
        header.e_phnum = 0;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        uint64_t at = header.e_phoff + i * sizeof segment;
        if (at > file.size || file.size - at < sizeof segment)
            break;
        memcpy(&segment, file.data + at, sizeof segment);
        if (segment.p_type == PT_NOTE && segment.p_offset <= file.size &&
            segment.p_filesz <= file.size - segment.p_offset &&
            find_note(file.data + segment.p_offset, segment.p_filesz, &id))
            break;
    }
    csp_file_unmap(&file);
    return id;
}
