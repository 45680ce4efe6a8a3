#include "perfdata/spaces.h"

#include "base/intern.h"
#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"
#include "perfdata/space_tree.h"

#include <string.h>

/* The tree of one process from `time` on. */
struct version {
    uint64_t time;
    uint32_t root;
    uint32_t number;
};

struct process {
    CSP_VEC(struct version) versions; /* by time; of equal times the last one counts */
    uint32_t name;                    /* in names, or CSP_INTERN_NONE */
};

struct csp_spaces {
    struct csp_space_tree tree;
    CSP_VEC(struct process) processes;
    struct csp_map process_of_pid; /* number + 1 */
    CSP_VEC(struct csp_binary) binaries;
    struct csp_intern binary_keys; /* path, NUL, build-id: numbers are those of binaries */
    struct csp_intern names;
    struct csp_map build_id_of_path; /* number in names -> number in build_ids + 1 */
    CSP_VEC(struct csp_build_id) build_ids;
    CSP_VEC(uint64_t) changes; /* times of versions, each once */
    uint32_t versions;
    struct csp_spaces_stats stats;
};

struct csp_spaces *csp_spaces_create(void)
{
    return csp_calloc(1, sizeof(struct csp_spaces));
}

void csp_spaces_destroy(struct csp_spaces *spaces)
{
    if (!spaces)
        return;
    for (size_t i = 0; i < spaces->processes.len; i++)
        csp_vec_free(&spaces->processes.data[i].versions);
    csp_space_tree_free(&spaces->tree);
    csp_vec_free(&spaces->processes);
    csp_map_free(&spaces->process_of_pid);
    csp_vec_free(&spaces->binaries);
    csp_intern_free(&spaces->binary_keys);
    csp_intern_free(&spaces->names);
    csp_map_free(&spaces->build_id_of_path);
    csp_vec_free(&spaces->build_ids);
    csp_vec_free(&spaces->changes);
    free(spaces);
}

void csp_spaces_build_ids(struct csp_spaces *spaces, const struct csp_perfdata_info *info)
{
    for (size_t i = 0; i < info->build_id_count; i++) {
        uint32_t path = csp_intern_string(&spaces->names, info->build_ids[i].path);
        csp_vec_push(&spaces->build_ids, info->build_ids[i].build_id);
        *csp_map_at(&spaces->build_id_of_path, path) = spaces->build_ids.len;
    }
}

/* ---- processes and their versions ---- */

static struct process *process_of(struct csp_spaces *spaces, uint32_t pid)
{
    uint64_t *number = csp_map_at(&spaces->process_of_pid, pid);
    if (!*number) {
        csp_vec_push(&spaces->processes, (struct process){.name = CSP_INTERN_NONE});
        *number = spaces->processes.len;
    }
    return &spaces->processes.data[*number - 1];
}

static const struct process *find_process(const struct csp_spaces *spaces, uint32_t pid)
{
    const uint64_t *number = csp_map_find(&spaces->process_of_pid, pid);
    return number ? &spaces->processes.data[*number - 1] : NULL;
}

static uint32_t newest_root(const struct process *process)
{
    return process->versions.len ? process->versions.data[process->versions.len - 1].root : 0;
}

static void add_change(struct csp_spaces *spaces, uint64_t time)
{
    size_t at = spaces->changes.len;
    while (at && spaces->changes.data[at - 1] > time)
        at--;
    if (at && spaces->changes.data[at - 1] == time)
        return;
    csp_vec_push(&spaces->changes, time);
    for (size_t i = spaces->changes.len - 1; i > at; i--)
        spaces->changes.data[i] = spaces->changes.data[i - 1];
    spaces->changes.data[at] = time;
}

/* Records come in time order; one that does not (a clock that went back) counts from the newest. */
static void add_version(struct csp_spaces *spaces, struct process *process, uint64_t time,
                        uint32_t root)
{
    struct version *newest =
        process->versions.len ? &process->versions.data[process->versions.len - 1] : NULL;
    uint32_t number = ++spaces->versions;
    if (newest && time <= newest->time) {
        newest->root = root;
        newest->number = number;
        return;
    }
    csp_vec_push(&process->versions, (struct version){time, root, number});
    add_change(spaces, time);
}

