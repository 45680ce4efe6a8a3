#include "profgen/aggregate_format.h"
#include "profgen/aggregate_reader.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int csp_aggregate_malformed(const struct csp_aggregate_reader *reader, const char *expected)
{
    const struct csp_block_reader *blocks = &reader->blocks;
    return csp_fail(reader->diag, CSP_ERR_INPUT,
                    "%s: offset %llu: in the block there, %zu bytes before its end: expected %s",
                    blocks->path, (unsigned long long)blocks->start,
                    csp_cursor_left(&blocks->cursor), expected);
}

int csp_aggregate_next_item(struct csp_aggregate_reader *reader, const char *expected)
{
    int error = csp_block_next(&reader->blocks, reader->diag);
    return !error && reader->blocks.ended ? csp_aggregate_malformed(reader, expected) : error;
}

int csp_aggregate_read_count(struct csp_aggregate_reader *reader, size_t *count,
                             const char *expected)
{
    int error = csp_aggregate_next_item(reader, expected);
    *count = (size_t)csp_cursor_uleb(&reader->blocks.cursor);
    if (!error && (reader->blocks.cursor.overrun || *count > UINT32_MAX - 1))
        error = csp_aggregate_malformed(reader, expected);
    return error;
}

static void read_stats(struct csp_cursor *cursor, struct csp_sample_set_stats *stats)
{
    stats->samples = csp_cursor_uleb(cursor);
    stats->used = csp_cursor_uleb(cursor);
    cursor->overrun |= csp_cursor_uleb(cursor) != CSP_REJECT_COUNT;
    for (int i = 0; i < CSP_REJECT_COUNT; i++)
        stats->rejected[i] = csp_cursor_uleb(cursor);
    stats->truncated_callchains = csp_cursor_uleb(cursor);
    stats->branches = csp_cursor_uleb(cursor);
    stats->impossible_branches = csp_cursor_uleb(cursor);
    stats->external_branches = csp_cursor_uleb(cursor);
}

static int read_identity(struct csp_aggregate_reader *reader, struct csp_aggregate *head)
{
    static const char expected[] = "a binary and statistics";
    struct csp_cursor *cursor = &reader->blocks.cursor;
    int error = csp_aggregate_next_item(reader, expected);
    if (error)
        return error;
    size_t size = (size_t)csp_cursor_uleb(cursor);
    const uint8_t *bytes = NULL;
    if (size <= sizeof head->build_id.bytes)
        bytes = csp_cursor_take(cursor, size);
    if (!bytes)
        return csp_aggregate_malformed(reader, "a build-id of at most 20 bytes");
    memcpy(head->build_id.bytes, bytes, size);
    head->build_id.size = (uint8_t)size;
    head->code = csp_cursor_u64(cursor);
    size = (size_t)csp_cursor_uleb(cursor);
    bytes = csp_cursor_take(cursor, size);
    head->name = bytes ? csp_strndup((const char *)bytes, size) : csp_strdup("");
    head->callchains = csp_cursor_uleb(cursor);
    read_stats(cursor, &head->set.stats);
    return cursor->overrun ? csp_aggregate_malformed(reader, expected) : 0;
}

static int read_inputs(struct csp_aggregate_reader *reader, csp_digests *inputs)
{
    static const char expected[] = "digests of inputs, ascending";
    size_t count;
    int error = csp_aggregate_read_count(reader, &count, "inputs");
    for (size_t i = 0; i < count && !error; i++) {
        struct csp_digest digest = {{0}};
        error = csp_aggregate_next_item(reader, expected);
        const uint8_t *bytes =
            error ? NULL : csp_cursor_take(&reader->blocks.cursor, sizeof digest.bytes);
        if (bytes)
            memcpy(digest.bytes, bytes, sizeof digest.bytes);
        if (!error && (!bytes || (i && memcmp(inputs->data[i - 1].bytes, bytes, 16) >= 0)))
            error = csp_aggregate_malformed(reader, expected);
        if (!error)
            csp_vec_push(inputs, digest);
    }
    return error;
}

static int read_callers(struct csp_aggregate_reader *reader)
{
    static const char expected[] = "callers";
    struct csp_sample_set *set = reader->set;
    struct csp_cursor *cursor = &reader->blocks.cursor;
    size_t count;
    int error = csp_aggregate_read_count(reader, &count, expected);
    for (size_t i = 0; i < count && !error; i++) {
        error = csp_aggregate_next_item(reader, expected);
        size_t calls = (size_t)csp_cursor_uleb(cursor);
        uint64_t call = 0;
        set->frames.len = 0;
        for (size_t c = 0; c < calls && !cursor->overrun; c++) {
            call += (uint64_t)csp_cursor_sleb(cursor);
            csp_vec_push(&set->frames, call);
        }
        if (!error && cursor->overrun)
            error = csp_aggregate_malformed(reader, expected);
        if (!error)
            csp_vec_push(&reader->callers,
                         csp_intern(&set->callers, set->frames.data, calls * sizeof call));
    }
    return error;
}

