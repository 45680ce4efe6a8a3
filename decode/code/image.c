#include "decode/code/image.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/intern.h"
#include "cache/store.h"

#include <dirent.h>
#include <gelf.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that was looked at, by the path it was found under. */
struct image_file {
    struct csp_file file;
    struct csp_image image;
    bool usable; /* ELF, with code */
};

/* What csp_images_find found for a path and build-id. */
struct answer {
    const struct csp_image *image;
    const char *why;
};

struct override {
    const char *name;
    const char *file;
};

struct csp_images {
    pthread_mutex_t lock;
    struct csp_store *store; /* may be null */
    bool own_store;
    char *symfs, *program;
    CSP_VEC(struct override) overrides;
    CSP_VEC(struct image_file *) files;
    struct csp_intern questions; /* "path\0build-id" */
    CSP_VEC(struct answer) answers;
    bool symfs_listed;
    CSP_VEC(char *) symfs_files; /* directly in it, in order of name */
    struct csp_arena arena;
};

/* ---- ELF ---- */

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

static void read_segments(struct csp_images *images, Elf *elf, struct csp_image *image)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0 || !count || count > image->size)
        return;
    struct csp_segment *segments = csp_arena_alloc(&images->arena, count * sizeof *segments);
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

static bool read_image(struct csp_images *images, struct csp_image *image)
{
    Elf *elf = open_elf(image->data, image->size);
    if (!elf)
        return false;
    read_build_id(elf, &image->build_id);
    read_segments(images, elf, image);
    bool usable = has_code(elf);
    elf_end(elf);
    if (usable) {
        image->blocks = csp_block_cache_create(image->data, image->size);
        csp_block_cache_keep(image->blocks, images->store, &image->build_id);
    }
    return usable;
}

/* ---- candidates ---- */

static const char *keep_text(struct csp_images *images, char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = csp_arena_alloc(&images->arena, size);
    memcpy(kept, text, size);
    free(text);
    return kept;
}

/* Opens a file, once; null when there is none or it has no code. */
static const struct csp_image *open_image(struct csp_images *images, const char *path)
{
    struct stat status;
    for (size_t i = 0; i < images->files.len; i++)
        if (!strcmp(images->files.data[i]->image.path, path))
            return images->files.data[i]->usable ? &images->files.data[i]->image : NULL;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    struct image_file *file = csp_calloc(1, sizeof *file);
    if (csp_file_map(&file->file, path, NULL) != 0) {
        free(file);
        return NULL;
    }
    file->image.path = file->file.path;
    file->image.data = file->file.data;
    file->image.size = file->file.size;
    file->usable = read_image(images, &file->image);
    csp_vec_push(&images->files, file);
    return file->usable ? &file->image : NULL;
}

/* A search in progress. */
struct search {
    struct csp_images *images;
    const char *path, *base;
    const struct csp_build_id *build_id;
    const struct csp_image *other; /* the first that would have done but for its build-id */
    const char *tried;             /* the first place that was looked at */
};

/* Whether a file is the recorded one. Some recorders pad build-ids with zeroes to 20 bytes. */
static bool is_recorded(const struct csp_build_id *recorded, const struct csp_build_id *found)
{
    if (!recorded->size)
        return true;
    unsigned common = recorded->size < found->size ? recorded->size : found->size;
    if (!found->size || memcmp(recorded->bytes, found->bytes, common) != 0)
        return false;
    for (unsigned i = common; i < recorded->size; i++)
        if (recorded->bytes[i])
            return false;
    return common == found->size;
}

/* Takes the file at `path`, which is freed, if it is the right one. */
static const struct csp_image *try_path(struct search *search, char *path)
{
    const char *kept = keep_text(search->images, path);
    if (!search->tried)
        search->tried = kept;
    const struct csp_image *image = open_image(search->images, kept);
    if (!image || is_recorded(search->build_id, &image->build_id))
        return image;
    if (!search->other)
        search->other = image;
    return NULL;
}

/* Below a folder that is laid out by build-id. Without the zeroes it may be padded with, too. */
static const struct csp_image *try_build_id_folder(struct search *search, const char *folder)
{
    static const char *const leaves[] = {"", "/elf", "/vdso", ".debug"};
    struct csp_build_id id = *search->build_id;
    for (; id.size > 1; id.size--) {
        char text[41];
        csp_build_id_text(&id, text);
        for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
            const struct csp_image *image = try_path(
                search, csp_asprintf("%s/.build-id/%.2s/%s%s", folder, text, text + 2, leaves[i]));
            if (image)
                return image;
        }
        if (id.bytes[id.size - 1])
            break;
    }
    return NULL;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void list_symfs(struct csp_images *images)
{
    images->symfs_listed = true;
    DIR *folder = opendir(images->symfs);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            csp_vec_push(&images->symfs_files, csp_asprintf("%s/%s", images->symfs, entry->d_name));
    if (folder)
        closedir(folder);
    if (images->symfs_files.len)
        qsort(images->symfs_files.data, images->symfs_files.len, sizeof(char *), compare_names);
}

