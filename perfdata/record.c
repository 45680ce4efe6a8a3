#include "perfdata/record.h"

#include "base/bytes.h"

#include <string.h>
#include <sys/mman.h>

const char *csp_record_type_name(uint32_t type)
{
    static const char *const names[CSP_RECORD_TYPES] = {
        [CSP_RECORD_MMAP] = "MMAP",
        [CSP_RECORD_LOST] = "LOST",
        [CSP_RECORD_COMM] = "COMM",
        [CSP_RECORD_EXIT] = "EXIT",
        [CSP_RECORD_THROTTLE] = "THROTTLE",
        [CSP_RECORD_UNTHROTTLE] = "UNTHROTTLE",
        [CSP_RECORD_FORK] = "FORK",
        [CSP_RECORD_READ] = "READ",
        [CSP_RECORD_SAMPLE] = "SAMPLE",
        [CSP_RECORD_MMAP2] = "MMAP2",
        [CSP_RECORD_AUX] = "AUX",
        [CSP_RECORD_ITRACE_START] = "ITRACE_START",
        [CSP_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
        [CSP_RECORD_SWITCH] = "SWITCH",
        [CSP_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
        [CSP_RECORD_NAMESPACES] = "NAMESPACES",
        [CSP_RECORD_KSYMBOL] = "KSYMBOL",
        [CSP_RECORD_BPF_EVENT] = "BPF_EVENT",
        [CSP_RECORD_CGROUP] = "CGROUP",
        [CSP_RECORD_TEXT_POKE] = "TEXT_POKE",
        [CSP_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
        [CSP_RECORD_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
        [CSP_RECORD_HEADER_ATTR] = "ATTR",
        [CSP_RECORD_HEADER_EVENT_TYPE] = "EVENT_TYPE",
        [CSP_RECORD_HEADER_TRACING_DATA] = "TRACING_DATA",
        [CSP_RECORD_HEADER_BUILD_ID] = "BUILD_ID",
        [CSP_RECORD_FINISHED_ROUND] = "FINISHED_ROUND",
        [CSP_RECORD_ID_INDEX] = "ID_INDEX",
        [CSP_RECORD_AUXTRACE_INFO] = "AUXTRACE_INFO",
        [CSP_RECORD_AUXTRACE] = "AUXTRACE",
        [CSP_RECORD_AUXTRACE_ERROR] = "AUXTRACE_ERROR",
        [CSP_RECORD_THREAD_MAP] = "THREAD_MAP",
        [CSP_RECORD_CPU_MAP] = "CPU_MAP",
        [CSP_RECORD_STAT_CONFIG] = "STAT_CONFIG",
        [CSP_RECORD_STAT] = "STAT",
        [CSP_RECORD_STAT_ROUND] = "STAT_ROUND",
        [CSP_RECORD_EVENT_UPDATE] = "EVENT_UPDATE",
        [CSP_RECORD_TIME_CONV] = "TIME_CONV",
        [CSP_RECORD_HEADER_FEATURE] = "FEATURE",
        [CSP_RECORD_COMPRESSED] = "COMPRESSED",
        [CSP_RECORD_FINISHED_INIT] = "FINISHED_INIT",
        [CSP_RECORD_COMPRESSED2] = "COMPRESSED2",
    };
    return type < CSP_RECORD_TYPES ? names[type] : NULL;
}

static struct csp_cursor body_of(const struct csp_record *record)
{
    return csp_cursor(record->body, record->body_size);
}

/* The NUL-terminated text at the cursor, or null. */
static const char *take_text(struct csp_cursor *at)
{
    size_t left = csp_cursor_left(at);
    if (at->overrun || !left || !memchr(at->at, 0, left))
        return NULL;
    return (const char *)at->at;
}

static void take_inode(struct csp_cursor *at, struct csp_mmap_event *event)
{
    event->major = csp_cursor_u32(at);
    event->minor = csp_cursor_u32(at);
    event->inode = csp_cursor_u64(at);
    event->inode_generation = csp_cursor_u64(at);
}

/* In place of the inode: u8 size, three reserved, 20 bytes. */
static void take_build_id(struct csp_cursor *at, struct csp_mmap_event *event)
{
    const uint8_t *bytes = csp_cursor_take(at, 24);
    if (!bytes)
        return;
    event->has_build_id = true;
    event->build_id.size = bytes[0] < 20 ? bytes[0] : 20;
    memcpy(event->build_id.bytes, bytes + 4, event->build_id.size);
}

bool csp_record_mmap(const struct csp_record *record, struct csp_mmap_event *event)
{
    bool second = record->type == CSP_RECORD_MMAP2;
    if (!second && record->type != CSP_RECORD_MMAP)
        return false;
    struct csp_cursor at = body_of(record);
    *event = (struct csp_mmap_event){.pid = csp_cursor_u32(&at)};
    event->tid = csp_cursor_u32(&at);
    event->start = csp_cursor_u64(&at);
    event->length = csp_cursor_u64(&at);
    event->page_offset = csp_cursor_u64(&at);
    event->protection = record->misc & CSP_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
    event->flags = MAP_PRIVATE;
    if (second) {
        if (record->misc & CSP_MISC_MMAP_BUILD_ID)
            take_build_id(&at, event);
        else
            take_inode(&at, event);
        event->protection = csp_cursor_u32(&at);
        event->flags = csp_cursor_u32(&at);
    }
    event->path = take_text(&at);
    return event->path != NULL;
}

bool csp_record_comm(const struct csp_record *record, struct csp_comm_event *event)
{
    struct csp_cursor at = body_of(record);
    event->pid = csp_cursor_u32(&at);
    event->tid = csp_cursor_u32(&at);
    event->name = take_text(&at);
    event->exec = record->misc & CSP_MISC_COMM_EXEC;
    return record->type == CSP_RECORD_COMM && event->name;
}

bool csp_record_task(const struct csp_record *record, struct csp_task_event *event)
{
    struct csp_cursor at = body_of(record);
    event->pid = csp_cursor_u32(&at);
    event->parent_pid = csp_cursor_u32(&at);
    event->tid = csp_cursor_u32(&at);
    event->parent_tid = csp_cursor_u32(&at);
    event->time = csp_cursor_u64(&at);
    return (record->type == CSP_RECORD_FORK || record->type == CSP_RECORD_EXIT) && !at.overrun;
}

bool csp_record_aux(const struct csp_record *record, struct csp_aux_event *event)
{
    if (record->type != CSP_RECORD_AUX || record->body_size < 24)
        return false;
    *event = (struct csp_aux_event){.aux_offset = csp_load64(record->body),
                                    .aux_size = csp_load64(record->body + 8),
                                    .flags = csp_load64(record->body + 16)};
    return true;
}

bool csp_record_auxtrace(const struct csp_record *record, struct csp_auxtrace_event *event)
{
    struct csp_cursor at = body_of(record);
    event->size = csp_cursor_u64(&at);
    event->aux_offset = csp_cursor_u64(&at);
    event->reference = csp_cursor_u64(&at);
    event->idx = csp_cursor_u32(&at);
    event->tid = csp_cursor_u32(&at);
    event->cpu = csp_cursor_u32(&at);
    return record->type == CSP_RECORD_AUXTRACE && !at.overrun;
}

bool csp_record_hw_id(const struct csp_record *record, struct csp_hw_id_event *event)
{
    struct csp_cursor at = body_of(record);
    uint64_t raw = csp_cursor_u64(&at);
    *event = (struct csp_hw_id_event){
        .raw = raw,
        .major = (uint8_t)(raw >> 60),
        .minor = raw >> 56 & 15,
        .trace_id = (uint8_t)raw,
    };
    if (event->minor >= 1)
        event->sink_id = (uint32_t)(raw >> 8);
    return record->type == CSP_RECORD_AUX_OUTPUT_HW_ID && !at.overrun;
}

bool csp_record_itrace_start(const struct csp_record *record, struct csp_itrace_start_event *event)
{
    struct csp_cursor at = body_of(record);
    event->pid = csp_cursor_u32(&at);
    event->tid = csp_cursor_u32(&at);
    return record->type == CSP_RECORD_ITRACE_START && !at.overrun;
}

bool csp_record_time_conv(const struct csp_record *record, struct csp_time_conv_event *event)
{
    struct csp_cursor at = body_of(record);
    *event = (struct csp_time_conv_event){.time_shift = csp_cursor_u64(&at)};
    event->time_mult = csp_cursor_u64(&at);
    event->time_zero = csp_cursor_u64(&at);
    if (record->type != CSP_RECORD_TIME_CONV || at.overrun || event->time_shift > 63)
        return false;
    if (csp_cursor_left(&at) < 18) { /* before Linux 5.9 the record ended here */
        event->cap_user_time_zero = true;
        return true;
    }
    event->time_cycles = csp_cursor_u64(&at);
    event->time_mask = csp_cursor_u64(&at);
    event->cap_user_time_zero = csp_cursor_u8(&at);
    event->cap_user_time_short = csp_cursor_u8(&at);
    return true;
}

uint64_t csp_time_conv_ns(const struct csp_time_conv_event *conv, uint64_t cycles)
{
    if (conv->cap_user_time_short)
        cycles = conv->time_cycles + ((cycles - conv->time_cycles) & conv->time_mask);
    uint64_t quotient = cycles >> conv->time_shift;
    uint64_t remainder = cycles & ((UINT64_C(1) << conv->time_shift) - 1);
    return conv->time_zero + quotient * conv->time_mult +
           (remainder * conv->time_mult >> conv->time_shift);
}

bool csp_record_switch(const struct csp_record *record, struct csp_switch_event *event)
{
    *event = (struct csp_switch_event){
        .out = record->misc & CSP_MISC_SWITCH_OUT,
        .preempt = record->misc & CSP_MISC_SWITCH_PREEMPT,
        .other_pid = CSP_NO_TID,
        .other_tid = CSP_NO_TID,
    };
    if (record->type == CSP_RECORD_SWITCH)
        return true;
    struct csp_cursor at = body_of(record);
    event->other_pid = csp_cursor_u32(&at);
    event->other_tid = csp_cursor_u32(&at);
    return record->type == CSP_RECORD_SWITCH_CPU_WIDE && !at.overrun;
}

bool csp_record_lost(const struct csp_record *record, struct csp_lost_event *event)
{
    struct csp_cursor at = body_of(record);
    event->id = record->type == CSP_RECORD_LOST ? csp_cursor_u64(&at) : 0;
    event->lost = csp_cursor_u64(&at);
    return (record->type == CSP_RECORD_LOST || record->type == CSP_RECORD_LOST_SAMPLES) &&
           !at.overrun;
}

bool csp_record_throttle(const struct csp_record *record, struct csp_throttle_event *event)
{
    struct csp_cursor at = body_of(record);
    event->time = csp_cursor_u64(&at);
    event->id = csp_cursor_u64(&at);
    event->stream_id = csp_cursor_u64(&at);
    return (record->type == CSP_RECORD_THROTTLE || record->type == CSP_RECORD_UNTHROTTLE) &&
           !at.overrun;
}

bool csp_record_ksymbol(const struct csp_record *record, struct csp_ksymbol_event *event)
{
    struct csp_cursor at = body_of(record);
    event->address = csp_cursor_u64(&at);
    event->length = csp_cursor_u32(&at);
    event->type = csp_cursor_u16(&at);
    event->flags = csp_cursor_u16(&at);
    event->name = take_text(&at);
    return record->type == CSP_RECORD_KSYMBOL && event->name;
}

bool csp_record_text_poke(const struct csp_record *record, struct csp_text_poke_event *event)
{
    struct csp_cursor at = body_of(record);
    event->address = csp_cursor_u64(&at);
    event->old_length = csp_cursor_u16(&at);
    event->new_length = csp_cursor_u16(&at);
    event->bytes = csp_cursor_take(&at, (size_t)event->old_length + event->new_length);
    return record->type == CSP_RECORD_TEXT_POKE && event->bytes;
}

bool csp_record_cgroup(const struct csp_record *record, struct csp_cgroup_event *event)
{
    struct csp_cursor at = body_of(record);
    event->id = csp_cursor_u64(&at);
    event->path = take_text(&at);
    return record->type == CSP_RECORD_CGROUP && event->path;
}

bool csp_record_id_index(const struct csp_record *record, size_t index,
                         struct csp_id_index_event *event)
{
    struct csp_cursor at = body_of(record);
    uint64_t count = csp_cursor_u64(&at);
    if (record->type != CSP_RECORD_ID_INDEX || index >= count || index > SIZE_MAX / 32 - 1 ||
        !csp_cursor_take(&at, 32 * index))
        return false;
    event->id = csp_cursor_u64(&at);
    event->idx = (uint32_t)csp_cursor_u64(&at);
    event->cpu = (uint32_t)csp_cursor_u64(&at);
    event->tid = (uint32_t)csp_cursor_u64(&at);
    return !at.overrun;
}
