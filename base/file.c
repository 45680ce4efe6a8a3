#include "base/file.h"

#include "base/alloc.h"
#include "base/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Up to here a file is read: to map it, touch its pages and give them back takes as long, and
 * longer when several threads do it at once. */
enum { SMALL = 64 * 1024 };

static int read_descriptor(struct csp_file *file, int fd, struct csp_diag *diag)
{
    const struct csp_input input = {.fd = fd, .size = file->size, .path = file->path};
    file->copy = csp_malloc(file->size);
    file->data = file->copy;
    return csp_input_read(&input, 0, file->copy, file->size, diag);
}

static int map_descriptor(struct csp_file *file, int fd, struct csp_diag *diag)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return csp_fail(diag, CSP_ERR_IO, "%s: %s", file->path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: is a directory, expected a file", file->path);
    file->size = (size_t)status.st_size;
    file->data = (const uint8_t *)"";
    if (!file->size)
        return 0;
    if (file->size <= SMALL)
        return read_descriptor(file, fd, diag);
    void *mapping = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED)
        return csp_fail(diag, CSP_ERR_IO, "%s: cannot map %zu bytes: %s", file->path, file->size,
                        strerror(errno));
    file->mapping = mapping;
    file->data = mapping;
    return 0;
}

void csp_file_expect(const struct csp_file *file, uint64_t offset, uint64_t size)
{
    enum { AROUND = 16 * 4096 }; /* what the system maps when one page of it is touched */
    if (!file->mapping || offset >= file->size)
        return;
    uint64_t end = size > file->size - offset ? file->size : offset + size;
    for (uint64_t at = offset; at < end; at = at / AROUND * AROUND + AROUND)
        (void)*(const volatile uint8_t *)(file->data + at);
}

void csp_file_done(const struct csp_file *file, uint64_t offset, uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (!file->mapping || offset >= file->size || size > file->size - offset)
        return;
    uint64_t start = (offset + page - 1) / page * page, end = (offset + size) / page * page;
    if (start < end)
        madvise((uint8_t *)file->mapping + start, end - start, MADV_DONTNEED);
}

/* Copies a pipe into an unnamed file, so that everything after sees a mapping. */
static int spool(int fd)
{
    FILE *temporary = tmpfile();
    if (!temporary)
        return -1;
    char block[65536];
    ssize_t got;
    while ((got = read(fd, block, sizeof block)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || fwrite(block, 1, (size_t)got, temporary) != (size_t)got) {
            fclose(temporary);
            return -1;
        }
    }
    int copy = fflush(temporary) == 0 ? dup(fileno(temporary)) : -1;
    fclose(temporary);
    return copy;
}

/* The name of an input in messages; the caller frees it. */
static char *input_name(const char *path)
{
    return csp_strdup(strcmp(path, "-") == 0 ? "standard input" : path[0] ? path : "''");
}

/* Of what open() says: whether trying again may help, or the path is wrong as it is. */
static int error_of_open(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EINTR:
    case EIO:
        return CSP_ERR_IO;
    default:
        return CSP_ERR_INPUT;
    }
}

static int open_input(const char *name, const char *path, struct csp_diag *diag)
{
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return csp_fail(diag, error_of_open(errno), "%s: %s", name, strerror(errno));
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode))
        return fd;
    int copy = spool(fd);
    close(fd);
    if (copy < 0)
        return csp_fail(diag, CSP_ERR_IO, "cannot read %s: %s", name, strerror(errno));
    return copy;
}

