#include "base/archive.h"

#include "base/alloc.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { BLOCK = 512, LEVEL = 9 };

struct header {
    char name[100], mode[8], owner[8], group[8], size[12], time[12], sum[8], type, link[100];
    char magic[8], owner_name[32], group_name[32], device[16], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "ustar");

/* ---- writing ---- */

struct csp_archive_writer {
    FILE *stream;
    ZSTD_CCtx *context;
};

static void put(struct csp_archive_writer *writer, const void *data, size_t size,
                ZSTD_EndDirective how)
{
    char out[64 * 1024];
    ZSTD_inBuffer input = {data, size, 0};
    for (size_t left = 1; left && !ZSTD_isError(left);) {
        ZSTD_outBuffer output = {out, sizeof out, 0};
        left = ZSTD_compressStream2(writer->context, &output, &input, how);
        fwrite(out, 1, output.pos, writer->stream);
        if (how == ZSTD_e_continue)
            left = input.pos < input.size;
    }
}

struct csp_archive_writer *csp_archive_begin(FILE *stream)
{
    struct csp_archive_writer *writer = csp_calloc(1, sizeof *writer);
    writer->stream = stream;
    writer->context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(writer->context, ZSTD_c_checksumFlag, 1);
    return writer;
}

static unsigned sum_of(const struct header *header)
{
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((const unsigned char *)header)[i];
    for (size_t i = 0; i < sizeof header->sum; i++)
        sum += ' ' - (unsigned char)header->sum[i];
    return sum;
}

void csp_archive_add(struct csp_archive_writer *writer, const char *name, const void *data,
                     size_t size)
{
    static const char zeroes[BLOCK];
    struct header header = {.mode = "0000644", .owner = "0000000", .group = "0000000", .type = '0'};
    size_t length = strlen(name);
    memcpy(header.name, name, length < sizeof header.name ? length : sizeof header.name);
    snprintf(header.size, sizeof header.size, "%011llo", (unsigned long long)size);
    memcpy(header.time, "00000000000", 11);
    memcpy(header.magic, "ustar\00000", 8);
    snprintf(header.sum, sizeof header.sum, "%06o", sum_of(&header));
    header.sum[7] = ' ';
    put(writer, &header, sizeof header, ZSTD_e_continue);
    put(writer, data, size, ZSTD_e_continue);
    put(writer, zeroes, (BLOCK - size % BLOCK) % BLOCK, ZSTD_e_continue);
}

void csp_archive_end(struct csp_archive_writer *writer)
{
    static const char zeroes[2 * BLOCK];
    put(writer, zeroes, sizeof zeroes, ZSTD_e_end);
    ZSTD_freeCCtx(writer->context);
    free(writer);
}

/* ---- reading ---- */

struct reader {
    const char *path;
    struct csp_file file;
    ZSTD_DCtx *context;
    ZSTD_inBuffer input;
    struct csp_diag *diag;
};

bool csp_archive_is(const char *path)
{
    static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char bytes[4];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && pread(fd, bytes, 4, 0) == 4 && !memcmp(bytes, zstd, 4);
    if (fd >= 0)
        close(fd);
    return is;
}

static int damaged(const struct reader *reader, const char *what)
{
    return csp_fail(reader->diag, CSP_ERR_INPUT, "%s: offset %zu: %s", reader->path,
                    reader->input.pos, what);
}

static int take(struct reader *reader, void *data, size_t size)
{
    ZSTD_outBuffer output = {data, size, 0};
    while (output.pos < size) {
        size_t before = reader->input.pos + output.pos;
        size_t left = ZSTD_decompressStream(reader->context, &output, &reader->input);
        if (ZSTD_isError(left))
            return damaged(reader, ZSTD_getErrorName(left));
        if (before == reader->input.pos + output.pos)
            return damaged(reader, "expected more: it was cut short");
    }
    return 0;
}

static bool leads_out(const char *name)
{
    return !*name || *name == '/' || strstr(name, "..");
}

/* Copies a file's contents, piece by piece. */
static int unpack_file(struct reader *reader, const char *folder, const char *name, uint64_t size)
{
    char piece[64 * BLOCK];
    struct csp_output output = {0};
    char *path = csp_asprintf("%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    int error = csp_output_open(&output, path, reader->diag);
    for (uint64_t left = size; left && !error;) {
        size_t some = left < sizeof piece ? (size_t)left : sizeof piece;
        error = take(reader, piece, (some + BLOCK - 1) / BLOCK * BLOCK);
        if (!error)
            fwrite(piece, 1, some, output.stream);
        left -= some;
    }
    if (!error)
        error = csp_output_commit(&output, reader->diag);
    csp_output_abort(&output);
    free(path);
    return error;
}

static int unpack(struct reader *reader, const char *folder, csp_archive_name_fn *each, void *user)
{
    for (;;) {
        struct header header;
        char name[CSP_ARCHIVE_NAME + 1] = "", size[13] = "";
        int error = take(reader, &header, sizeof header);
        if (error)
            return error;
        if (!header.name[0])
            return 0;
        memcpy(name, header.name, CSP_ARCHIVE_NAME);
        memcpy(size, header.size, sizeof header.size);
        if (memcmp(header.magic, "ustar", 5) != 0 || header.type != '0' ||
            strtoul(header.sum, NULL, 8) != sum_of(&header) || leads_out(name))
            return damaged(reader, "expected the header of a plain file");
        error = unpack_file(reader, folder, name, strtoull(size, NULL, 8));
        if (error)
            return error;
        each(user, name);
    }
}

int csp_archive_unpack(const char *path, const char *folder, csp_archive_name_fn *each, void *user,
                       struct csp_diag *diag)
{
    struct reader reader = {.path = path, .diag = diag};
    int error = csp_file_map(&reader.file, path, diag);
    if (error)
        return error;
    reader.context = ZSTD_createDCtx();
    reader.input = (ZSTD_inBuffer){reader.file.data, reader.file.size, 0};
    error = unpack(&reader, folder, each, user);
    ZSTD_freeDCtx(reader.context);
    csp_file_unmap(&reader.file);
    return error;
}
