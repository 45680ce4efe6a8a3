#include "perfdata/reader.h"

#include "perfdata/reader_private.h"

#include <inttypes.h>
#include <string.h>

struct section {
    uint64_t offset, size;
};

static struct section take_section(struct csp_cursor *at)
{
    struct section section = {.offset = csp_cursor_u64(at)};
    section.size = csp_cursor_u64(at);
    return section;
}

static bool inside(const struct csp_file *file, struct section section)
{
    return section.offset <= file->size && section.size <= file->size - section.offset;
}

bool csp_reader_add_attr(struct csp_perfdata *reader, const uint8_t *data, uint32_t size,
                         const uint8_t *ids, uint64_t id_size)
{
    if (id_size > reader->file->size - reader->id_bytes)
        return false;
    reader->id_bytes += id_size;
    struct csp_attr attr;
    csp_attr_decode(&attr, data, size);
    uint64_t *copy = csp_arena_alloc(&reader->arena, id_size + 8);
    attr.id_count = id_size / 8;
    attr.ids = copy;
    for (size_t i = 0; i < attr.id_count; i++) {
        copy[i] = csp_load64(ids + 8 * i);
        uint64_t *number = csp_map_at(&reader->attr_of_id, copy[i]);
        if (!*number)
            *number = reader->attrs.len + 1;
    }
    if (!reader->attrs.len)
        reader->event_id = csp_event_id_place_of(attr.sample_type);
    csp_vec_push(&reader->attrs, attr);
    csp_vec_push(&reader->layouts, csp_id_layouts_of(&attr));
    csp_vec_push(&reader->shapes, csp_sample_shape_of(&attr));
    return true;
}

void csp_reader_name_attr(struct csp_perfdata *reader, uint64_t id, const char *name)
{
    int number = csp_perfdata_attr_of_id(reader, id);
    if (number >= 0 && !reader->attrs.data[number].name)
        reader->attrs.data[number].name = name;
}

/* Each entry: the attribute, then the section of its ids. */
static int read_attrs(struct csp_perfdata *reader, struct section attrs, uint64_t entry_size,
                      struct csp_diag *diag)
{
    const struct csp_file *file = reader->file;
    if (entry_size < CSP_ATTR_SIZE_MIN + 16 || entry_size > UINT16_MAX)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 16: attribute entries of %" PRIu64
                        " bytes, expected 80 to 65535; the header is damaged",
                        file->path, entry_size);
    if (!inside(file, attrs))
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 24: the attributes (%" PRIu64 " bytes at %" PRIu64
                        ") lie beyond the end of the file; it was cut short",
                        file->path, attrs.size, attrs.offset);
    for (uint64_t i = 0; i < attrs.size / entry_size; i++) {
        uint64_t offset = attrs.offset + i * entry_size;
        const uint8_t *entry = file->data + offset;
        uint32_t attr_size = (uint32_t)entry_size - 16;
        struct csp_cursor at = csp_cursor(entry + attr_size, 16);
        struct section ids = take_section(&at);
        if (!inside(file, ids) ||
            !csp_reader_add_attr(reader, entry, attr_size, file->data + ids.offset, ids.size))
            return csp_fail(diag, CSP_ERR_INPUT,
                            "%s: offset %" PRIu64 ": the ids of attribute %" PRIu64 " (%" PRIu64
                            " bytes at %" PRIu64 ") cannot all be in the file",
                            file->path, offset, i, ids.size, ids.offset);
    }
    return 0;
}

/* The table of feature sections follows the data: one entry for each bit that is set. */
static void read_features(struct csp_perfdata *reader, const uint8_t *bits, struct csp_diag *diag)
{
    const struct csp_file *file = reader->file;
    struct csp_cursor at = csp_cursor(file->data + reader->data_end, file->size - reader->data_end);
    for (unsigned feature = 0; feature < CSP_FEATURE_BITS; feature++) {
        if (!(bits[feature / 8] >> feature % 8 & 1))
            continue;
        struct section section = take_section(&at);
        if (at.overrun || !inside(file, section)) {
            csp_warn(diag,
                     "%s: the section of header feature %u lies beyond the end of the file; it and "
                     "the later features are unknown",
                     file->path, feature);
            return;
        }
        csp_reader_feature(reader, feature, file->data + section.offset, section.size, diag);
    }
}

