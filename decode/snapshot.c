#include "decode/snapshot.h"

#include "base/big_vec.h"
#include "base/file.h"
#include "base/parse.h"
#include "decode/ini.h"
#include "decode/memory_dumps.h"

#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

struct device {
    const char *name, *class, *type;
    struct csp_ini ini;
};

struct csp_snapshot {
    char *folder;
    struct csp_diag *diag;
    struct csp_trace_input trace;
    struct csp_ini main, metadata;
    CSP_VEC(struct device *) devices;
    CSP_VEC(struct csp_file *) files;
    struct csp_memory_dumps dumps;
};

/* ---- files ---- */

static int map_file(struct csp_snapshot *snapshot, const char *name, const struct csp_file **out)
{
    char *path = csp_asprintf("%s/%s", snapshot->folder, name);
    for (size_t i = 0; i < snapshot->files.len; i++) {
        if (strcmp(snapshot->files.data[i]->path, path) != 0)
            continue;
        free(path);
        *out = snapshot->files.data[i];
        return 0;
    }
    struct csp_file *file = csp_calloc(1, sizeof *file);
    int error = csp_file_map(file, path, snapshot->diag);
    free(path);
    if (error) {
        free(file);
        return error;
    }
    csp_vec_push(&snapshot->files, file);
    *out = file;
    return 0;
}

static int read_ini(struct csp_snapshot *snapshot, const char *name, struct csp_ini *ini)
{
    char *path = csp_asprintf("%s/%s", snapshot->folder, name);
    int error = csp_ini_read(ini, path, snapshot->diag);
    free(path);
    return error;
}

/* ---- devices ---- */

static int read_device(struct csp_snapshot *snapshot, const char *file)
{
    struct device *device = csp_calloc(1, sizeof *device);
    csp_vec_push(&snapshot->devices, device);
    int error = read_ini(snapshot, file, &device->ini);
    if (error)
        return error;
    device->name = csp_ini_find(&device->ini, "device", "name");
    device->class = csp_ini_find(&device->ini, "device", "class");
    device->type = csp_ini_find(&device->ini, "device", "type");
    if (device->name && device->class && device->type)
        return 0;
    return csp_fail(snapshot->diag, CSP_ERR_INPUT,
                    "%s/%s: the [device] section must have name, class and type", snapshot->folder,
                    file);
}

static const struct device *find_device(const struct csp_snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->devices.len; i++)
        if (!strcmp(snapshot->devices.data[i]->name, name))
            return snapshot->devices.data[i];
    return NULL;
}

/* A register's value: the key is its name, with a number or size in parentheses or without. */
static uint32_t read_register(const struct device *device, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < device->ini.entries.len; i++) {
        const struct csp_ini_entry *entry = &device->ini.entries.data[i];
        uint64_t value;
        if (strcasecmp(entry->section, "regs") != 0 || strncasecmp(entry->key, name, length) != 0)
            continue;
        if (entry->key[length] && entry->key[length] != '(')
            continue;
        return csp_parse_count(entry->value, &value) ? (uint32_t)value : 0;
    }
    return 0;
}

/* ---- memory ---- */

static bool read_number(const struct csp_ini *ini, const char *section, const char *key,
                        uint64_t *value)
{
    const char *text = csp_ini_find(ini, section, key);
    return text && csp_parse_count(text, value);
}

static int read_dump(struct csp_snapshot *snapshot, const struct device *device,
                     const char *section)
{
    const char *name = csp_ini_find(&device->ini, section, "file");
    uint64_t address, offset = 0, length;
    const struct csp_file *file;
    if (!name || !read_number(&device->ini, section, "address", &address))
        return csp_fail(snapshot->diag, CSP_ERR_INPUT,
                        "%s: [%s] of device %s must have a file and an address", snapshot->folder,
                        section, device->name);
    int error = map_file(snapshot, name, &file);
    if (error)
        return error;
    if (csp_ini_find(&device->ini, section, "offset") &&
        !read_number(&device->ini, section, "offset", &offset))
        return csp_fail(snapshot->diag, CSP_ERR_INPUT, "%s: [%s] of device %s: bad offset",
                        snapshot->folder, section, device->name);
    if (offset >= file->size) {
        csp_warn(snapshot->diag, "%s: [%s] of device %s begins beyond the end of %s: left out",
                 snapshot->folder, section, device->name, name);
        return 0;
    }
    if (!read_number(&device->ini, section, "length", &length) || length > file->size - offset)
        length = file->size - offset;
    if (length > UINT64_MAX - address)
        length = UINT64_MAX - address;
    csp_memory_dumps_add(&snapshot->dumps, address, file->data + offset, length);
    return 0;
}

