#include "profgen/bundle.h"

#include "base/alloc.h"
#include "base/file.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing ---- */

static bool is_needed(const GElf_Shdr *section, const char *name, bool program)
{
    if (section->sh_flags & SHF_EXECINSTR || section->sh_type == SHT_NOTE ||
        !strncmp(name, ".eh_frame", 9) || !strcmp(name, ".debug_frame"))
        return true;
    return program && (section->sh_type == SHT_SYMTAB || !strcmp(name, ".strtab") ||
                       !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8) ||
                       !strncmp(name, ".pseudo_probe", 13));
}

static bool has_names(const char *name)
{
    return !strcmp(name, ".strtab") || !strcmp(name, ".debug_str") ||
           !strcmp(name, ".debug_line_str");
}

/* Of the same length, so that nothing else changes. */
static void scrub_names(char *names, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = strnlen(names + at, size - at);
        if (memchr(names + at, '/', length))
            memset(names + at, 'x', length);
        at += length + 1;
    }
}

static void copy_part(struct csp_buf *copy, const uint8_t *data, uint64_t offset, uint64_t size)
{
    if (offset <= copy->len && size <= copy->len - offset)
        memcpy(copy->data + offset, data + offset, size);
}

static void copy_sections(Elf *elf, const uint8_t *data, bool program, bool scrub,
                          struct csp_buf *copy)
{
    size_t strings;
    Elf_Scn *section = NULL;
    elf_getshdrstrndx(elf, &strings);
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        const char *text = elf_strptr(elf, strings, header.sh_name), *name = text ? text : "";
        bool is_of_headers = elf_ndxscn(section) == strings;
        if (!is_of_headers && !is_needed(&header, name, program))
            continue;
        copy_part(copy, data, header.sh_offset, header.sh_size);
        if (scrub && has_names(name) && header.sh_offset <= copy->len &&
            header.sh_size <= copy->len - header.sh_offset)
            scrub_names(copy->data + header.sh_offset, header.sh_size);
    }
}

bool csp_bundle_binary(const uint8_t *data, size_t size, bool program, bool scrub,
                       struct csp_buf *copy)
{
    GElf_Ehdr header;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory((char *)(uintptr_t)data, size); /* only read */
    bool is_elf = elf && gelf_getehdr(elf, &header) && header.e_shnum;
    memset(csp_buf_reserve(copy, size + 1), 0, size);
    copy->len = size;
    if (is_elf) {
        copy_part(copy, data, 0, header.e_ehsize);
        copy_part(copy, data, header.e_phoff, (uint64_t)header.e_phnum * header.e_phentsize);
        copy_part(copy, data, header.e_shoff, (uint64_t)header.e_shnum * header.e_shentsize);
        copy_sections(elf, data, program, scrub, copy);
    } else {
        memcpy(copy->data, data, size);
    }
    elf_end(elf);
    return is_elf;
}

/* As --symfs looks for it. */
static char *name_of(const struct csp_binary *binary)
{
    char id[41];
    csp_build_id_text(&binary->build_id, id);
    if (binary->build_id.size > 1)
        return csp_asprintf("files/.build-id/%.2s/%s", id, id + 2);
    return csp_asprintf("files/%.90s", csp_file_name(binary->path));
}

void csp_bundle_files(struct csp_archive_writer *writer, struct csp_recording *recording,
                      const char *program_path, bool scrub)
{
    const struct csp_spaces *spaces = csp_recording_spaces(recording);
    for (uint32_t i = 0; i < csp_spaces_binary_count(spaces); i++) {
        struct csp_buf copy = {0};
        const struct csp_binary *binary = csp_spaces_binary(spaces, i);
        const struct csp_image *image = csp_recording_image(recording, i);
        if (!image)
            continue;
        bool program = !strcmp(image->path, program_path);
        char *name = name_of(binary);
        csp_bundle_binary(image->data, image->size, program, scrub, &copy);
        csp_archive_add(writer, name, copy.data, copy.len);
        csp_buf_free(&copy);
        free(name);
    }
}

/* ---- reading ---- */

static void note_name(void *user, const char *name)
{
    struct csp_bundle *bundle = user;
    char *path = csp_asprintf("%s/%s", bundle->folder, name);
    csp_vec_push(&bundle->names, csp_strdup(name));
    if (!strncmp(name, "input/", 6)) {
        csp_vec_push(&bundle->inputs, path);
        return;
    }
    if (!strncmp(name, "program/", 8) && !bundle->program)
        bundle->program = path;
    else
        free(path);
}

int csp_bundle_open(struct csp_bundle *bundle, const char *path, struct csp_diag *diag)
{
    const char *temporary = getenv("TMPDIR");
    *bundle = (struct csp_bundle){0};
    char *folder =
        csp_asprintf("%s/csprof-bundle.XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        int error =
            csp_fail(diag, CSP_ERR_IO, "%s: cannot make a folder: %s", folder, strerror(errno));
        free(folder);
        return error;
    }
    bundle->folder = folder;
    bundle->symfs = csp_asprintf("%s/files", folder);
    int error = csp_archive_unpack(path, folder, note_name, bundle, diag);
    if (!error && (!bundle->program || !bundle->inputs.len))
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s is no bundle, as `csprof bundle` writes them: it has no %s", path,
                         bundle->program ? "input/" : "program/");
    return error;
}

/* Removes a file and the folders above it that are empty then. */
static void remove_up(const struct csp_bundle *bundle, const char *name)
{
    char *path = csp_asprintf("%s/%s", bundle->folder, name);
    size_t least = strlen(bundle->folder);
    unlink(path);
    for (char *slash; (slash = strrchr(path, '/')) && slash > path + least;) {
        *slash = '\0';
        if (rmdir(path) != 0)
            break;
    }
    free(path);
}

void csp_bundle_close(struct csp_bundle *bundle)
{
    for (size_t i = 0; i < bundle->names.len; i++) {
        remove_up(bundle, bundle->names.data[i]);
        free(bundle->names.data[i]);
    }
    for (size_t i = 0; i < bundle->inputs.len; i++)
        free(bundle->inputs.data[i]);
    csp_vec_free(&bundle->names);
    csp_vec_free(&bundle->inputs);
    if (bundle->folder)
        rmdir(bundle->folder);
    free(bundle->folder);
    free(bundle->program);
    free(bundle->symfs);
    *bundle = (struct csp_bundle){0};
}
