/* The header features of a written file: perf.data-file-format.txt in tools/perf/Documentation. */
#include "perfdata/reader_private.h"
#include "perfdata/writer_private.h"

#include <string.h>

enum { NAME_ALIGN = 64 };

static void add_zeroes(struct csp_buf *out, size_t count)
{
    memset(csp_buf_reserve(out, count), 0, count);
    out->len += count;
}

static size_t padded(const char *text)
{
    return (strlen(text) + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN;
}

/* Text with at least one NUL, filled up to a multiple of 64 bytes. */
static void add_padded(struct csp_buf *out, const char *text)
{
    csp_buf_add_string(out, text);
    add_zeroes(out, padded(text) - strlen(text));
}

static void add_string(struct csp_buf *out, const char *text)
{
    csp_buf_add_u32(out, (uint32_t)padded(text));
    add_padded(out, text);
}

static void set_string(struct csp_writer *writer, enum csp_feature feature, const char *text)
{
    writer->features[feature].len = 0;
    if (text)
        add_string(&writer->features[feature], text);
}

void csp_writer_info(struct csp_writer *writer, const struct csp_writer_info *info)
{
    set_string(writer, CSP_FEATURE_HOSTNAME, info->hostname);
    set_string(writer, CSP_FEATURE_OSRELEASE, info->os_release);
    set_string(writer, CSP_FEATURE_ARCH, info->arch);
    set_string(writer, CSP_FEATURE_VERSION, info->perf_version);
    set_string(writer, CSP_FEATURE_CPUDESC, info->cpu_description);
    set_string(writer, CSP_FEATURE_CPUID, info->cpu_id);
    struct csp_buf *cpus = &writer->features[CSP_FEATURE_NRCPUS];
    cpus->len = 0;
    if (info->cpus_available) {
        csp_buf_add_u32(cpus, info->cpus_available);
        csp_buf_add_u32(cpus, info->cpus_online);
    }
    struct csp_buf *command = &writer->features[CSP_FEATURE_CMDLINE];
    command->len = 0;
    if (info->command) {
        uint32_t count = 0;
        while (info->command[count])
            count++;
        csp_buf_add_u32(command, count);
        for (uint32_t i = 0; i < count; i++)
            add_string(command, info->command[i]);
    }
    struct csp_buf *pmus = &writer->features[CSP_FEATURE_PMU_MAPPINGS];
    pmus->len = 0;
    if (info->pmu_count)
        csp_buf_add_u32(pmus, (uint32_t)info->pmu_count);
    for (size_t i = 0; i < info->pmu_count; i++) {
        csp_buf_add_u32(pmus, info->pmu_types[i]);
        add_string(pmus, info->pmu_names[i]);
    }
}

/* A record of its own kind: type 0, misc with the bit that says that the length is there. */
void csp_writer_build_id(struct csp_writer *writer, uint16_t cpumode, uint32_t pid,
                         const struct csp_build_id *build_id, const char *path)
{
    enum { HAS_SIZE = 1 << 15, FIXED = 8 + 4 + 24 };
    struct csp_buf *out = &writer->features[CSP_FEATURE_BUILD_ID];
    csp_buf_add_u32(out, 0);
    csp_buf_add_u16(out, cpumode | HAS_SIZE);
    csp_buf_add_u16(out, (uint16_t)(FIXED + padded(path)));
    csp_buf_add_u32(out, pid);
    csp_buf_add(out, build_id->bytes, build_id->size);
    add_zeroes(out, 20 - (size_t)build_id->size);
    csp_buf_add_u32(out, build_id->size);
    add_padded(out, path);
}

static void add_event_names(struct csp_writer *writer)
{
    struct csp_buf *out = &writer->features[CSP_FEATURE_EVENT_DESC];
    uint32_t attr_size = (uint32_t)(writer->attrs_size / writer->attrs.len) - 16;
    csp_buf_add_u32(out, (uint32_t)writer->attrs.len);
    csp_buf_add_u32(out, attr_size);
    for (size_t i = 0; i < writer->attrs.len; i++) {
        const struct csp_attr *attr = &writer->attrs.data[i];
        /* perf before 6.13 does not know aux_action; it ignores it in the attribute section but
         * warns, and throws the names away, when it meets it here. */
        struct csp_attr described = *attr;
        described.aux_action = 0;
        csp_attr_encode(&described, attr_size, out);
        csp_buf_add_u32(out, (uint32_t)attr->id_count);
        add_string(out, attr->name ? attr->name : "unnamed");
        for (size_t j = 0; j < attr->id_count; j++)
            csp_buf_add_u64(out, attr->ids[j]);
    }
}

void csp_writer_finish_features(struct csp_writer *writer)
{
    add_event_names(writer);
    csp_writer_compressed_feature(writer);
    struct csp_buf *index = &writer->features[CSP_FEATURE_AUXTRACE];
    if (writer->index.len)
        csp_buf_add_u64(index, writer->index.len);
    for (size_t i = 0; i < writer->index.len; i++) {
        csp_buf_add_u64(index, writer->index.data[i].file_offset);
        csp_buf_add_u64(index, writer->index.data[i].size);
    }
    struct csp_buf *times = &writer->features[CSP_FEATURE_SAMPLE_TIME];
    if (writer->any_sample) {
        csp_buf_add_u64(times, writer->first_time);
        csp_buf_add_u64(times, writer->last_time);
    }
}
