#include "perfdata/writer.h"

#include "base/bytes.h"
#include "perfdata/reader_private.h"
#include "perfdata/writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What is written at once and begins where large pages do, page caches keep in such pages: whoever
 * maps the file later has a fraction of the page faults. */
enum { PIECE = 2 << 20 };

static void write_all(struct csp_writer *writer, const void *data, size_t size)
{
    const char *at = data;
    while (size && !writer->error) {
        ssize_t done = write(writer->fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            writer->error = done < 0 ? errno : ENOSPC;
            break;
        }
        at += done;
        size -= (size_t)done;
        writer->written += (uint64_t)done;
    }
}

static void write_from_buffer(struct csp_writer *writer, size_t size)
{
    struct csp_buf *buffer = &writer->buffer;
    if (!size)
        return;
    write_all(writer, buffer->data, size);
    buffer->len -= size;
    memmove(buffer->data, buffer->data + size, buffer->len);
}

/* How many of the bytes so far lie behind the last end of a piece. */
static size_t behind_pieces(const struct csp_writer *writer)
{
    return (writer->written + writer->buffer.len) % PIECE;
}

void csp_writer_settle(struct csp_writer *writer)
{
    size_t behind = behind_pieces(writer);
    if (writer->error) /* it will not be written any more */
        writer->buffer.len = 0;
    else if (behind < writer->buffer.len)
        write_from_buffer(writer, writer->buffer.len - behind);
}

void csp_writer_flush(struct csp_writer *writer)
{
    csp_writer_pack(writer);
    write_from_buffer(writer, writer->buffer.len);
    if (!writer->error)
        writer->whole = writer->written;
}

void csp_writer_put(struct csp_writer *writer, const void *data, size_t size)
{
    for (const char *at = data; size;) {
        size_t room = PIECE - behind_pieces(writer), now = size < room ? size : room;
        if (now == PIECE && !writer->buffer.len)
            write_all(writer, at, now);
        else
            csp_buf_add(&writer->buffer, at, now);
        csp_writer_settle(writer);
        at += now;
        size -= now;
    }
}

void csp_writer_put_at(struct csp_writer *writer, uint64_t offset, const struct csp_buf *bytes)
{
    if (writer->error)
        return;
    errno = 0;
    if (pwrite(writer->fd, bytes->data, bytes->len, (off_t)offset) != (ssize_t)bytes->len)
        writer->error = errno ? errno : ENOSPC;
}

bool csp_writer_give(struct csp_writer *writer, uint32_t uid, uint32_t gid)
{
    return fchown(writer->fd, uid, gid) == 0;
}

uint64_t csp_writer_size(const struct csp_writer *writer)
{
    return writer->written + writer->buffer.len + csp_writer_waiting(writer);
}

int csp_writer_error(const struct csp_writer *writer)
{
    return writer->error;
}

static void add_section(struct csp_buf *out, uint64_t offset, uint64_t size)
{
    csp_buf_add_u64(out, offset);
    csp_buf_add_u64(out, size);
}

static bool feature_used(const struct csp_writer *writer, unsigned feature)
{
    return feature < 32 && writer->features[feature].len;
}

/* struct perf_file_header, tools/perf/util/header.h. A data size of 0 says "not complete". */
static void add_header(const struct csp_writer *writer, struct csp_buf *out, uint64_t data_size,
                       bool complete)
{
    csp_buf_add_u64(out, CSP_PERFDATA_MAGIC);
    csp_buf_add_u64(out, CSP_PERFDATA_HEADER_SIZE);
    csp_buf_add_u64(out, writer->attrs_size / writer->attrs.len);
    add_section(out, writer->attrs_offset, writer->attrs_size);
    add_section(out, writer->data_offset, data_size);
    add_section(out, 0, 0);
    uint64_t bits = 0;
    for (unsigned i = 0; complete && i < 32; i++)
        bits |= (uint64_t)feature_used(writer, i) << i;
    csp_buf_add_u64(out, bits);
    for (unsigned i = 0; i < 3; i++)
        csp_buf_add_u64(out, 0);
}

static void copy_attr(struct csp_writer *writer, const struct csp_attr *given)
{
    struct csp_attr attr = *given;
    size_t size = attr.id_count * sizeof *attr.ids;
    uint64_t *ids = csp_malloc(size + 1);
    if (size)
        memcpy(ids, given->ids, size);
    attr.ids = ids;
    attr.name = given->name ? csp_strdup(given->name) : NULL;
    attr.flags |= UINT64_C(1) << CSP_ATTR_SAMPLE_ID_ALL;
    csp_vec_push(&writer->attrs, attr);
}