static int read_header(const uint8_t *data, size_t size, const char *path, struct csp_diag *diag)
{
    if (size < CSP_AGGREGATE_HEADER || memcmp(data, CSP_AGGREGATE_MAGIC, 8) != 0)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s is no aggregate, as `csprof gen --format aggregate` writes them: "
                        "expected " CSP_AGGREGATE_MAGIC " at offset 0",
                        path);
    if (csp_load32(data + 8) != CSP_AGGREGATE_VERSION)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 8: version %u, and this csprof knows version %d", path,
                        csp_load32(data + 8), CSP_AGGREGATE_VERSION);
    if (csp_load32(data + 12))
        return csp_fail(diag, CSP_ERR_INPUT, "%s: offset 12: expected 0", path);
    return 0;
}

int csp_aggregate_read_head(struct csp_aggregate *head, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    *head = (struct csp_aggregate){0};
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    struct csp_aggregate_reader reader = {
        .blocks = {.data = file.data,
                   .size = file.size,
                   .path = file.path,
                   .offset = CSP_AGGREGATE_HEADER},
        .diag = diag,
    };
    error = read_header(file.data, file.size, path, diag);
    if (!error)
        error = read_identity(&reader, head);
    if (!error)
        error = read_inputs(&reader, &head->inputs);
    csp_aggregate_reader_free(&reader);
    csp_file_unmap(&file);
    return error;
}

static void begin(struct csp_aggregate_reader *reader, struct csp_aggregate *aggregate,
                  const struct csp_aggregate_how *how, struct csp_diag *diag)
{
    reader->set = &aggregate->set;
    reader->weight = how && how->weight ? how->weight : 1;
    reader->branches.len = reader->callers.len = 0;
    reader->diag = diag;
}

size_t csp_aggregate_beside(const struct csp_aggregate *aggregate)
{
    return aggregate->reader ? csp_guesses_memory(&aggregate->reader->guesses) : 0;
}

void csp_aggregate_reader_free(struct csp_aggregate_reader *reader)
{
    csp_block_reader_free(&reader->blocks);
    csp_vec_free(&reader->branches);
    csp_vec_free(&reader->numbers);
    csp_vec_free(&reader->followers);
    csp_vec_free(&reader->callers);
    csp_guesses_free(&reader->guesses);
    for (unsigned i = 0; i < CSP_READER_QUEUE; i++)
        csp_buf_free(&reader->decoded[i].sample);
}

int csp_aggregate_parse(struct csp_aggregate *aggregate, const void *data, size_t size,
                        const char *path, const struct csp_aggregate_how *how,
                        struct csp_diag *diag)
{
    struct csp_aggregate head = {0};
    if (!aggregate->reader)
        aggregate->reader = csp_calloc(1, sizeof *aggregate->reader);
    struct csp_aggregate_reader *reader = aggregate->reader;
    begin(reader, aggregate, how, diag);
    csp_block_reader_begin(&reader->blocks, data, size, path, CSP_AGGREGATE_HEADER);
    int error = read_header(data, size, path, diag);
    if (!error)
        error = read_identity(reader, &head);
    if (!error)
        error = read_inputs(reader, &head.inputs);
    if (!error)
        error = csp_aggregate_begin_merge(aggregate, &head, path, how && how->duplicates, diag);
    if (!error)
        error = csp_aggregate_read_branches(reader);
    if (!error)
        error = read_callers(reader);
    if (!error)
        error = csp_aggregate_read_samples(reader);
    if (!error)
        csp_sample_set_merge_stats(&aggregate->set, &head.set.stats, reader->weight);
    csp_aggregate_free(&head);
    return error;
}

int csp_aggregate_read(struct csp_aggregate *aggregate, const char *path,
                       const struct csp_aggregate_how *how, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    error = csp_aggregate_parse(aggregate, file.data, file.size, file.path, how, diag);
    csp_file_unmap(&file);
    return error;
}

bool csp_aggregate_is(const char *path)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
              !memcmp(magic, CSP_AGGREGATE_MAGIC, sizeof magic);
    if (fd >= 0)
        close(fd);
    return is;
}