/* A data size of 0 means that the recorder died before it could complete the header. Unless the
 * table of features really is where the data would begin: then there simply are no records. */
static bool is_finished(const struct csp_file *file, uint64_t data_offset, const uint8_t *bits)
{
    unsigned features = 0;
    for (unsigned i = 0; i < CSP_FEATURE_BITS; i++)
        features += bits[i / 8] >> i % 8 & 1;
    uint64_t table = UINT64_C(16) * features;
    return features && file->size - data_offset >= table &&
           csp_load64(file->data + data_offset) == data_offset + table;
}

static int find_data(struct csp_perfdata *reader, struct section data, const uint8_t *bits,
                     struct csp_diag *diag)
{
    const struct csp_file *file = reader->file;
    if (data.offset < CSP_PERFDATA_HEADER_SIZE || data.offset > file->size)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: offset 40: the records begin at %" PRIu64
                        ", outside the file of %zu bytes; it was cut short or is damaged",
                        file->path, data.offset, file->size);
    reader->data_offset = data.offset;
    reader->data_end = data.offset + data.size;
    if (!data.size && !is_finished(file, data.offset, bits)) {
        reader->info.unfinished = true;
        reader->data_end = file->size;
        csp_warn(diag,
                 "%s: the recorder did not complete the file (data size 0 in its header); reading "
                 "all complete records, without header features such as build-ids",
                 file->path);
    } else if (!inside(file, data)) {
        csp_warn(diag,
                 "%s: cut short: the records should fill %" PRIu64 " bytes from offset %" PRIu64
                 " and the file has %zu bytes; reading what is there, without header features such "
                 "as build-ids",
                 file->path, data.size, data.offset, file->size);
        reader->data_end = file->size;
        reader->info.unfinished = true;
    }
    return 0;
}

static int read_file_header(struct csp_perfdata *reader, struct csp_diag *diag)
{
    const struct csp_file *file = reader->file;
    if (file->size < CSP_PERFDATA_HEADER_SIZE)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: cut short inside the file header: %zu bytes, expected at least %d",
                        file->path, file->size, CSP_PERFDATA_HEADER_SIZE);
    struct csp_cursor at = csp_cursor(file->data + 16, CSP_PERFDATA_HEADER_SIZE - 16);
    uint64_t entry_size = csp_cursor_u64(&at);
    struct section attrs = take_section(&at);
    struct section data = take_section(&at);
    take_section(&at); /* event types: not used since Linux 3.11 */
    const uint8_t *bits = csp_cursor_take(&at, CSP_FEATURE_BITS / 8);
    int error = find_data(reader, data, bits, diag);
    if (!error)
        error = read_attrs(reader, attrs, entry_size, diag);
    if (!error && !reader->info.unfinished)
        read_features(reader, bits, diag);
    return error;
}

static void read_header_attr(struct csp_perfdata *reader, const struct csp_record *record)
{
    if (record->body_size < CSP_ATTR_SIZE_MIN)
        return;
    uint32_t size = csp_load32(record->body + 4);
    if (size < CSP_ATTR_SIZE_MIN || size > record->body_size)
        return;
    csp_reader_add_attr(reader, record->body, size, record->body + size, record->body_size - size);
}

/* EVENT_UPDATE: u64 type (2: a name), u64 id, the name. */
static void read_event_update(struct csp_perfdata *reader, const struct csp_record *record)
{
    if (record->body_size < 17 || csp_load64(record->body) != 2 ||
        !memchr(record->body + 16, 0, record->body_size - 16))
        return;
    csp_reader_name_attr(reader, csp_load64(record->body + 8), (const char *)record->body + 16);
}

