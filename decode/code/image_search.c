#include "base/alloc.h"
#include "base/file.h"
#include "decode/code/image_private.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

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
    const char *kept = csp_images_keep_text(search->images, path);
    if (!search->tried)
        search->tried = kept;
    const struct csp_image *image = csp_images_open(search->images, kept);
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
        const struct csp_image *any = csp_images_open(images, images->symfs_files.data[i]);
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
    struct csp_build_id id;
    size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
    if (!data || !search->build_id->size || !csp_elf_build_id(data, size, &id) || !id.size ||
        !is_recorded(search->build_id, &id))
        return NULL;
    return csp_images_add_memory(search->images, "[vdso]", data, size);
}

static const struct csp_image *try_override(const struct search *search)
{
    const struct csp_images *images = search->images;
    for (size_t i = 0; i < images->overrides.len; i++) {
        const struct csp_image_override *override = &images->overrides.data[i];
        if (!strcmp(override->name, search->path) || !strcmp(override->name, search->base))
            return csp_images_open(search->images, override->file);
    }
    return NULL;
}

/* The program may have moved since: what was given for it is it, as csp_sample_mapper_begin
 * (profgen/sample_mapper.h) has it. */
static const struct csp_image *try_program(struct search *search)
{
    const char *path = search->images->program;
    if (!path)
        return NULL;
    const struct csp_image *image = csp_images_open(search->images, path);
    if (!image)
        return NULL;
    bool is_it = search->build_id->size && image->build_id.size
                     ? is_recorded(search->build_id, &image->build_id)
                     : !strcmp(csp_file_name(path), search->base);
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

static const char *explain(struct search *search)
{
    char wanted[41], found[41];
    if (!strncmp(search->path, "//anon", 6) || !*search->path ||
        !strncmp(search->path, "[anon", 5) || !strncmp(search->path, "/memfd:", 7))
        return "is memory without a file (generated code?)";
    csp_build_id_text(search->build_id, wanted);
    if (search->other) {
        csp_build_id_text(&search->other->build_id, found);
        return csp_images_keep_text(
            search->images, csp_asprintf("was recorded with build-id %s, but %s has %s", wanted,
                                         search->other->path, *found ? found : "none"));
    }
    if (search->build_id->size)
        return csp_images_keep_text(
            search->images,
            csp_asprintf("(build-id %s) was not found; name its folder with --symfs", wanted));
    return "was not found; name its folder with --symfs";
}

struct csp_image_answer csp_images_search(struct csp_images *images, const char *path,
                                          const struct csp_build_id *build_id, uint32_t pid)
{
    struct search search = {
        .images = images,
        .path = path,
        .base = csp_file_name(path),
        .build_id = build_id,
    };
    struct csp_image_answer result = {.image = look_for(&search, pid)};
    if (!result.image)
        result.why = explain(&search);
    return result;
}
