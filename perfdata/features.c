/* The header features that csprof uses: tools/perf/Documentation/perf.data-file-format.txt. */
#include "perfdata/reader_private.h"

#include "base/buf.h"

#include <string.h>

/* u32 length with padding, then a NUL-terminated text. Null when malformed. */
static const char *take_string(struct csp_cursor *at)
{
    uint32_t length = csp_cursor_u32(at);
    const uint8_t *text = csp_cursor_take(at, length);
    return text && memchr(text, 0, length) ? (const char *)text : NULL;
}

static const char *keep_text(struct csp_perfdata *reader, const char *text, size_t length)
{
    char *copy = csp_arena_alloc(&reader->arena, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static void read_command_line(struct csp_perfdata *reader, struct csp_cursor *at)
{
    struct csp_buf line = {0};
    uint32_t count = csp_cursor_u32(at);
    for (uint32_t i = 0; i < count; i++) {
        const char *argument = take_string(at);
        if (!argument)
            break;
        if (line.len)
            csp_buf_add_char(&line, ' ');
        csp_buf_add_string(&line, argument);
    }
    if (line.len)
        reader->info.command_line = keep_text(reader, line.data, line.len);
    csp_buf_free(&line);
}

/* u32 count, u32 attribute size; then for each: the attribute, u32 number of ids, name, ids. */
static void read_event_names(struct csp_perfdata *reader, struct csp_cursor *at)
{
    uint32_t count = csp_cursor_u32(at);
    uint32_t attr_size = csp_cursor_u32(at);
    for (uint32_t i = 0; i < count && !at->overrun; i++) {
        csp_cursor_take(at, attr_size);
        uint32_t ids = csp_cursor_u32(at);
        const char *name = take_string(at);
        const uint8_t *id = csp_cursor_take(at, 8 * (size_t)ids);
        if (!name || !id)
            return;
        for (uint32_t j = 0; j < ids; j++)
            csp_reader_name_attr(reader, csp_load64(id + 8 * j), name);
        if (!ids && i < reader->attrs.len && !reader->attrs.data[i].name)
            reader->attrs.data[i].name = name;
    }
}

/* u32 pid, 24 bytes of build-id (20, its length when the record says so, padding), the path. */
void csp_reader_build_id(struct csp_perfdata *reader, uint16_t misc, const uint8_t *body,
                         size_t size)
{
    enum { HAS_SIZE = 1 << 15 };
    if (size < 29 || !memchr(body + 28, 0, size - 28))
        return;
    struct csp_build_id_entry entry = {
        .misc = misc,
        .pid = csp_load32(body),
        .build_id.size = 20,
        .path = (const char *)body + 28,
    };
    if (misc & HAS_SIZE)
        entry.build_id.size = body[24] < 20 ? body[24] : 20;
    else if (!csp_load32(body + 20)) /* an MD5, by a writer that does not tell the length */
        entry.build_id.size = 16;
    memcpy(entry.build_id.bytes, body + 4, entry.build_id.size);
    csp_vec_push(&reader->build_ids, entry);
}

static void read_build_ids(struct csp_perfdata *reader, const uint8_t *data, size_t size)
{
    struct csp_record record;
    for (size_t at = 0; at < size && csp_record_split(&record, data + at, size - at);
         at += record.size)
        csp_reader_build_id(reader, record.misc, record.body, record.body_size);
}

/* u64 count, and as many entries: auxtrace_index__write, tools/perf/util/auxtrace.c. */
static void read_auxtrace_index(struct csp_perfdata *reader, struct csp_cursor *at, size_t size)
{
    enum { ENTRY = 16 };
    uint64_t count = csp_cursor_u64(at), most = size / ENTRY;
    reader->auxtrace_index_len = count < most ? count : most;
    reader->auxtrace_index = csp_cursor_take(at, ENTRY * reader->auxtrace_index_len);
    if (!reader->auxtrace_index)
        reader->auxtrace_index_len = 0;
}

/* Pairs of NUL-terminated texts; "event_type_info" has a line "name,type,config" for each event. */
static void read_simpleperf_meta(struct csp_perfdata *reader, const uint8_t *data, size_t size)
{
    reader->info.simpleperf = true;
    static const char key[] = "event_type_info";
    const char *at = memmem(data, size, key, sizeof key);
    if (!at)
        return;
    at += sizeof key;
    const char *end = memchr(at, 0, size - (size_t)(at - (const char *)data));
    while (end && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        const char *comma = memchr(at, ',', (size_t)(line_end - at));
        char *rest;
        unsigned long long type = comma ? strtoull(comma + 1, &rest, 10) : 0;
        if (comma && *rest == ',') {
            unsigned long long config = strtoull(rest + 1, NULL, 10);
            for (size_t i = 0; i < reader->attrs.len; i++) {
                struct csp_attr *attr = &reader->attrs.data[i];
                if (!attr->name && attr->type == type && attr->config == config)
                    attr->name = keep_text(reader, at, (size_t)(comma - at));
            }
        }
        at = line_end + 1;
    }
}

void csp_reader_feature(struct csp_perfdata *reader, unsigned feature, const uint8_t *data,
                        size_t size, struct csp_diag *diag)
{
    struct csp_perfdata_info *info = &reader->info;
    struct csp_cursor at = csp_cursor(data, size);
    switch (feature) {
    case CSP_FEATURE_BUILD_ID:
        read_build_ids(reader, data, size);
        break;
    case CSP_FEATURE_HOSTNAME:
        info->hostname = take_string(&at);
        break;
    case CSP_FEATURE_OSRELEASE:
        info->os_release = take_string(&at);
        break;
    case CSP_FEATURE_VERSION:
        info->perf_version = take_string(&at);
        break;
    case CSP_FEATURE_ARCH:
        info->arch = take_string(&at);
        break;
    case CSP_FEATURE_NRCPUS:
        info->cpus_available = csp_cursor_u32(&at);
        info->cpus_online = csp_cursor_u32(&at);
        break;
    case CSP_FEATURE_CPUDESC:
        info->cpu_description = take_string(&at);
        break;
    case CSP_FEATURE_CPUID:
        info->cpu_id = take_string(&at);
        break;
    case CSP_FEATURE_CMDLINE:
        read_command_line(reader, &at);
        break;
    case CSP_FEATURE_EVENT_DESC:
        read_event_names(reader, &at);
        break;
    case CSP_FEATURE_AUXTRACE:
        read_auxtrace_index(reader, &at, size);
        break;
    case CSP_FEATURE_SAMPLE_TIME:
        info->first_sample_time = csp_cursor_u64(&at);
        info->last_sample_time = csp_cursor_u64(&at);
        break;
    case CSP_FEATURE_SIMPLEPERF_META_INFO:
        read_simpleperf_meta(reader, data, size);
        break;
    default:
        break;
    }
    if (at.overrun)
        csp_debug(diag, "%s: header feature %u is malformed and was not used", reader->file->path,
                  feature);
}
