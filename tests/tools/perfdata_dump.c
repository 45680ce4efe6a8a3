/* Prints a perf.data file in a stable text form, for the conformance tests and for developers.
 *
 *     perfdata_dump FILE            the header, counts by type and the trace
 *     perfdata_dump --records FILE  each record, in file order
 *     perfdata_dump --sorted FILE   each record, by time
 *     perfdata_dump --samples FILE  pid/tid, time, ip, callchain and branches of each sample, by
 * time perfdata_dump --maps FILE     the address spaces at the end
 */
#include "base/file.h"
#include "perfdata/perfdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_message(void *user, enum csp_severity severity, const char *message)
{
    (void)user;
    if (severity >= CSP_WARNING)
        fprintf(stderr, "%s: %s\n", severity == CSP_FAILURE ? "error" : "warning", message);
}

static void print_text(const char *key, const char *text)
{
    if (text)
        printf("%s: %s\n", key, text);
}

static void print_header(const struct csp_perfdata *reader)
{
    const struct csp_perfdata_info *info = csp_perfdata_info(reader);
    printf("form: %s%s%s\n", info->pipe ? "pipe" : "file", info->simpleperf ? ", simpleperf" : "",
           info->unfinished ? ", unfinished" : "");
    print_text("hostname", info->hostname);
    print_text("os release", info->os_release);
    print_text("arch", info->arch);
    print_text("perf version", info->perf_version);
    print_text("cpu", info->cpu_description);
    print_text("command line", info->command_line);
    if (info->cpus_available)
        printf("cpus: %u online of %u\n", info->cpus_online, info->cpus_available);
    for (size_t i = 0; i < csp_perfdata_attr_count(reader); i++) {
        const struct csp_attr *attr = csp_perfdata_attr(reader, i);
        printf("attr %zu: %s size %u type %u config %#" PRIx64 " period %" PRIu64
               " sample_type %#" PRIx64 " ids %zu\n",
               i, attr->name ? attr->name : "?", attr->raw_size, attr->type, attr->config,
               attr->sample_period, attr->sample_type, attr->id_count);
    }
    for (size_t i = 0; i < info->build_id_count; i++) {
        char text[41];
        csp_build_id_text(&info->build_ids[i].build_id, text);
        printf("build-id: %s %s\n", text, info->build_ids[i].path);
    }
}

static void print_counts(const struct csp_record_counts *counts)
{
    printf("records: %" PRIu64 "\n", counts->total);
    for (uint32_t type = 0; type < CSP_RECORD_TYPES; type++) {
        const char *name = csp_record_type_name(type);
        if (counts->by_type[type] && name)
            printf("  %s: %" PRIu64 "\n", name, counts->by_type[type]);
        else if (counts->by_type[type])
            printf("  type %u: %" PRIu64 "\n", type, counts->by_type[type]);
    }
    if (counts->other)
        printf("  other types: %" PRIu64 "\n", counts->other);
    if (counts->unknown_ids)
        printf("of unknown events: %" PRIu64 "\n", counts->unknown_ids);
    if (counts->lost_bytes)
        printf("not read: %" PRIu64 " bytes from offset %" PRIu64 "\n", counts->lost_bytes,
               counts->cut_offset);
}

static void print_cpu(const struct csp_cs_etm_cpu *cpu)
{
    static const char *const units[] = {"ETMv3", "ETMv4", "ETE", "?"};
    printf("cpu %u: %s trace id %#x ts_source %" PRId64, cpu->cpu, units[cpu->unit], cpu->trace_id,
           cpu->ts_source);
    for (uint32_t i = 0; i < cpu->param_count && i < CSP_CS_ETM_PARAMS_MAX; i++)
        printf(" %" PRIx64, cpu->params[i]);
    printf("\n");
}

static void print_trace(const struct csp_auxtrace *aux)
{
    if (!aux->has_info && !aux->queues.len && !aux->fragments.len)
        return;
    printf("trace: type %d version %" PRIu64 " announced %" PRIu64 " stored %" PRIu64
           " missing %" PRIu64 " unannounced %" PRIu64 " repeated %" PRIu64 "\n",
           aux->type, aux->cs_etm.version, aux->announced_bytes, aux->stored_bytes,
           aux->missing_bytes, aux->unannounced_bytes, aux->repeated_bytes);
    for (size_t i = 0; i < aux->cs_etm.cpus.len; i++)
        print_cpu(&aux->cs_etm.cpus.data[i]);
    for (size_t i = 0; i < aux->fragments.len; i++) {
        const struct csp_aux_fragment *f = &aux->fragments.data[i];
        printf("fragment: idx %u cpu %d tid %d time %" PRIu64 " aux %#" PRIx64 "+%" PRIu64
               " flags %#" PRIx32 " %s pieces %u found %" PRIu64 "\n",
               aux->queues.data[f->queue].idx, (int)f->cpu, (int)f->tid, f->time, f->aux_offset,
               f->aux_size, (uint32_t)f->flags, f->raw ? "raw" : "formatted",
               csp_aux_piece_count(f), csp_auxtrace_found(aux, f));
    }
}