static const struct csp_image *try_symfs(struct search *search)
{
    struct csp_images *images = search->images;
    const struct csp_image *image =
        try_path(search, csp_asprintf("%s/%s", images->symfs, search->path));
    if (!image)
        image = try_path(search, csp_asprintf("%s/%s", images->symfs, search->base));
    if (image || !search->build_id->size)
        return image;
    image = try_build_id_folder(search, images->symfs);
    if (!images->symfs_listed)
        list_symfs(images);
    for (size_t i = 0; i < images->symfs_files.len && !image; i++) {
        const struct csp_image *any = open_image(images, images->symfs_files.data[i]);
        if (any && is_recorded(search->build_id, &any->build_id))
            image = any;
    }
    return image;
}

static const struct csp_image *try_perf_cache(struct search *search)
{
    const char *folder = getenv("PERF_BUILDID_DIR"), *home = getenv("HOME");
    if (!search->build_id->size || (!folder && !home))
        return NULL;
    char *made = folder ? NULL : csp_asprintf("%s/.debug", home);
    const struct csp_image *image = try_build_id_folder(search, folder ? folder : made);
    free(made);
    return image;
}

/* The vdso is not a file; that of our own process is the recorded one on the same kernel. */
static const struct csp_image *try_own_vdso(struct search *search)
{
    const uint8_t *data = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    struct csp_images *images = search->images;
    struct csp_build_id id;
    size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
    if (!data || !search->build_id->size || !csp_elf_build_id(data, size, &id) || !id.size ||
        !is_recorded(search->build_id, &id))
        return NULL;
    struct image_file *file = csp_calloc(1, sizeof *file);
    file->image = (struct csp_image){.path = "[vdso]", .data = data, .size = size};
    file->usable = read_image(images, &file->image);
    csp_vec_push(&images->files, file);
    return &file->image;
}

static const struct csp_image *try_override(const struct search *search)
{
    const struct csp_images *images = search->images;
    for (size_t i = 0; i < images->overrides.len; i++) {
        const struct override *override = &images->overrides.data[i];
        if (!strcmp(override->name, search->path) || !strcmp(override->name, search->base))
            return open_image(search->images, override->file);
    }
    return NULL;
}

/* The program may have moved since: what was given for it is it, as find_program in
 * profgen/recording_input.c has it. */
static const struct csp_image *try_program(struct search *search)
{
    const char *path = search->images->program;
    if (!path)
        return NULL;
    const struct csp_image *image = open_image(search->images, path);
    if (!image)
        return NULL;
    const char *slash = strrchr(path, '/');
    bool is_it = search->build_id->size && image->build_id.size
                     ? is_recorded(search->build_id, &image->build_id)
                     : !strcmp(slash ? slash + 1 : path, search->base);
    return is_it ? image : NULL;
}

static const struct csp_image *look_for(struct search *search, uint32_t pid)
{
    struct csp_images *images = search->images;
    const struct csp_image *image = try_override(search);
    bool pseudo = search->path[0] == '[';
    if (!image)
        image = try_program(search);
    if (!image && images->symfs)
        image = try_symfs(search);
    if (!image && pseudo && images->symfs && !strncmp(search->path, "[vdso]", 6))
        image = try_path(search, csp_asprintf("%s/vdso.so", images->symfs));
    if (!image)
        image = try_perf_cache(search);
    if (!image && pseudo)
        image = try_own_vdso(search);
    if (image || images->symfs || pseudo || search->path[0] != '/')
        return image;
    image = try_path(search, csp_strdup(search->path));
    if (!image && pid != UINT32_MAX)
        image = try_path(search, csp_asprintf("/proc/%" PRIu32 "/root%s", pid, search->path));
    return image;
}

/* ---- the table of answers ---- */

static const char *explain(struct search *search)
{
    char wanted[41], found[41];
    if (!strncmp(search->path, "//anon", 6) || !*search->path ||
        !strncmp(search->path, "[anon", 5) || !strncmp(search->path, "/memfd:", 7))
        return "is memory without a file (generated code?)";
    csp_build_id_text(search->build_id, wanted);
    if (search->other) {
        csp_build_id_text(&search->other->build_id, found);
        return keep_text(search->images,
                         csp_asprintf("was recorded with build-id %s, but %s has %s", wanted,
                                      search->other->path, *found ? found : "none"));
    }
    if (search->build_id->size)
        return keep_text(
            search->images,
            csp_asprintf("(build-id %s) was not found; name its folder with --symfs", wanted));
    return "was not found; name its folder with --symfs";
}

