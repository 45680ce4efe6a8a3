#include "decode/code/image_private.h"

#include <gelf.h>
#include <string.h>

static bool read_note(const Elf_Data *data, struct csp_build_id *build_id)
{
    GElf_Nhdr note;
    size_t name, description, at = 0;
    while ((at = gelf_getnote((Elf_Data *)data, at, &note, &name, &description)) > 0) {
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof "GNU" ||
            memcmp((const char *)data->d_buf + name, "GNU", sizeof "GNU") != 0)
            continue;
        size_t size = note.n_descsz;
        build_id->size = (uint8_t)(size < sizeof build_id->bytes ? size : sizeof build_id->bytes);
        memcpy(build_id->bytes, (const char *)data->d_buf + description, build_id->size);
        return true;
    }
    return false;
}

static void read_build_id(Elf *elf, struct csp_build_id *build_id)
{
    size_t count = 0;
    *build_id = (struct csp_build_id){0};
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_NOTE)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz,
                                              header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (data && read_note(data, build_id))
            return;
    }
}

static Elf *open_elf(const uint8_t *data, size_t size)
{
    elf_version(EV_CURRENT);
    if (size < SELFMAG || memcmp(data, ELFMAG, SELFMAG) != 0)
        return NULL;
    return elf_memory((char *)data, size);
}

bool csp_elf_build_id(const uint8_t *data, size_t size, struct csp_build_id *build_id)
{
    Elf *elf = open_elf(data, size);
    if (!elf)
        return false;
    read_build_id(elf, build_id);
    elf_end(elf);
    return true;
}

/* A file of separate debug information has the headers of code, but not the code. */
static bool has_code(Elf *elf)
{
    Elf_Scn *section = NULL;
    bool sections = false;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
            continue;
        sections = true;
        if (header.sh_type != SHT_NOBITS)
            return true;
    }
    return !sections;
}

static void read_segments(Elf *elf, struct csp_image *image, struct csp_arena *arena)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0 || !count || count > image->size)
        return;
    struct csp_segment *segments = csp_arena_alloc(arena, count * sizeof *segments);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        segments[image->segment_count++] = (struct csp_segment){
            header.p_offset, header.p_filesz, header.p_vaddr, header.p_flags & PF_X};
    }
    image->segments = segments;
}

bool csp_image_address(const struct csp_image *image, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct csp_segment *segment = &image->segments[i];
        if (!segment->executable || offset - segment->offset >= segment->file_size)
            continue;
        *address = segment->address + (offset - segment->offset);
        return true;
    }
    return false;
}

bool csp_image_read_elf(struct csp_image *image, struct csp_arena *arena)
{
    Elf *elf = open_elf(image->data, image->size);
    if (!elf)
        return false;
    read_build_id(elf, &image->build_id);
    read_segments(elf, image, arena);
    bool usable = has_code(elf);
    elf_end(elf);
    return usable;
}