int csp_input_open(struct csp_input *source, const char *path, struct csp_diag *diag)
{
    *source = (struct csp_input){.path = input_name(path)};
    source->fd = open_input(source->path, path, diag);
    if (source->fd < 0)
        return source->fd;
    struct stat status;
    if (fstat(source->fd, &status) < 0)
        return csp_fail(diag, CSP_ERR_IO, "%s: %s", source->path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: is a directory, expected a file", source->path);
    source->size = (uint64_t)status.st_size;
    return 0;
}

int csp_input_read(const struct csp_input *source, uint64_t offset, void *buffer, size_t size,
                   struct csp_diag *diag)
{
    for (char *at = buffer; size;) {
        ssize_t got = pread(source->fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return csp_fail(diag, CSP_ERR_IO, "%s: cannot read at offset %llu: %s", source->path,
                            (unsigned long long)offset, got ? strerror(errno) : "it was cut short");
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return 0;
}

void csp_input_close(struct csp_input *source)
{
    if (source->path && source->fd >= 0)
        close(source->fd);
    free(source->path);
    *source = (struct csp_input){.fd = -1};
}

int csp_file_map(struct csp_file *file, const char *path, struct csp_diag *diag)
{
    *file = (struct csp_file){0};
    file->path = input_name(path);
    int fd = open_input(file->path, path, diag);
    int error = fd < 0 ? fd : map_descriptor(file, fd, diag);
    if (fd >= 0)
        close(fd);
    if (error)
        csp_file_unmap(file);
    return error;
}

void csp_file_unmap(struct csp_file *file)
{
    if (file->mapping)
        munmap(file->mapping, file->size);
    free(file->copy);
    free(file->path);
    *file = (struct csp_file){0};
}

/* A device or a pipe is written to: renaming would put a file in its place. */
static int open_in_place(struct csp_output *output, struct csp_diag *diag)
{
    output->stream = fopen(output->path, "w");
    if (output->stream)
        return 0;
    int error =
        csp_fail(diag, CSP_ERR_IO, "%s: cannot write there: %s", output->path, strerror(errno));
    csp_output_abort(output);
    return error;
}

int csp_output_check(const char *path, struct csp_diag *diag)
{
    struct stat status;
    bool is_there = stat(path, &status) == 0;
    if (is_there && S_ISDIR(status.st_mode))
        return csp_fail(diag, CSP_ERR_IO, "%s: is a directory, the name of a file was expected",
                        path);
    if (!strcmp(path, "-") || (is_there && !S_ISREG(status.st_mode)))
        return 0;
    const char *name = csp_file_name(path);
    char *folder = name == path ? csp_strdup(".") : csp_asprintf("%.*s", (int)(name - path), path);
    int error = access(folder, W_OK | X_OK) == 0
                    ? 0
                    : csp_fail(diag, CSP_ERR_IO, "%s: cannot create a file there: %s", path,
                               strerror(errno));
    free(folder);
    return error;
}

int csp_output_open(struct csp_output *output, const char *path, struct csp_diag *diag)
{
    *output = (struct csp_output){0};
    if (strcmp(path, "-") == 0) {
        output->path = csp_strdup("standard output");
        output->stream = stdout;
        return 0;
    }
    output->path = csp_strdup(path);
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return open_in_place(output, diag);
    output->temporary = csp_asprintf("%s.XXXXXX", path);
    int fd = csp_unfinished_make(output->temporary);
    if (fd < 0) {
        int error =
            csp_fail(diag, CSP_ERR_IO, "%s: cannot create a file there: %s", path, strerror(errno));
        free(output->temporary);
        output->temporary = NULL;
        csp_output_abort(output);
        return error;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
    output->stream = fdopen(fd, "w+");
    if (output->stream)
        return 0;
    close(fd);
    csp_output_abort(output);
    return csp_fail(diag, CSP_ERR_IO, "%s: %s", path, strerror(ENOMEM));
}

/* Of a write that failed earlier the stream keeps no more than that it did: one more tells why. */
static int why_writing_failed(FILE *stream)
{
    clearerr(stream);
    errno = 0;
    return fputc(0, stream) == EOF || fflush(stream) != 0 ? errno : EIO;
}

int csp_output_commit(struct csp_output *output, struct csp_diag *diag)
{
    errno = 0;
    int failed = fflush(output->stream) != 0;
    int reason = errno;
    if (!failed && ferror(output->stream)) {
        failed = 1;
        reason = why_writing_failed(output->stream);
    }
    if (output->temporary) {
        failed |= fclose(output->stream) != 0;
        output->stream = NULL;
        if (!failed && rename(output->temporary, output->path) < 0) {
            failed = 1;
            reason = errno;
        }
    }
    int error = 0;
    if (failed)
        error = csp_fail(diag, CSP_ERR_IO, "%s: cannot write: %s", output->path,
                         strerror(reason ? reason : EIO));
    else if (output->temporary) {
        csp_unfinished_forget(output->temporary);
        free(output->temporary);
        output->temporary = NULL;
    }
    csp_output_abort(output);
    return error;
}

int csp_output_write(const char *path, const void *data, size_t size, struct csp_diag *diag)
{
    struct csp_output output;
    int error = csp_output_open(&output, path, diag);
    if (error)
        return error;
    fwrite(data, 1, size, output.stream);
    return csp_output_commit(&output, diag);
}

void csp_output_abort(struct csp_output *output)
{
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    if (output->temporary) {
        unlink(output->temporary);
        csp_unfinished_forget(output->temporary);
    }
    free(output->temporary);
    free(output->path);
    *output = (struct csp_output){0};
}

const char *csp_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *csp_own_folder(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    while (length > 0 && length < (ssize_t)sizeof path && path[length - 1] != '/')
        length--;
    return length > 0 && length < (ssize_t)sizeof path ? csp_asprintf("%.*s", (int)length, path)
                                                       : NULL;
}
