#include "profgen/aggregate.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/file.h"
#include "profgen/aggregate_format.h"

#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* The file's header in numbers. */
struct header {
    uint32_t compression;
    uint64_t size, checksum, stored;
};

struct reader {
    struct csp_cursor cursor;
    const uint8_t *start;
    const char *path;
    struct csp_aggregate *aggregate;
    struct csp_diag *diag;
};

static int read_header(const struct csp_file *file, struct header *header, struct csp_diag *diag)
{
    static const char what[] = "%s is no aggregate, as `csprof gen --format aggregate` writes "
                               "them: expected " CSP_AGGREGATE_MAGIC " at offset 0";
    if (file->size < CSP_AGGREGATE_HEADER || memcmp(file->data, CSP_AGGREGATE_MAGIC, 8) != 0)
        return csp_fail(diag, CSP_ERR_INPUT, what, file->path);
    struct csp_cursor cursor = csp_cursor(file->data + 8, CSP_AGGREGATE_HEADER - 8);
    uint32_t version = csp_cursor_u32(&cursor);
    header->compression = csp_cursor_u32(&cursor);
    header->size = csp_cursor_u64(&cursor);
    header->checksum = csp_cursor_u64(&cursor);
    header->stored = csp_cursor_u64(&cursor);
    if (version != CSP_AGGREGATE_VERSION)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 8: version %u, and this csprof knows version %d", file->path,
                        version, CSP_AGGREGATE_VERSION);
    if (csp_cursor_u64(&cursor) != XXH3_64bits(file->data, CSP_AGGREGATE_HEADER - 8))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: offset 40: the checksum of the header is wrong",
                        file->path);
    if (header->stored != file->size - CSP_AGGREGATE_HEADER)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 32: %llu bytes were stored from offset 48 on, and there are "
                        "%zu: it was cut short, or something was appended",
                        file->path, (unsigned long long)header->stored,
                        file->size - CSP_AGGREGATE_HEADER);
    bool possible = header->compression == CSP_AGGREGATE_PLAIN
                        ? header->size == header->stored
                        : header->compression == CSP_AGGREGATE_ZSTD &&
                              header->size / CSP_AGGREGATE_LARGEST_RATIO <= header->stored;
    if (!possible)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: offset 12: impossible compression", file->path);
    return 0;
}

/* The contents, which the caller frees. */
static int unpack(const struct csp_file *file, const struct header *header, uint8_t **contents,
                  struct csp_diag *diag)
{
    const uint8_t *stored = file->data + CSP_AGGREGATE_HEADER;
    *contents = csp_malloc(header->size + 1);
    size_t size = header->stored;
    if (header->compression == CSP_AGGREGATE_PLAIN)
        memcpy(*contents, stored, size);
    else
        size = ZSTD_decompress(*contents, header->size, stored, header->stored);
    if (ZSTD_isError(size) || size != header->size)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: offset 48: cannot be decompressed%s%s",
                        file->path, ZSTD_isError(size) ? ": " : "",
                        ZSTD_isError(size) ? ZSTD_getErrorName(size) : "");
    if (XXH3_64bits(*contents, size) != header->checksum)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 24: the checksum of the contents is wrong: it is damaged",
                        file->path);
    return 0;
}

static int malformed(const struct reader *reader, const char *expected)
{
    return csp_fail(reader->diag, CSP_ERR_INPUT, "%s: offset %zu of its contents: expected %s",
                    reader->path, (size_t)(reader->cursor.at - reader->start), expected);
}

/* A number of things of at least `least` bytes each; sets `overrun` when there is no room for them.
 */
static size_t read_count(struct reader *reader, size_t least)
{
    uint64_t count = csp_cursor_uleb(&reader->cursor);
    if (count > csp_cursor_left(&reader->cursor) / least)
        reader->cursor.overrun = true;
    return reader->cursor.overrun ? 0 : (size_t)count;
}

static int read_identity(struct reader *reader)
{
    struct csp_aggregate *aggregate = reader->aggregate;
    struct csp_cursor *cursor = &reader->cursor;
    size_t size = read_count(reader, 1);
    if (size > sizeof aggregate->build_id.bytes)
        return malformed(reader, "a build-id of at most 20 bytes");
    const uint8_t *bytes = csp_cursor_take(cursor, size);
    if (bytes)
        memcpy(aggregate->build_id.bytes, bytes, size);
    aggregate->build_id.size = (uint8_t)size;
    aggregate->code = csp_cursor_u64(cursor);
    size = read_count(reader, 1);
    bytes = csp_cursor_take(cursor, size);
    aggregate->name = csp_asprintf("%.*s", bytes ? (int)size : 0, bytes ? (const char *)bytes : "");
    size_t inputs = read_count(reader, sizeof(struct csp_digest));
    for (size_t i = 0; i < inputs; i++) {
        struct csp_digest digest;
        bytes = csp_cursor_take(cursor, sizeof digest.bytes);
        if (!bytes)
            break;
        memcpy(digest.bytes, bytes, sizeof digest.bytes);
        csp_vec_push(&aggregate->inputs, digest);
    }
    aggregate->callchains = csp_cursor_uleb(cursor);
    return cursor->overrun ? malformed(reader, "a binary and its inputs") : 0;
}