static void print_record(const struct csp_record *record)
{
    const char *name = csp_record_type_name(record->type);
    printf("%#" PRIx64 " %" PRIu64
           " %s(%u) misc %#x size %u attr %u pid %d tid %d cpu %d id %" PRIu64 "\n",
           record->offset, record->time, name ? name : "?", record->type, record->misc,
           record->size, record->attr, (int)record->pid, (int)record->tid, (int)record->cpu,
           record->id);
}

static void print_sample(const struct csp_perfdata *reader, const struct csp_record *record)
{
    struct csp_sample_record sample;
    if (record->type != CSP_RECORD_SAMPLE)
        return;
    if (!csp_sample_parse(csp_perfdata_attr(reader, record->attr), record, &sample)) {
        printf("malformed\n");
        return;
    }
    printf("%d/%d %" PRIu64 ".%06" PRIu64 ": %" PRIu64 " %" PRIx64 "\n", (int)sample.pid,
           (int)sample.tid, sample.time / 1000000000, sample.time / 1000 % 1000000, sample.period,
           sample.ip);
    for (uint64_t i = 0; i < sample.callchain_len; i++)
        printf("  %" PRIx64 "\n", csp_sample_frame(&sample, i));
    for (uint64_t i = 0; i < sample.branch_len; i++) {
        struct csp_branch_entry branch = csp_sample_branch(&sample, i);
        printf(" 0x%" PRIx64 "/0x%" PRIx64, branch.from, branch.to);
    }
    if (sample.branch_len)
        printf("\n");
}

static void print_mapping(void *user, const struct csp_mapping *mapping)
{
    const struct csp_binary *binary = csp_spaces_binary(user, mapping->binary);
    char text[41];
    csp_build_id_text(&binary->build_id, text);
    printf("  %" PRIx64 "-%" PRIx64 " %" PRIx64 " %s %s\n", mapping->start, mapping->end,
           mapping->page_offset, binary->path, text);
}

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void print_spaces(struct csp_spaces *spaces, const struct csp_map *pids)
{
    CSP_VEC(uint64_t) sorted = {0};
    struct csp_map_entry *entry;
    for (size_t cursor = 0; (entry = csp_map_next(pids, &cursor));)
        csp_vec_push(&sorted, entry->key);
    if (sorted.len)
        qsort(sorted.data, sorted.len, sizeof *sorted.data, by_number);
    for (size_t i = 0; i < sorted.len; i++) {
        uint32_t pid = (uint32_t)sorted.data[i];
        const char *comm = csp_spaces_comm(spaces, pid);
        printf("pid %d %s\n", (int)pid, comm ? comm : "?");
        csp_spaces_each(spaces, pid, UINT64_MAX, print_mapping, spaces);
    }
    csp_vec_free(&sorted);
}

struct dump {
    const char *mode;
    struct csp_perfdata *reader;
    struct csp_auxtrace aux;
    struct csp_spaces *spaces;
    struct csp_map pids;
};

static int take(struct dump *dump, const struct csp_record *record, struct csp_diag *diag)
{
    struct csp_mmap_event event;
    if (strcmp(dump->mode, "--samples") == 0)
        print_sample(dump->reader, record);
    else if (strcmp(dump->mode, "--records") == 0 || strcmp(dump->mode, "--sorted") == 0)
        print_record(record);
    csp_spaces_add(dump->spaces, record);
    if (csp_record_mmap(record, &event))
        *csp_map_at(&dump->pids, event.pid) = 1;
    return csp_auxtrace_add(&dump->aux, record, diag);
}

static int run(struct dump *dump, struct csp_diag *diag)
{
    struct csp_records *records;
    struct csp_record record;
    bool by_file = strcmp(dump->mode, "--records") == 0 || !*dump->mode;
    dump->spaces = csp_spaces_create();
    csp_spaces_build_ids(dump->spaces, csp_perfdata_info(dump->reader));
    int error =
        csp_records_open(&records, dump->reader, by_file ? CSP_ORDER_FILE : CSP_ORDER_TIME, diag);
    if (error)
        return error;
    if (!*dump->mode)
        print_header(dump->reader);
    while (!error && csp_records_next(records, &record))
        error = take(dump, &record, diag);
    csp_auxtrace_finish(&dump->aux, diag);
    if (!*dump->mode) {
        print_counts(csp_records_counts(records));
        print_trace(&dump->aux);
    }
    if (strcmp(dump->mode, "--maps") == 0)
        print_spaces(dump->spaces, &dump->pids);
    csp_records_close(records);
    return error;
}

int main(int argc, char **argv)
{
    struct csp_diag diag = {.emit = print_message};
    struct csp_file file;
    struct dump dump = {.mode = argc == 3 ? argv[1] : ""};
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: perfdata_dump [--records|--sorted|--samples|--maps] FILE\n");
        return CSP_EXIT_USAGE;
    }
    int error = csp_file_map(&file, argv[argc - 1], &diag);
    if (error)
        return (int)csp_error_exit(error);
    error = csp_perfdata_open(&dump.reader, &file, &diag);
    dump.aux.path = file.path;
    if (!error)
        error = run(&dump, &diag);
    csp_auxtrace_free(&dump.aux);
    csp_spaces_destroy(dump.spaces);
    csp_map_free(&dump.pids);
    csp_perfdata_close(dump.reader);
    csp_file_unmap(&file);
    return (int)csp_error_exit(error);
}