static int read_memory(struct csp_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->devices.len; i++) {
        const struct device *device = snapshot->devices.data[i];
        const char *section = "";
        for (size_t k = 0; k < device->ini.entries.len; k++) {
            const struct csp_ini_entry *entry = &device->ini.entries.data[k];
            if (!strcmp(entry->section, section))
                continue;
            section = entry->section;
            int error = strncasecmp(section, "dump", 4) ? 0 : read_dump(snapshot, device, section);
            if (error)
                return error;
        }
    }
    csp_memory_dumps_seal(&snapshot->dumps, snapshot->folder, snapshot->diag);
    return 0;
}

/* ---- trace ---- */

/* Adds a device as a source of the newest stream. */
static void add_source(struct csp_snapshot *snapshot, struct csp_stream *stream,
                       const struct device *device)
{
    bool ete = !strcasecmp(device->type, "ETE");
    if (!ete && strcasecmp(device->type, "ETM4") != 0) {
        csp_note(snapshot->diag, "%s: trace source %s is of type %s, not ETM4 or ETE: left out",
                 snapshot->folder, device->name, device->type);
        return;
    }
    struct csp_trace_config config = {
        .protocol = ete ? CSP_PROTOCOL_ETE : CSP_PROTOCOL_ETMV4,
        .configr = read_register(device, "TRCCONFIGR"),
        .traceidr = read_register(device, "TRCTRACEIDR"),
        .idr0 = read_register(device, "TRCIDR0"),
        .idr1 = read_register(device, "TRCIDR1"),
        .idr2 = read_register(device, "TRCIDR2"),
        .idr8 = read_register(device, "TRCIDR8"),
        .devarch = read_register(device, "TRCDEVARCH"),
    };
    config.trace_id = config.traceidr & 0x7f;
    struct csp_source source = {
        .name = device->name,
        .stream = (uint32_t)snapshot->trace.streams.len,
        .cpu = CSP_NOBODY,
        .config = config,
    };
    csp_vec_push(&snapshot->trace.sources, source);
    stream->source_count++;
}

static int add_sources(struct csp_snapshot *snapshot, struct csp_stream *stream)
{
    for (size_t i = 0; i < snapshot->metadata.entries.len; i++) {
        const struct csp_ini_entry *entry = &snapshot->metadata.entries.data[i];
        if (strcasecmp(entry->section, "source_buffers") != 0 ||
            strcmp(entry->value, stream->name) != 0)
            continue;
        const struct device *device = find_device(snapshot, entry->key);
        if (!device)
            return csp_fail(snapshot->diag, CSP_ERR_INPUT,
                            "%s: trace source %s is not in the device list", snapshot->folder,
                            entry->key);
        add_source(snapshot, stream, device);
    }
    return 0;
}

/* A buffer may be in several files, separated by ';' or ','. */
static int add_pieces(struct csp_snapshot *snapshot, struct csp_stream *stream, const char *names)
{
    CSP_VEC(struct csp_trace_piece) pieces = {0};
    char *copy = csp_strdup(names), *rest = copy, *name;
    int error = 0;
    while (!error && (name = strsep(&rest, ";,"))) {
        const struct csp_file *file;
        name += strspn(name, " \t");
        if (!*name)
            continue;
        error = map_file(snapshot, name, &file);
        if (!error)
            csp_vec_push(&pieces, (struct csp_trace_piece){.data = file->data, .size = file->size});
    }
    free(copy);
    struct csp_chunk chunk = {.pid = CSP_NOBODY, .tid = CSP_NOBODY};
    csp_chunk_take_pieces(&chunk, pieces.data, pieces.len, &snapshot->trace.arena);
    csp_big_vec_push(&stream->chunks, chunk);
    csp_vec_free(&pieces);
    return error;
}