static int read_stats(struct reader *reader)
{
    struct csp_sample_set_stats *stats = &reader->aggregate->set.stats;
    struct csp_cursor *cursor = &reader->cursor;
    stats->samples = csp_cursor_uleb(cursor);
    stats->used = csp_cursor_uleb(cursor);
    if (csp_cursor_uleb(cursor) != CSP_REJECT_COUNT)
        return malformed(reader, "as many reasons to reject samples as are known");
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        stats->rejected[i] = csp_cursor_uleb(cursor);
    stats->truncated_callchains = csp_cursor_uleb(cursor);
    stats->branches = csp_cursor_uleb(cursor);
    stats->impossible_branches = csp_cursor_uleb(cursor);
    stats->external_branches = csp_cursor_uleb(cursor);
    return cursor->overrun ? malformed(reader, "statistics") : 0;
}

static int read_branches(struct reader *reader)
{
    struct csp_sample_set *set = &reader->aggregate->set;
    uint64_t from = 0;
    size_t count = read_count(reader, 2);
    for (size_t i = 0; i < count && !reader->cursor.overrun; i++) {
        from += csp_cursor_uleb(&reader->cursor);
        uint64_t to = from + (uint64_t)csp_cursor_sleb(&reader->cursor);
        if (csp_pairs_at(&set->branches, from, to) != i)
            return malformed(reader, "distinct branches");
        csp_vec_push(&set->branch_infos, (struct csp_set_branch){0});
    }
    return reader->cursor.overrun ? malformed(reader, "branches") : 0;
}

static int read_callers(struct reader *reader)
{
    struct csp_sample_set *set = &reader->aggregate->set;
    size_t count = read_count(reader, 1);
    for (size_t i = 0; i < count && !reader->cursor.overrun; i++) {
        size_t calls = read_count(reader, 1);
        uint64_t call = 0;
        set->frames.len = 0;
        for (size_t c = 0; c < calls; c++) {
            call += (uint64_t)csp_cursor_sleb(&reader->cursor);
            csp_vec_push(&set->frames, call);
        }
        if (csp_intern(&set->callers, set->frames.data, calls * sizeof *set->frames.data) != i)
            return malformed(reader, "distinct callers");
    }
    return reader->cursor.overrun ? malformed(reader, "callers") : 0;
}

static int read_sample(struct reader *reader, uint64_t *callers)
{
    struct csp_sample_set *set = &reader->aggregate->set;
    struct csp_cursor *cursor = &reader->cursor;
    struct csp_flat_sample fields = {0};
    *callers += csp_cursor_uleb(cursor);
    fields.leaf = (uint32_t)csp_cursor_uleb(cursor);
    fields.start = csp_cursor_uleb(cursor);
    fields.end = csp_cursor_uleb(cursor);
    size_t count = read_count(reader, 1);
    set->numbers.len = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t branch = csp_cursor_uleb(cursor);
        if (branch >= set->branches.list.len)
            return malformed(reader, "the number of a branch");
        csp_vec_push(&set->numbers, (uint32_t)branch);
    }
    uint64_t times = csp_cursor_uleb(cursor);
    if (cursor->overrun || !times)
        return malformed(reader, "a sample");
    if (*callers >= set->callers.entries.len)
        return malformed(reader, "the number of callers");
    if (!count && !(fields.start && fields.end))
        return malformed(reader, "a sample with branches, or with a start and an end");
    struct csp_flat_sample *sample =
        csp_sample_set_scratch(set, set->numbers.data, (uint32_t)set->numbers.len);
    sample->callers = (uint32_t)*callers;
    sample->leaf = fields.leaf;
    sample->start = fields.start;
    sample->end = fields.end;
    csp_sample_set_count(set, sample, times);
    return 0;
}

static int read_samples(struct reader *reader)
{
    size_t count = read_count(reader, 6);
    uint64_t callers = 0;
    int error = reader->cursor.overrun ? malformed(reader, "samples") : 0;
    for (size_t i = 0; i < count && !error; i++)
        error = read_sample(reader, &callers);
    if (!error && csp_cursor_left(&reader->cursor))
        error = malformed(reader, "the end");
    return error;
}

int csp_aggregate_parse(struct csp_aggregate *aggregate, const void *data, size_t size,
                        const char *path, struct csp_diag *diag)
{
    const struct csp_file file = {.data = data, .size = size, .path = (char *)(uintptr_t)path};
    struct header header = {0};
    uint8_t *contents = NULL;
    *aggregate = (struct csp_aggregate){.set = {.contexts = true, .keep_all = true}};
    int error = read_header(&file, &header, diag);
    if (!error)
        error = unpack(&file, &header, &contents, diag);
    if (!error) {
        struct reader reader = {.cursor = csp_cursor(contents, header.size),
                                .start = contents,
                                .path = path,
                                .aggregate = aggregate,
                                .diag = diag};
        error = read_identity(&reader);
        if (!error)
            error = read_stats(&reader);
        if (!error)
            error = read_branches(&reader);
        if (!error)
            error = read_callers(&reader);
        if (!error)
            error = read_samples(&reader);
    }
    free(contents);
    return error;
}

int csp_aggregate_read(struct csp_aggregate *aggregate, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    *aggregate = (struct csp_aggregate){0};
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    error = csp_aggregate_parse(aggregate, file.data, file.size, file.path, diag);
    csp_file_unmap(&file);
    return error;
}