static const struct version *version_at(const struct csp_spaces *spaces, uint32_t pid,
                                        uint64_t time)
{
    const struct process *process = find_process(spaces, pid);
    if (!process || !process->versions.len)
        return NULL;
    const struct version *versions = process->versions.data;
    size_t after = csp_upper_bound(versions, process->versions.len, time, time);
    return &versions[after ? after - 1 : 0];
}

/* ---- binaries ---- */

static uint32_t binary_of(struct csp_spaces *spaces, const struct csp_mmap_event *event)
{
    struct csp_build_id build_id = event->build_id;
    uint32_t path = csp_intern_string(&spaces->names, event->path);
    const uint64_t *known = csp_map_find(&spaces->build_id_of_path, path);
    if (!event->has_build_id)
        build_id = known ? spaces->build_ids.data[*known - 1] : (struct csp_build_id){0};
    struct {
        uint32_t path;
        struct csp_build_id build_id;
    } key;
    memset(&key, 0, sizeof key);
    key.path = path;
    key.build_id.size = build_id.size;
    memcpy(key.build_id.bytes, build_id.bytes, build_id.size);
    uint32_t number = csp_intern(&spaces->binary_keys, &key, sizeof key);
    if (number == spaces->binaries.len)
        csp_vec_push(&spaces->binaries,
                     (struct csp_binary){csp_intern_text(&spaces->names, path), key.build_id});
    return number;
}

/* ---- records ---- */

void csp_spaces_map(struct csp_spaces *spaces, uint64_t time, const struct csp_mmap_event *event,
                    bool kernel)
{
    uint64_t end = event->start + event->length;
    if (event->length && !end)
        end = UINT64_MAX; /* up to the top of the address space */
    if (end <= event->start) {
        spaces->stats.malformed++;
        return;
    }
    struct csp_mapping mapping = {
        .start = event->start,
        .end = end,
        .page_offset = event->page_offset,
        .since = time,
        .binary = binary_of(spaces, event),
        .protection = event->protection,
        .flags = event->flags,
        .kernel = kernel,
    };
    struct process *process = process_of(spaces, kernel ? CSP_NO_TID : event->pid);
    bool replaced;
    if (process->versions.len && time > process->versions.data[process->versions.len - 1].time)
        csp_space_tree_freeze(&spaces->tree);
    uint32_t root = csp_space_tree_map(&spaces->tree, newest_root(process), &mapping, &replaced);
    spaces->stats.mappings++;
    spaces->stats.replaced += replaced;
    add_version(spaces, process, time, root);
}

static void add_mapping(struct csp_spaces *spaces, const struct csp_record *record)
{
    struct csp_mmap_event event;
    uint16_t mode = record->misc & CSP_MISC_CPUMODE_MASK;
    if (!csp_record_mmap(record, &event)) {
        spaces->stats.malformed++;
        return;
    }
    if (mode == CSP_MISC_CPUMODE_GUEST_KERNEL || mode == CSP_MISC_CPUMODE_GUEST_USER) {
        spaces->stats.guest++;
        return;
    }
    csp_spaces_map(spaces, record->time, &event,
                   mode == CSP_MISC_CPUMODE_KERNEL || event.pid == CSP_NO_TID);
}

static void add_comm(struct csp_spaces *spaces, const struct csp_record *record)
{
    struct csp_comm_event event;
    if (!csp_record_comm(record, &event)) {
        spaces->stats.malformed++;
        return;
    }
    if (event.pid != event.tid)
        return;
    struct process *process = process_of(spaces, event.pid);
    process->name = csp_intern_string(&spaces->names, event.name);
    if (event.exec) {
        spaces->stats.execs++;
        add_version(spaces, process, record->time, 0);
    }
}