static int read_buffer(struct csp_snapshot *snapshot, const char *section)
{
    const struct csp_ini *ini = &snapshot->metadata;
    const char *name = csp_ini_find(ini, section, "name");
    const char *file = csp_ini_find(ini, section, "file");
    const char *format = csp_ini_find(ini, section, "format");
    if (!name || !file || !format)
        return csp_fail(snapshot->diag, CSP_ERR_INPUT,
                        "%s: [%s] of the trace metadata must have name, file and format",
                        snapshot->folder, section);
    struct csp_stream stream = {
        .name = name,
        .formatted = !strcasecmp(format, "coresight"),
        .source_first = (uint32_t)snapshot->trace.sources.len,
    };
    if (!stream.formatted && strcasecmp(format, "source_data") != 0)
        return csp_fail(snapshot->diag, CSP_ERR_UNSUPPORTED,
                        "%s: [%s]: format %s; only coresight and source_data are supported",
                        snapshot->folder, section, format);
    int error = add_sources(snapshot, &stream);
    if (error)
        return error;
    if (!stream.source_count) {
        csp_note(snapshot->diag, "%s: buffer %s has no ETM4 or ETE source: left out",
                 snapshot->folder, name);
        return 0;
    }
    error = add_pieces(snapshot, &stream, file);
    csp_vec_push(&snapshot->trace.streams, stream);
    return error;
}

/* Whether the metadata's list of buffers names this section. */
static bool is_listed(const char *list, const char *section)
{
    size_t length = strlen(section);
    for (const char *at = list; (at = strstr(at, section)); at += length)
        if ((at == list || strchr(", \t", at[-1])) && strchr(", \t", at[length]))
            return true;
    return false;
}

static int read_buffers(struct csp_snapshot *snapshot)
{
    const char *list = csp_ini_find(&snapshot->metadata, "trace_buffers", "buffers");
    const char *section = "";
    for (size_t i = 0; list && i < snapshot->metadata.entries.len; i++) {
        const struct csp_ini_entry *entry = &snapshot->metadata.entries.data[i];
        if (!strcmp(entry->section, section))
            continue;
        section = entry->section;
        int error = is_listed(list, section) ? read_buffer(snapshot, section) : 0;
        if (error)
            return error;
    }
    if (snapshot->trace.streams.len)
        return 0;
    return csp_fail(snapshot->diag, CSP_ERR_INPUT,
                    "%s: no trace buffer with an ETM4 or ETE source in the trace metadata",
                    snapshot->folder);
}

/* ---- all together ---- */

static int read_snapshot(struct csp_snapshot *snapshot)
{
    int error = read_ini(snapshot, "snapshot.ini", &snapshot->main);
    for (size_t i = 0; i < snapshot->main.entries.len && !error; i++) {
        const struct csp_ini_entry *entry = &snapshot->main.entries.data[i];
        if (!strcasecmp(entry->section, "device_list"))
            error = read_device(snapshot, entry->value);
    }
    if (error)
        return error;
    const char *metadata = csp_ini_find(&snapshot->main, "trace", "metadata");
    if (!metadata)
        return csp_fail(snapshot->diag, CSP_ERR_INPUT,
                        "%s/snapshot.ini has no trace: [trace] metadata=FILE is missing",
                        snapshot->folder);
    error = read_ini(snapshot, metadata, &snapshot->metadata);
    if (!error)
        error = read_memory(snapshot);
    return error ? error : read_buffers(snapshot);
}

int csp_snapshot_open(struct csp_snapshot **out, const char *path, struct csp_diag *diag)
{
    struct csp_snapshot *snapshot = csp_calloc(1, sizeof *snapshot);
    struct stat status;
    snapshot->diag = diag;
    snapshot->folder = csp_strdup(path);
    if (stat(path, &status) == 0 && S_ISREG(status.st_mode)) {
        char *folder = csp_strdup(dirname(snapshot->folder));
        free(snapshot->folder);
        snapshot->folder = folder;
    }
    snapshot->trace.open_code = csp_memory_dumps_open_code;
    snapshot->trace.owner = &snapshot->dumps;
    int error = read_snapshot(snapshot);
    if (error)
        csp_snapshot_close(snapshot);
    else
        *out = snapshot;
    return error;
}

const struct csp_trace_input *csp_snapshot_trace(const struct csp_snapshot *snapshot)
{
    return &snapshot->trace;
}

void csp_snapshot_close(struct csp_snapshot *snapshot)
{
    if (!snapshot)
        return;
    csp_trace_input_free(&snapshot->trace);
    for (size_t i = 0; i < snapshot->devices.len; i++) {
        csp_ini_free(&snapshot->devices.data[i]->ini);
        free(snapshot->devices.data[i]);
    }
    for (size_t i = 0; i < snapshot->files.len; i++) {
        csp_file_unmap(snapshot->files.data[i]);
        free(snapshot->files.data[i]);
    }
    csp_vec_free(&snapshot->devices);
    csp_vec_free(&snapshot->files);
    csp_memory_dumps_free(&snapshot->dumps);
    csp_ini_free(&snapshot->main);
    csp_ini_free(&snapshot->metadata);
    free(snapshot->folder);
    free(snapshot);
}
