#include "base/alloc.h"
#include "base/buf.h"
#include "cache/store.h"
#include "decode/code/image_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files that were looked at ---- */

const char *csp_images_keep_text(struct csp_images *images, char *text)
{
    size_t size = strlen(text) + 1;
    char *kept = csp_arena_alloc(&images->arena, size);
    memcpy(kept, text, size);
    free(text);
    return kept;
}

static const struct csp_image *add_file(struct csp_images *images, struct csp_image_file *file)
{
    struct csp_image *image = &file->image;
    file->usable = csp_image_read_elf(image, &images->arena);
    csp_vec_push(&images->files, file);
    if (!file->usable)
        return NULL;
    image->blocks = csp_block_cache_create(image->data, image->size);
    csp_block_cache_keep(image->blocks, images->store, &image->build_id);
    return image;
}

const struct csp_image *csp_images_open(struct csp_images *images, const char *path)
{
    struct stat status;
    for (size_t i = 0; i < images->files.len; i++)
        if (!strcmp(images->files.data[i]->image.path, path))
            return images->files.data[i]->usable ? &images->files.data[i]->image : NULL;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    struct csp_image_file *file = csp_calloc(1, sizeof *file);
    if (csp_file_map(&file->file, path, NULL) != 0) {
        free(file);
        return NULL;
    }
    file->image.path = file->file.path;
    file->image.data = file->file.data;
    file->image.size = file->file.size;
    return add_file(images, file);
}

const struct csp_image *csp_images_add_memory(struct csp_images *images, const char *name,
                                              const uint8_t *data, size_t size)
{
    struct csp_image_file *file = csp_calloc(1, sizeof *file);
    file->image = (struct csp_image){.path = name, .data = data, .size = size};
    return add_file(images, file);
}

/* ---- the table of answers ---- */

/* Asks once for each question; `remembered`: also when there is nothing to be found. */
static struct csp_image_answer ask(struct csp_images *images, const char *path,
                                   const struct csp_build_id *build_id, uint32_t pid,
                                   bool remembered)
{
    struct csp_buf question = {0};
    csp_buf_add(&question, path, strlen(path) + 1);
    csp_buf_add(&question, build_id->bytes, build_id->size);
    pthread_mutex_lock(&images->lock);
    uint32_t number = csp_intern_find(&images->questions, question.data, question.len);
    bool known = number != CSP_INTERN_NONE;
    struct csp_image_answer result =
        known ? images->answers.data[number] : csp_images_search(images, path, build_id, pid);
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
    struct csp_image_answer result = ask(images, path, build_id, pid, true);
    if (why)
        *why = result.why;
    return result.image;
}

const struct csp_image *csp_images_find_file(struct csp_images *images, const char *path,
                                             const struct csp_build_id *build_id, const char **why)
{
    struct csp_image_answer result = ask(images, path, build_id, UINT32_MAX, false);
    *why = result.why;
    return result.image;
}

/* ---- all together ---- */

static int add_override(struct csp_images *images, const char *text, struct csp_diag *diag)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return csp_fail(diag, CSP_ERR_USAGE, "--code takes PATH=FILE, not '%s'", text);
    struct csp_image_override override = {
        .name = csp_images_keep_text(images, csp_strndup(text, (size_t)(equals - text))),
        .file = csp_images_keep_text(images, csp_strdup(equals + 1)),
    };
    csp_vec_push(&images->overrides, override);
    if (csp_images_open(images, override.file))
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
        struct csp_image_file *file = images->files.data[i];
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
