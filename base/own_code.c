#include "base/own_code.h"

#include "base/file.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>

struct digest {
    uint64_t value;
    bool found; /* a build-id, of the library in question */
};

static void add(struct digest *digest, const void *data, size_t size)
{
    digest->value = XXH3_64bits_withSeed(data, size, digest->value);
}

/* Notes are: sizes of name and description, type, name, description, each padded to 4 bytes. */
static void add_build_id(struct digest *digest, const uint8_t *notes, size_t size)
{
    for (size_t at = 0; size - at >= sizeof(ElfW(Nhdr)) && size > at;) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        size_t name = (note.n_namesz + 3U) & ~3U, description = (note.n_descsz + 3U) & ~3U;
        if (name > size - at || description > size - at - name)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            !memcmp(notes + at, "GNU", sizeof "GNU")) {
            add(digest, notes + at + name, note.n_descsz);
            digest->found = true;
        }
        at += name + description;
    }
}

static int add_object(struct dl_phdr_info *object, size_t size, void *user)
{
    struct digest *digest = user;
    (void)size;
    digest->found = !strncmp(object->dlpi_name, "linux-vdso", 10); /* the kernel's */
    for (int i = 0; i < object->dlpi_phnum && !digest->found; i++)
        if (object->dlpi_phdr[i].p_type == PT_NOTE)
            add_build_id(digest,
                         (const uint8_t *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr),
                         object->dlpi_phdr[i].p_memsz);
    for (int i = 0; i < object->dlpi_phnum && !digest->found; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags == (PF_R | PF_X))
            add(digest, (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr),
                object->dlpi_phdr[i].p_memsz);
    return 0;
}

uint64_t csp_own_code_digest(void)
{
    struct digest digest = {0};
    struct csp_file own;
    dl_iterate_phdr(add_object, &digest);
    if (csp_file_map(&own, "/proc/self/exe", NULL) == 0) {
        add(&digest, own.data, own.size);
        csp_file_unmap(&own);
    }
    return digest.value;
}