/* In a pipe, what the header of a file says comes as records. */
static void read_pipe_headers(struct csp_perfdata *reader, struct csp_diag *diag)
{
    struct csp_record record;
    const struct csp_file *file = reader->file;
    for (uint64_t at = reader->data_offset;
         csp_record_split(&record, file->data + at, reader->data_end - at);
         at += record.size + record.payload_size) {
        switch (record.type) {
        case CSP_RECORD_HEADER_ATTR:
            read_header_attr(reader, &record);
            break;
        case CSP_RECORD_EVENT_UPDATE:
            read_event_update(reader, &record);
            break;
        case CSP_RECORD_HEADER_BUILD_ID:
            csp_reader_build_id(reader, record.misc, record.body, record.body_size);
            break;
        case CSP_RECORD_HEADER_FEATURE:
            if (record.body_size >= 8 && csp_load64(record.body) < CSP_FEATURE_BITS)
                csp_reader_feature(reader, (unsigned)csp_load64(record.body), record.body + 8,
                                   record.body_size - 8, diag);
            break;
        default:
            break;
        }
    }
}

static int read_header(struct csp_perfdata *reader, struct csp_diag *diag)
{
    const struct csp_file *file = reader->file;
    if (!file->size)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: the file is empty, expected a perf.data file",
                        file->path);
    uint64_t magic = file->size < 16 ? 0 : csp_load64(file->data);
    if (magic == CSP_PERFDATA_MAGIC_SWAPPED)
        return csp_fail(diag, CSP_ERR_UNSUPPORTED,
                        "%s: recorded on a big-endian machine, which csprof does not read",
                        file->path);
    if (magic != CSP_PERFDATA_MAGIC)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: not a perf.data file: expected magic PERFILE2 at offset 0",
                        file->path);
    if (csp_load64(file->data + 8) != CSP_PERFDATA_PIPE_HEADER_SIZE)
        return read_file_header(reader, diag);
    reader->info.pipe = true;
    reader->data_offset = CSP_PERFDATA_PIPE_HEADER_SIZE;
    reader->data_end = file->size;
    read_pipe_headers(reader, diag);
    return 0;
}

int csp_perfdata_open(struct csp_perfdata **out, const struct csp_file *file, struct csp_diag *diag)
{
    struct csp_perfdata *reader = csp_calloc(1, sizeof *reader);
    reader->file = file;
    int error = read_header(reader, diag);
    if (!error && !reader->attrs.len)
        error = csp_fail(diag, CSP_ERR_INPUT,
                         "%s: describes no event (no attributes); nothing in it can be understood",
                         file->path);
    reader->info.build_ids = reader->build_ids.data;
    reader->info.build_id_count = reader->build_ids.len;
    if (error) {
        csp_perfdata_close(reader);
        reader = NULL;
    }
    *out = reader;
    return error;
}

void csp_perfdata_close(struct csp_perfdata *reader)
{
    if (!reader)
        return;
    csp_vec_free(&reader->attrs);
    csp_vec_free(&reader->layouts);
    csp_vec_free(&reader->shapes);
    csp_vec_free(&reader->build_ids);
    csp_map_free(&reader->attr_of_id);
    csp_arena_free(&reader->arena);
    free(reader);
}

size_t csp_perfdata_attr_count(const struct csp_perfdata *reader)
{
    return reader->attrs.len;
}

const struct csp_attr *csp_perfdata_attr(const struct csp_perfdata *reader, size_t number)
{
    return &reader->attrs.data[number];
}

bool csp_perfdata_sample_place(const struct csp_perfdata *reader, const struct csp_record *record,
                               struct csp_sample_place *place)
{
    return csp_sample_find_place(&reader->attrs.data[record->attr],
                                 &reader->shapes.data[record->attr], record, place);
}

int csp_perfdata_attr_of_id(const struct csp_perfdata *reader, uint64_t id)
{
    const uint64_t *number = csp_map_find(&reader->attr_of_id, id);
    return number ? (int)*number - 1 : -1;
}

const struct csp_perfdata_info *csp_perfdata_info(const struct csp_perfdata *reader)
{
    return &reader->info;
}

void csp_perfdata_done(const struct csp_perfdata *reader, const uint8_t *from, const uint8_t *to)
{
    uintptr_t begin = (uintptr_t)reader->file->data, at = (uintptr_t)from, end = (uintptr_t)to;
    if (at >= begin && at < end && end - begin <= reader->file->size)
        csp_file_done(reader->file, at - begin, end - at);
}

const char *csp_perfdata_path(const struct csp_perfdata *reader)
{
    return reader->file->path;
}