static struct answer answer(struct csp_images *images, const char *path,
                            const struct csp_build_id *build_id, uint32_t pid)
{
    const char *slash = strrchr(path, '/');
    struct search search = {
        .images = images,
        .path = path,
        .base = slash ? slash + 1 : path,
        .build_id = build_id,
    };
    struct answer result = {.image = look_for(&search, pid)};
    if (!result.image)
        result.why = explain(&search);
    return result;
}

/* Asks once for each question; `remembered`: also when there is nothing to be found. */
static struct answer ask(struct csp_images *images, const char *path,
                         const struct csp_build_id *build_id, uint32_t pid, bool remembered)
{
    struct csp_buf question = {0};
    csp_buf_add(&question, path, strlen(path) + 1);
    csp_buf_add(&question, build_id->bytes, build_id->size);
    pthread_mutex_lock(&images->lock);
    uint32_t number = csp_intern_find(&images->questions, question.data, question.len);
    bool known = number != CSP_INTERN_NONE;
    struct answer result =
        known ? images->answers.data[number] : answer(images, path, build_id, pid);
    if (!known && (result.image || remembered)) {
        csp_intern(&images->questions, question.data, question.len);
        csp_vec_push(&images->answers, result);
    }
    pthread_mutex_unlock(&images->lock);
    csp_buf_free(&question);
    return result;
}

const struct csp_image *csp_images_find(struct csp_images *images, const char *path,
                                        const struct csp_build_id *build_id, uint32_t pid,
                                        const char **why)
{
    struct answer result = ask(images, path, build_id, pid, true);
    if (why)
        *why = result.why;
    return result.image;
}

const struct csp_image *csp_images_find_file(struct csp_images *images, const char *path,
                                             const struct csp_build_id *build_id, const char **why)
{
    struct answer result = ask(images, path, build_id, UINT32_MAX, false);
    *why = result.why;
    return result.image;
}

static int add_override(struct csp_images *images, const char *text, struct csp_diag *diag)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return csp_fail(diag, CSP_ERR_USAGE, "--code takes PATH=FILE, not '%s'", text);
    struct override override = {
        .name = keep_text(images, csp_strndup(text, (size_t)(equals - text))),
        .file = keep_text(images, csp_strdup(equals + 1)),
    };
    csp_vec_push(&images->overrides, override);
    if (open_image(images, override.file))
        return 0;
    return csp_fail(diag, CSP_ERR_INPUT, "--code %s: cannot be read, or is no ELF file with code",
                    override.file);
}

int csp_images_create(struct csp_images **out, const struct csp_image_options *options,
                      struct csp_diag *diag)
{
    struct csp_images *images = csp_calloc(1, sizeof *images);
    struct stat status;
    int error = 0;
    pthread_mutex_init(&images->lock, NULL);
    images->own_store = !options->store_given;
    images->store = options->store_given ? options->store : csp_store_open_usual(diag);
    images->program = options->program ? csp_strdup(options->program) : NULL;
    if (options->symfs) {
        images->symfs = csp_strdup(options->symfs);
        if (stat(options->symfs, &status) != 0 || !S_ISDIR(status.st_mode))
            error = csp_fail(diag, CSP_ERR_INPUT, "--symfs %s is not a folder", options->symfs);
    }
    for (size_t i = 0; i < options->code_count && !error; i++)
        error = add_override(images, options->code[i], diag);
    if (error)
        csp_images_destroy(images);
    else
        *out = images;
    return error;
}

void csp_images_destroy(struct csp_images *images)
{
    if (!images)
        return;
    for (size_t i = 0; i < images->files.len; i++) {
        struct image_file *file = images->files.data[i];
        csp_block_cache_destroy(file->image.blocks);
        if (file->file.path)
            csp_file_unmap(&file->file);
        free(file);
    }
    for (size_t i = 0; i < images->symfs_files.len; i++)
        free(images->symfs_files.data[i]);
    csp_vec_free(&images->symfs_files);
    csp_vec_free(&images->files);
    csp_vec_free(&images->overrides);
    csp_vec_free(&images->answers);
    csp_intern_free(&images->questions);
    csp_arena_free(&images->arena);
    if (images->own_store)
        csp_store_close(images->store);
    pthread_mutex_destroy(&images->lock);
    free(images->symfs);
    free(images->program);
    free(images);
}
