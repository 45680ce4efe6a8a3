#include "collect/elf_view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int csp_elf_view_open(struct csp_elf_view *view, const char *path, struct csp_diag *diag)
{
    *view = (struct csp_elf_view){0};
    elf_version(EV_CURRENT);
    view->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (view->fd < 0)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    /* Private, so that uncompressing a section does not touch the file. */
    view->elf = elf_begin(view->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    if (view->elf && elf_kind(view->elf) == ELF_K_ELF && gelf_getehdr(view->elf, &view->header)) {
        view->bytes = (const uint8_t *)elf_rawfile(view->elf, &view->size);
        return 0;
    }
    csp_elf_view_close(view);
    return csp_fail(diag, CSP_ERR_INPUT, "%s: not an ELF program", path);
}

void csp_elf_view_close(struct csp_elf_view *view)
{
    if (view->elf)
        elf_end(view->elf);
    if (view->fd >= 0)
        close(view->fd);
    *view = (struct csp_elf_view){.fd = -1};
}

Elf_Data *csp_elf_view_section(struct csp_elf_view *view, const char *name)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(view->elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(view->elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *found = elf_strptr(view->elf, names, header.sh_name);
        if (!found || strcmp(found, name) != 0)
            continue;
        if (header.sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
            return NULL;
        return elf_getdata(section, NULL);
    }
    return NULL;
}

static bool find_note(Elf_Data *data, struct csp_build_id *id)
{
    GElf_Nhdr note;
    size_t name, descriptor, next;
    for (size_t at = 0; (next = gelf_getnote(data, at, &note, &name, &descriptor)); at = next) {
        const char *bytes = data->d_buf;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || memcmp(bytes + name, "GNU", 4))
            continue;
        id->size = (uint8_t)(note.n_descsz < sizeof id->bytes ? note.n_descsz : sizeof id->bytes);
        memcpy(id->bytes, bytes + descriptor, id->size);
        return true;
    }
    return false;
}

static bool build_id_of(Elf *elf, struct csp_build_id *id)
{
    size_t count;
    *id = (struct csp_build_id){0};
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_NOTE)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz,
                                              segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        if (data && find_note(data, id))
            return true;
    }
    return false;
}

bool csp_elf_view_build_id(const struct csp_elf_view *view, struct csp_build_id *id)
{
    return build_id_of(view->elf, id);
}

bool csp_elf_file_build_id(const char *path, struct csp_build_id *id)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    bool found = elf && build_id_of(elf, id);
    if (elf)
        elf_end(elf);
    close(fd);
    return found;
}

const uint8_t *csp_elf_view_at(const struct csp_elf_view *view, uint64_t address, size_t *size)
{
    size_t count;
    if (elf_getphdrnum(view->elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(view->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            segment.p_offset > view->size || segment.p_filesz > view->size - segment.p_offset)
            continue;
        if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        *size = segment.p_filesz - (address - segment.p_vaddr);
        return view->bytes + segment.p_offset + (address - segment.p_vaddr);
    }
    return NULL;
}
