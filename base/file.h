/* Files: mapped for reading, or read when they are small, replaced as a whole for writing. */
#ifndef CSP_BASE_FILE_H
#define CSP_BASE_FILE_H

#include "base/diag.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A file in memory, read-only. `data` is never null, not even for an empty file. */
struct csp_file {
    const uint8_t *data;
    size_t size;
    char *path;           /* as given, for messages; "standard input" for "-" */
    void *mapping, *copy; /* what is to be given back */
};

/* Maps a file; "-" is standard input, spooled to an unnamed temporary file when it is a pipe.
 * Errors: CSP_ERR_INPUT (missing, a directory), CSP_ERR_IO. */
int csp_file_map(struct csp_file *file, const char *path, struct csp_diag *diag);
void csp_file_unmap(struct csp_file *file);
/* All of these bytes will be read soon: touches them where the system maps the pages around. (Told
 * to map them all, it looks at each page once more.) The pages are the kernel's, which can take
 * them back. */
void csp_file_expect(const struct csp_file *file, uint64_t offset, uint64_t size);
/* These bytes will hardly be read again: their pages need not be kept, and those that are read
 * after all are mapped again. */
void csp_file_done(const struct csp_file *file, uint64_t offset, uint64_t size);

/* A file read in pieces, from any number of threads: for what is too large to be held, or is read
 * only once (a page that is mapped costs several times what reading it does). */
struct csp_input {
    int fd;
    uint64_t size;
    char *path; /* as in struct csp_file */
};

/* Pipes are spooled, as by csp_file_map. Errors: those of csp_file_map. Close after an error too.
 */
int csp_input_open(struct csp_input *source, const char *path, struct csp_diag *diag);
/* Reads all of these bytes, which must be in the file. Errors: CSP_ERR_IO. */
int csp_input_read(const struct csp_input *source, uint64_t offset, void *buffer, size_t size,
                   struct csp_diag *diag);
void csp_input_close(struct csp_input *source);

/* The last component of a path. */
const char *csp_file_name(const char *path);
/* The folder of the running program with its final slash, to be freed; null when it cannot be told.
 */
char *csp_own_folder(void);

/* An output that appears under its name only when complete: it is written to a temporary file in
 * the same directory and renamed by csp_output_commit. "-" is standard output, written directly, as
 * are devices and pipes. */
struct csp_output {
    FILE *stream;
    char *path;
    char *temporary; /* null where it is written directly */
};

/* Whether one can be opened, as far as can be told without doing so: that its folder is there and
 * may be written to, and it is none itself. Errors: CSP_ERR_IO. */
int csp_output_check(const char *path, struct csp_diag *diag);
/* Errors: CSP_ERR_IO. */
int csp_output_open(struct csp_output *output, const char *path, struct csp_diag *diag);
/* Completes the output, or reports why it could not be (disk full) and leaves nothing behind. */
int csp_output_commit(struct csp_output *output, struct csp_diag *diag);
/* Opens, writes and completes it. */
int csp_output_write(const char *path, const void *data, size_t size, struct csp_diag *diag);
/* Drops the output; harmless after a commit and on a zero-initialised struct. */
void csp_output_abort(struct csp_output *output);

#endif