/* A new process starts with its parent's mappings; a new thread shares those of its process. */
static void add_fork(struct csp_spaces *spaces, const struct csp_record *record)
{
    struct csp_task_event event;
    if (!csp_record_task(record, &event)) {
        spaces->stats.malformed++;
        return;
    }
    if (event.pid == event.parent_pid)
        return;
    const struct process *parent = find_process(spaces, event.parent_pid);
    uint32_t root = parent ? newest_root(parent) : 0;
    uint32_t name = parent ? parent->name : CSP_INTERN_NONE;
    struct process *child = process_of(spaces, event.pid);
    /* perf synthesizes a FORK for each task that runs already, and then its mappings. */
    if (!record->time && !root)
        return;
    spaces->stats.forks++;
    csp_space_tree_freeze(&spaces->tree);
    child->name = name;
    add_version(spaces, child, record->time, root);
}

void csp_spaces_add(struct csp_spaces *spaces, const struct csp_record *record)
{
    switch (record->type) {
    case CSP_RECORD_MMAP:
    case CSP_RECORD_MMAP2:
        add_mapping(spaces, record);
        break;
    case CSP_RECORD_COMM:
        add_comm(spaces, record);
        break;
    case CSP_RECORD_FORK:
        add_fork(spaces, record);
        break;
    case CSP_RECORD_EXIT:
        /* The mappings stay: samples and trace of the last moments may carry a later time, and
         * whoever gets the same pid starts with a FORK. */
        spaces->stats.exits++;
        break;
    default:
        break;
    }
}

/* ---- questions ---- */

const struct csp_mapping *csp_spaces_find(const struct csp_spaces *spaces, uint32_t pid,
                                          uint64_t time, uint64_t address)
{
    const struct version *version = version_at(spaces, pid, time);
    const struct csp_mapping *mapping =
        version ? csp_space_tree_find(&spaces->tree, version->root, address) : NULL;
    /* Kernels live in the upper half; where addresses were withheld (kptr_restrict) perf writes a
     * kernel mapping from 0 on, which must not hide that a user address is not mapped. */
    if (mapping || pid == CSP_NO_TID || !(address >> 63))
        return mapping;
    version = version_at(spaces, CSP_NO_TID, time);
    return version ? csp_space_tree_find(&spaces->tree, version->root, address) : NULL;
}

const struct csp_mapping *csp_spaces_find_since(const struct csp_spaces *spaces, uint32_t pid,
                                                uint64_t from, uint64_t to, uint64_t address)
{
    const struct csp_mapping *mapping = csp_spaces_find(spaces, pid, to, address);
    const struct version *version = version_at(spaces, pid, to),
                         *first = version_at(spaces, pid, from);
    while (!mapping && version > first)
        mapping = csp_space_tree_find(&spaces->tree, (--version)->root, address);
    return mapping;
}

void csp_spaces_each(const struct csp_spaces *spaces, uint32_t pid, uint64_t time,
                     void (*visit)(void *user, const struct csp_mapping *mapping), void *user)
{
    const struct version *version = version_at(spaces, pid, time);
    if (version)
        csp_space_tree_each(&spaces->tree, version->root, visit, user);
}

uint32_t csp_spaces_version(const struct csp_spaces *spaces, uint32_t pid, uint64_t time)
{
    const struct version *version = version_at(spaces, pid, time);
    return version ? version->number : 0;
}

void csp_spaces_unchanged(const struct csp_spaces *spaces, uint64_t time, uint64_t *from,
                          uint64_t *to)
{
    size_t low = 0, high = spaces->changes.len; /* the first change after `time` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spaces->changes.data[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    *from = low ? spaces->changes.data[low - 1] : 0;
    *to = low < spaces->changes.len ? spaces->changes.data[low] - 1 : UINT64_MAX;
}

size_t csp_spaces_binary_count(const struct csp_spaces *spaces)
{
    return spaces->binaries.len;
}

const struct csp_binary *csp_spaces_binary(const struct csp_spaces *spaces, uint32_t number)
{
    return &spaces->binaries.data[number];
}

const char *csp_spaces_comm(const struct csp_spaces *spaces, uint32_t pid)
{
    const struct process *process = find_process(spaces, pid);
    if (!process || process->name == CSP_INTERN_NONE)
        return NULL;
    return csp_intern_text(&spaces->names, process->name);
}

struct csp_spaces_stats csp_spaces_stats(const struct csp_spaces *spaces)
{
    return spaces->stats;
}