/* All entries of the table must have one size: that of the largest. */
static void add_attrs(struct csp_writer *writer, struct csp_buf *out)
{
    struct csp_buf attrs = {0};
    uint64_t offset = CSP_PERFDATA_HEADER_SIZE;
    uint32_t size = CSP_ATTR_SIZE_SAFE;
    for (size_t i = 0; i < writer->attrs.len; i++)
        if (writer->attrs.data[i].config3)
            size = CSP_ATTR_SIZE_CONFIG3;
    for (size_t i = 0; i < writer->attrs.len; i++) {
        const struct csp_attr *attr = &writer->attrs.data[i];
        for (size_t j = 0; j < attr->id_count; j++)
            csp_buf_add_u64(out, attr->ids[j]);
        csp_attr_encode(attr, size, &attrs);
        add_section(&attrs, offset, 8 * attr->id_count);
        offset += 8 * attr->id_count;
    }
    writer->attrs_offset = offset;
    writer->attrs_size = attrs.len;
    writer->data_offset = offset + attrs.len;
    csp_buf_add(out, attrs.data, attrs.len);
    csp_buf_free(&attrs);
}

int csp_writer_open(struct csp_writer **out, const char *path, const struct csp_attr *attrs,
                    size_t attr_count, struct csp_diag *diag)
{
    *out = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return csp_fail(diag, CSP_ERR_IO, "%s: cannot create: %s", path, strerror(errno));
    struct csp_writer *writer = csp_calloc(1, sizeof *writer);
    writer->fd = fd;
    writer->path = csp_strdup(path);
    for (size_t i = 0; i < attr_count; i++)
        copy_attr(writer, &attrs[i]);
    struct csp_buf tables = {0};
    add_attrs(writer, &tables);
    add_header(writer, &writer->buffer, 0, false);
    csp_writer_put(writer, tables.data, tables.len);
    csp_buf_free(&tables);
    csp_writer_flush(writer);
    *out = writer;
    return 0;
}

/* The table of sections, then their contents, then the header: whoever finds data_size 0 sees an
 * incomplete file, and nobody sees a table that is not there. */
static void complete_file(struct csp_writer *writer)
{
    struct csp_buf header = {0};
    csp_writer_pack(writer);
    uint64_t data_size = csp_writer_size(writer) - writer->data_offset;
    csp_writer_finish_features(writer);
    uint64_t offset = csp_writer_size(writer);
    for (unsigned i = 0; i < 32; i++)
        offset += feature_used(writer, i) ? 16 : 0;
    for (unsigned i = 0; i < 32; i++) {
        if (!feature_used(writer, i))
            continue;
        add_section(&writer->buffer, offset, writer->features[i].len);
        offset += writer->features[i].len;
    }
    for (unsigned i = 0; i < 32; i++)
        csp_writer_put(writer, writer->features[i].data, writer->features[i].len);
    csp_writer_flush(writer);
    add_header(writer, &header, data_size, true);
    csp_writer_put_at(writer, 0, &header);
    csp_buf_free(&header);
}

/* Where the last whole record ends of those that reached the file. */
static uint64_t find_end(const struct csp_writer *writer)
{
    uint64_t end = writer->whole;
    uint8_t start[16] = {0}; /* type, misc, size; of AUXTRACE then the size of what follows it */
    while (pread(writer->fd, start, sizeof start, (off_t)end) >= 8) {
        uint64_t size = csp_load16(start + 6);
        if (csp_load32(start) == CSP_RECORD_AUXTRACE)
            size += csp_load64(start + 8);
        if (size < 8 || size > writer->written - end)
            break;
        end += size;
    }
    return end;
}

/* After a failed write: the file ends with its last whole record, and says so, so that every reader
 * takes it. */
static void cut_file(struct csp_writer *writer)
{
    struct csp_buf header = {0};
    uint64_t end = find_end(writer);
    if (end >= writer->data_offset && ftruncate(writer->fd, (off_t)end) == 0) {
        add_header(writer, &header, end - writer->data_offset, false);
        ssize_t done = pwrite(writer->fd, header.data, header.len, 0);
        (void)done; /* the first error is the one to report */
    }
    csp_buf_free(&header);
}

static void free_writer(struct csp_writer *writer)
{
    for (size_t i = 0; i < writer->attrs.len; i++) {
        free((void *)writer->attrs.data[i].ids);
        free((void *)writer->attrs.data[i].name);
    }
    for (unsigned i = 0; i < 32; i++)
        csp_buf_free(&writer->features[i]);
    csp_writer_free_packing(writer);
    csp_vec_free(&writer->attrs);
    csp_vec_free(&writer->index);
    csp_buf_free(&writer->buffer);
    free(writer->path);
    free(writer);
}

int csp_writer_close(struct csp_writer *writer, struct csp_diag *diag)
{
    if (!writer)
        return 0;
    int error = 0;
    complete_file(writer);
    if (writer->error)
        cut_file(writer);
    if (close(writer->fd) < 0 && !writer->error)
        writer->error = errno;
    if (writer->error)
        error = csp_fail(diag, CSP_ERR_IO,
                         "%s: cannot write: %s; the recording ends at its last complete record",
                         writer->path, strerror(writer->error));
    else if (writer->oversized)
        error = csp_fail(diag, CSP_ERR_UNSUPPORTED,
                         "%s: %s does not fit in a record of perf.data (65528 bytes); the "
                         "recording is without it",
                         writer->path, writer->oversized);
    free_writer(writer);
    return error;
}
