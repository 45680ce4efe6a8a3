#include "profgen/data_access.h"

#include "base/buf.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A part of the binary's data in the memory of the process. */
struct data_mapping {
    uint64_t start, size, offset;
};

struct reader {
    struct csp_data_accesses *accesses;
    struct csp_program *program;
    const struct csp_address_map *map;
    CSP_VEC(struct data_mapping) mappings;
};

static void read_mapping(struct reader *reader, const char *line)
{
    struct data_mapping mapping;
    const char *open = strchr(strstr(line, "PERF_RECORD_MMAP2"), '[');
    const char *name = strrchr(line, '/');
    const char *protection = open ? strstr(open, "]: ") : NULL;
    if (!protection || !name || strcmp(name + 1, reader->program->name) != 0 ||
        strlen(protection) < 7 || memchr(protection, 'x', 7))
        return;
    if (sscanf(open, "[%" SCNx64 "(%" SCNx64 ") @ %" SCNx64, &mapping.start, &mapping.size,
               &mapping.offset) == 3)
        csp_vec_push(&reader->mappings, mapping);
}

/* The binary's address of data. */
static uint64_t data_address(const struct reader *reader, uint64_t address)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < reader->mappings.len; i++) {
        const struct data_mapping *mapping = &reader->mappings.data[i];
        if (address - mapping->start < mapping->size)
            offset = address - mapping->start + mapping->offset;
    }
    for (size_t i = 0; offset && i < reader->program->segments.len; i++) {
        const struct csp_program_segment *segment = &reader->program->segments.data[i];
        if (!segment->executable && offset >= segment->offset &&
            offset - segment->offset < segment->file_size)
            return segment->address + (offset - segment->offset);
    }
    return address;
}

static const struct csp_symbol *table_at(const struct csp_program *program, uint64_t address)
{
    for (size_t i = 0; i < program->virtual_tables.len; i++) {
        const struct csp_symbol *symbol = &program->virtual_tables.data[i];
        if (address - symbol->address < symbol->size)
            return symbol;
    }
    return NULL;
}

static void read_sample(struct reader *reader, const char *sample)
{
    uint64_t pid, address, data;
    const char *fields = strstr(sample, "): ");
    if (!fields || sscanf(fields, "): %" SCNu64 "/%*u: %" SCNx64 " period: %*u addr: %" SCNx64,
                          &pid, &address, &data) != 3)
        return;
    if (reader->map->has_pid && pid != reader->map->pid)
        return;
    struct csp_data_accesses *accesses = reader->accesses;
    accesses->samples++;
    const struct csp_symbol *table = table_at(reader->program, data_address(reader, data));
    if (!table) {
        accesses->others++;
        return;
    }
    struct csp_data_access key;
    memset(&key, 0, sizeof key);
    key.address = csp_address_map_find(reader->map, address);
    key.table = csp_intern_string(&reader->program->names, table->name);
    uint32_t id = csp_intern(&accesses->keys, &key, sizeof key);
    if (id == accesses->counts.len)
        csp_vec_push(&accesses->counts, 0);
    accesses->counts.data[id]++;
}

static void read_line(struct reader *reader, const char *line)
{
    const char *sample = strstr(line, "PERF_RECORD_SAMPLE(");
    if (sample)
        read_sample(reader, sample);
    else if (strstr(line, "PERF_RECORD_MMAP2"))
        read_mapping(reader, line);
}

int csp_data_access_read(struct csp_data_accesses *accesses, struct csp_program *program,
                         const struct csp_address_map *map, const char *path, struct csp_diag *diag)
{
    struct csp_file file;
    int error = csp_file_map(&file, path, diag);
    if (error)
        return error;
    struct reader reader = {.accesses = accesses, .program = program, .map = map};
    struct csp_buf line = {0};
    const char *at = (const char *)file.data, *end = at + file.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        line.len = 0;
        csp_buf_add(&line, at, (size_t)(stop - at));
        read_line(&reader, line.data);
        at = newline ? newline + 1 : end;
    }
    csp_buf_free(&line);
    csp_vec_free(&reader.mappings);
    csp_file_unmap(&file);
    if (!accesses->samples)
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s holds no sample with a data address: expected the text of `perf report "
                        "-D` of a recording of memory accesses",
                        path);
    return 0;
}

void csp_data_access_free(struct csp_data_accesses *accesses)
{
    csp_intern_free(&accesses->keys);
    csp_vec_free(&accesses->counts);
}
