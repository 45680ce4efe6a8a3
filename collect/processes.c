#include "collect/processes.h"

#include "collect/elf_view.h"
#include "collect/host_tree.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static void list_numbers(const char *directory, struct csp_tids *tids)
{
    struct csp_tree_names names;
    csp_tree_list("", &names, "%s", directory);
    for (size_t i = 0; i < names.names.len; i++) {
        char *end;
        unsigned long number = strtoul(names.names.data[i], &end, 10);
        if (end != names.names.data[i] && !*end && number <= INT32_MAX)
            csp_vec_push(&tids->tids, (uint32_t)number);
    }
    csp_tree_names_free(&names);
}

bool csp_process_threads(uint32_t pid, struct csp_tids *tids)
{
    char *directory = csp_asprintf("proc/%u/task", pid);
    list_numbers(directory, tids);
    free(directory);
    return tids->tids.len != 0;
}

void csp_processes_list(struct csp_tids *pids)
{
    list_numbers("proc", pids);
}

/* A number of /proc/PID/status: "Tgid:\t1". */
static bool status_line(uint32_t tid, const char *key, char *value, size_t size)
{
    char *status = csp_tree_text("", "proc/%u/status", tid);
    const char *found = status ? strstr(status, key) : NULL;
    if (found)
        snprintf(value, size, "%.*s", (int)strcspn(found + strlen(key), "\n"), found + strlen(key));
    free(status);
    return found != NULL;
}

uint32_t csp_thread_process(uint32_t tid)
{
    char value[64];
    return status_line(tid, "\nTgid:", value, sizeof value) ? (uint32_t)strtoul(value, NULL, 10)
                                                            : 0;
}

bool csp_thread_ended(uint32_t tid)
{
    char value[64];
    return !status_line(tid, "\nState:", value, sizeof value) || value[1] == 'Z' || value[1] == 'X';
}

static void write_comm(struct csp_process_writer *out, uint32_t pid, uint32_t tid)
{
    struct csp_writer_id id = {.attr = out->tracker, .pid = pid, .tid = tid};
    char *name = csp_tree_text("", "proc/%u/task/%u/comm", pid, tid);
    if (!name)
        return;
    struct csp_comm_event event = {pid, tid, name, false};
    csp_write_comm(out->writer, &id, &event);
    free(name);
}

static void write_thread(struct csp_process_writer *out, uint32_t pid, uint32_t tid)
{
    struct csp_writer_id id = {.attr = out->tracker, .pid = pid, .tid = tid};
    struct csp_task_event task = {.pid = pid, .parent_pid = pid, .tid = tid, .parent_tid = pid};
    if (tid != pid)
        csp_write_fork(out->writer, &id, &task);
    write_comm(out, pid, tid);
}

/* The mapped file itself, also where its name is another process's, or was removed; who may not
 * follow that link takes the file of that name as the process sees it. */
static struct csp_known_file read_file(uint32_t pid, const struct csp_mmap_event *event)
{
    struct csp_known_file file = {
        .major = event->major, .minor = event->minor, .inode = event->inode};
    char *mapped =
        csp_asprintf("/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)event->start,
                     (unsigned long long)(event->start + event->length));
    char *path = csp_asprintf("/proc/%u/root%s", pid, event->path);
    file.has_build_id = csp_elf_file_build_id(mapped, &file.build_id) ||
                        csp_elf_file_build_id(path, &file.build_id);
    free(mapped);
    free(path);
    return file;
}

static void find_build_id(struct csp_process_writer *out, uint32_t pid,
                          struct csp_mmap_event *event)
{
    const struct csp_known_file *file = NULL;
    if (*event->path != '/')
        return;
    uint64_t device = (uint64_t)event->major << 32 | event->minor;
    uint64_t *number = csp_map_at(&out->file_of, event->inode ^ device << 20);
    if (*number)
        file = &out->files.data[*number - 1];
    if (!file || file->inode != event->inode || file->major != event->major ||
        file->minor != event->minor) {
        csp_vec_push(&out->files, read_file(pid, event));
        *number = out->files.len;
        file = &out->files.data[*number - 1];
    }
    event->has_build_id = file->has_build_id;
    event->build_id = file->build_id;
    out->no_build_id += !event->has_build_id;
}

void csp_process_writer_free(struct csp_process_writer *out)
{
    csp_vec_free(&out->files);
    csp_map_free(&out->file_of);
}

/* "55d0-55d1 r-xp 00002000 fe:01 1234   /usr/bin/app"; executable ones are of interest. */
static void write_mapping(struct csp_process_writer *out, uint32_t pid, char *line)
{
    unsigned long long start, end, offset, inode;
    unsigned major, minor;
    char access[5];
    int path = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, access, &offset, &major,
               &minor, &inode, &path) < 7 ||
        access[2] != 'x')
        return;
    struct csp_writer_id id = {.attr = out->tracker, .pid = pid, .tid = pid};
    struct csp_mmap_event event = {
        .pid = pid,
        .tid = pid,
        .start = start,
        .length = end - start,
        .page_offset = offset,
        .path = path && line[path] ? line + path : "//anon",
        .major = major,
        .minor = minor,
        .inode = inode,
        .protection =
            PROT_EXEC | (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0),
        .flags = access[3] == 's' ? MAP_SHARED : MAP_PRIVATE,
    };
    find_build_id(out, pid, &event);
    csp_write_mmap2(out->writer, &id, CSP_MISC_CPUMODE_USER, &event);
    out->mappings++;
}

void csp_process_write(struct csp_process_writer *out, uint32_t pid)
{
    struct csp_tids threads = {0};
    csp_process_threads(pid, &threads);
    for (size_t i = 0; i < threads.tids.len; i++)
        write_thread(out, pid, threads.tids.data[i]);
    char *path = csp_asprintf("/proc/%u/maps", pid), *line = NULL;
    FILE *maps = fopen(path, "re");
    size_t capacity = 0;
    out->not_readable += !maps && threads.tids.len;
    while (maps && getline(&line, &capacity, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        write_mapping(out, pid, line);
    }
    if (maps)
        fclose(maps);
    free(line);
    free(path);
    csp_vec_free(&threads.tids);
}
