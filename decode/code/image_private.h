/* What the files image*.c share. */
#ifndef CSP_DECODE_CODE_IMAGE_PRIVATE_H
#define CSP_DECODE_CODE_IMAGE_PRIVATE_H

#include "base/arena.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/vec.h"
#include "decode/code/image.h"

#include <pthread.h>

/* A file that was looked at, by the path it was found under. */
struct csp_image_file {
    struct csp_file file;
    struct csp_image image;
    bool usable; /* ELF, with code */
};

/* What csp_images_find found for a path and build-id. */
struct csp_image_answer {
    const struct csp_image *image;
    const char *why;
};

struct csp_image_override {
    const char *name;
    const char *file;
};

struct csp_images {
    pthread_mutex_t lock;
    struct csp_store *store; /* may be null */
    bool own_store;
    char *symfs, *program;
    CSP_VEC(struct csp_image_override) overrides;
    CSP_VEC(struct csp_image_file *) files;
    struct csp_intern questions; /* "path\0build-id" */
    CSP_VEC(struct csp_image_answer) answers;
    bool symfs_listed;
    CSP_VEC(char *) symfs_files; /* directly in it, in order of name */
    struct csp_arena arena;
};

/* Reads what an ELF file says of itself. False: it is none, or has no code. */
bool csp_image_read_elf(struct csp_image *image, struct csp_arena *arena);

/* A copy that lives as long as the images; `text` is freed. */
const char *csp_images_keep_text(struct csp_images *images, char *text);
/* Opens a file, once; null when there is none or it has no code. */
const struct csp_image *csp_images_open(struct csp_images *images, const char *path);
/* The same for memory that is there as long as the process. */
const struct csp_image *csp_images_add_memory(struct csp_images *images, const char *name,
                                              const uint8_t *data, size_t size);

/* Looks for a file in all places; `pid` UINT32_MAX: not by a process. */
struct csp_image_answer csp_images_search(struct csp_images *images, const char *path,
                                          const struct csp_build_id *build_id, uint32_t pid);

#endif
