#include "perfdata/copy.h"

void csp_copy_info(struct csp_writer *writer, const struct csp_perfdata_info *info)
{
    const char *const command[] = {info->command_line, NULL};
    csp_writer_info(writer, &(struct csp_writer_info){
                                .hostname = info->hostname,
                                .os_release = info->os_release,
                                .arch = info->arch,
                                .perf_version = info->perf_version,
                                .cpu_description = info->cpu_description,
                                .cpu_id = info->cpu_id,
                                .command = info->command_line ? command : NULL,
                                .cpus_available = info->cpus_available,
                                .cpus_online = info->cpus_online,
                            });
    for (size_t i = 0; i < info->build_id_count; i++) {
        const struct csp_build_id_entry *entry = &info->build_ids[i];
        csp_writer_build_id(writer, entry->misc & CSP_MISC_CPUMODE_MASK, entry->pid,
                            &entry->build_id, entry->path);
    }
}

struct csp_writer_id csp_copy_id(const struct csp_record *record)
{
    return (struct csp_writer_id){
        .attr = record->attr,
        .pid = record->pid,
        .tid = record->tid,
        .cpu = record->cpu,
        .time = record->time,
        .id = record->id,
        .stream_id = record->stream_id,
    };
}

bool csp_copy_task_record(struct csp_writer *writer, const struct csp_writer_id *id,
                          const struct csp_record *record)
{
    uint16_t mode = record->misc & CSP_MISC_CPUMODE_MASK;
    union {
        struct csp_mmap_event mmap;
        struct csp_comm_event comm;
        struct csp_task_event task;
    } event;
    if (record->type == CSP_RECORD_MMAP2 && csp_record_mmap(record, &event.mmap))
        csp_write_mmap2(writer, id, mode, &event.mmap);
    else if (record->type == CSP_RECORD_MMAP && csp_record_mmap(record, &event.mmap))
        csp_write_mmap(writer, id, mode, &event.mmap);
    else if (csp_record_comm(record, &event.comm))
        csp_write_comm(writer, id, &event.comm);
    else if (record->type == CSP_RECORD_FORK && csp_record_task(record, &event.task))
        csp_write_fork(writer, id, &event.task);
    else if (record->type == CSP_RECORD_EXIT && csp_record_task(record, &event.task))
        csp_write_exit(writer, id, &event.task);
    else
        return false;
    return true;
}
