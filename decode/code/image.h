/* Files with code: found, verified by build-id, mapped.
 *
 * A file is looked for, in this order, until one is found whose build-id is the recorded one (or
 * none was recorded):
 *   1. what --code names for it; its build-id is then not asked
 *   2. the program that was given (-b), for what has its build-id; where one of the two has none,
 *      for what has its name
 *   3. with --symfs DIR: DIR/path, DIR/basename, DIR/.build-id/xx/…, and any ELF file directly in
 *      DIR with that build-id; DIR/vdso.so for the vdso
 *   4. perf's cache: ~/.debug/.build-id/xx/…/elf (…/vdso)
 *   5. without --symfs: the path itself, then /proc/PID/root/path of a process that still runs
 *   6. for the vdso: that of csprof's own process, when its build-id is the recorded one
 */
#ifndef CSP_DECODE_CODE_IMAGE_H
#define CSP_DECODE_CODE_IMAGE_H

#include "base/build_id.h"
#include "base/diag.h"
#include "decode/code/block_table.h"

/* A loadable part of an ELF file. */
struct csp_segment {
    uint64_t offset, file_size; /* in the file */
    uint64_t address;           /* as linked */
    bool executable;
};

/* A file with code. Does not change while the images live. */
struct csp_image {
    const char *path; /* where it was found */
    const uint8_t *data;
    size_t size;
    struct csp_build_id build_id; /* its own; size 0: it has none */
    const struct csp_segment *segments;
    size_t segment_count;
    struct csp_block_cache *blocks; /* of the whole file */
};

struct csp_images;
struct csp_store;

struct csp_image_options {
    const char *symfs;       /* null: none */
    const char *program;     /* a file, wherever it was when it ran; null: none */
    const char *const *code; /* "PATH=FILE", PATH being a recorded path or its last component */
    size_t code_count;
    /* Where what is found out is kept; null is nowhere. Not given: the images open the usual store
     * (cache/store.h). */
    struct csp_store *store;
    bool store_given;
};

/* Reads the build-id of an ELF file in memory; false when it is not ELF. Size 0: it has none. */
bool csp_elf_build_id(const uint8_t *data, size_t size, struct csp_build_id *build_id);
/* The address, as linked, of the code at this offset in the file; false when no segment has it. */
bool csp_image_address(const struct csp_image *image, uint64_t offset, uint64_t *address);

/* What is found out about the code of files is kept from one run to the next in the store. `diag`
 * must live as long as the images. Errors: CSP_ERR_USAGE (a --code without "="), CSP_ERR_INPUT (its
 * file, or DIR, cannot be read).
 */
int csp_images_create(struct csp_images **images, const struct csp_image_options *options,
                      struct csp_diag *diag);
/* The file that was mapped as `path` in process `pid`, looked for at the first call; null when it
 * is missing: then *why (if asked for) is a phrase that says so, without newline, to go after the
 * path. Safe from any thread. */
const struct csp_image *csp_images_find(struct csp_images *images, const char *path,
                                        const struct csp_build_id *build_id, uint32_t pid,
                                        const char **why);
/* The same without asking processes; what is missing may still be found by one, later. */
const struct csp_image *csp_images_find_file(struct csp_images *images, const char *path,
                                             const struct csp_build_id *build_id, const char **why);
void csp_images_destroy(struct csp_images *images);

#endif
