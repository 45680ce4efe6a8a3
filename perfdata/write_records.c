/* One function for each kind of record: layouts as in record.h. */
#include "base/bytes.h"
#include "perfdata/sample_record.h"
#include "perfdata/writer_private.h"

#include <string.h>

enum { RECORD_HEADER = 8, RECORD_MAX = 65528, TEXT_MAX = 4096, PACK_SIZE = 256 * 1024 };

/* Records are put together where they are written or compressed from. */
struct draft {
    struct csp_writer *writer;
    struct csp_buf *out;
    size_t begin;
};

static struct draft begin_in(struct csp_buf *out, struct csp_writer *writer, uint32_t type,
                             uint16_t misc)
{
    struct draft draft = {writer, out, out->len};
    csp_buf_add_u32(draft.out, type);
    csp_buf_add_u16(draft.out, misc);
    csp_buf_add_u16(draft.out, 0);
    return draft;
}

static struct draft begin(struct csp_writer *writer, uint32_t type, uint16_t misc)
{
    return begin_in(csp_writer_out(writer, type), writer, type, misc);
}

static void pad(const struct draft *draft)
{
    while ((draft->out->len - draft->begin) % 8)
        csp_buf_add_u8(draft->out, 0);
}

/* A text with its NUL; longer ones than any path are cut. */
static void add_text(const struct draft *draft, const char *text)
{
    csp_buf_add(draft->out, text, strnlen(text, TEXT_MAX));
    csp_buf_add_u8(draft->out, 0);
    pad(draft);
}

/* Behind whole records. */
static void hand_on(struct csp_writer *writer, const struct csp_buf *out)
{
    if (out == &writer->buffer)
        csp_writer_settle(writer);
    else if (out->len >= PACK_SIZE)
        csp_writer_pack(writer);
}

/* Completes the record; false, and it is gone, when it is too long. */
static bool end(const struct draft *draft, const char *what)
{
    size_t size = draft->out->len - draft->begin;
    if (size > RECORD_MAX) {
        draft->out->len = draft->begin;
        if (what && !draft->writer->oversized)
            draft->writer->oversized = what;
        return false;
    }
    uint16_t short_size = (uint16_t)size;
    memcpy(draft->out->data + draft->begin + 6, &short_size, 2);
    hand_on(draft->writer, draft->out);
    return true;
}

static uint64_t sample_type(const struct draft *draft, const struct csp_writer_id *id)
{
    return draft->writer->attrs.data[id->attr].sample_type;
}

/* struct sample_id, linux/perf_event.h. */
static void end_with_id(const struct draft *draft, const struct csp_writer_id *id)
{
    uint64_t type = sample_type(draft, id);
    pad(draft);
    if (type & CSP_SAMPLE_TID) {
        csp_buf_add_u32(draft->out, id->pid);
        csp_buf_add_u32(draft->out, id->tid);
    }
    if (type & CSP_SAMPLE_TIME)
        csp_buf_add_u64(draft->out, id->time);
    if (type & CSP_SAMPLE_ID)
        csp_buf_add_u64(draft->out, id->id);
    if (type & CSP_SAMPLE_STREAM_ID)
        csp_buf_add_u64(draft->out, id->stream_id);
    if (type & CSP_SAMPLE_CPU) {
        csp_buf_add_u32(draft->out, id->cpu);
        csp_buf_add_u32(draft->out, 0);
    }
    if (type & CSP_SAMPLE_IDENTIFIER)
        csp_buf_add_u64(draft->out, id->id);
    end(draft, "a record");
}

static void add_map(const struct draft *draft, const struct csp_mmap_event *event)
{
    csp_buf_add_u32(draft->out, event->pid);
    csp_buf_add_u32(draft->out, event->tid);
    csp_buf_add_u64(draft->out, event->start);
    csp_buf_add_u64(draft->out, event->length);
    csp_buf_add_u64(draft->out, event->page_offset);
}

void csp_write_mmap(struct csp_writer *writer, const struct csp_writer_id *id, uint16_t cpumode,
                    const struct csp_mmap_event *event)
{
    uint16_t data = event->protection & 4 ? 0 : CSP_MISC_MMAP_DATA; /* PROT_EXEC */
    struct draft draft = begin(writer, CSP_RECORD_MMAP, cpumode | data);
    add_map(&draft, event);
    add_text(&draft, event->path);
    end_with_id(&draft, id);
}

void csp_write_mmap2(struct csp_writer *writer, const struct csp_writer_id *id, uint16_t cpumode,
                     const struct csp_mmap_event *event)
{
    uint16_t form = event->has_build_id ? CSP_MISC_MMAP_BUILD_ID : 0;
    struct draft draft = begin(writer, CSP_RECORD_MMAP2, cpumode | form);
    add_map(&draft, event);
    if (event->has_build_id) {
        uint8_t bytes[24] = {event->build_id.size};
        memcpy(bytes + 4, event->build_id.bytes, event->build_id.size);
        csp_buf_add(draft.out, bytes, sizeof bytes);
    } else {
        csp_buf_add_u32(draft.out, event->major);
        csp_buf_add_u32(draft.out, event->minor);
        csp_buf_add_u64(draft.out, event->inode);
        csp_buf_add_u64(draft.out, event->inode_generation);
    }
    csp_buf_add_u32(draft.out, event->protection);
    csp_buf_add_u32(draft.out, event->flags);
    add_text(&draft, event->path);
    end_with_id(&draft, id);
}

void csp_write_comm(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_comm_event *event)
{
    struct draft draft = begin(writer, CSP_RECORD_COMM, event->exec ? CSP_MISC_COMM_EXEC : 0);
    csp_buf_add_u32(draft.out, event->pid);
    csp_buf_add_u32(draft.out, event->tid);
    add_text(&draft, event->name);
    end_with_id(&draft, id);
}

static void write_task(struct csp_writer *writer, const struct csp_writer_id *id, uint32_t type,
                       const struct csp_task_event *event)
{
    struct draft draft = begin(writer, type, 0);
    csp_buf_add_u32(draft.out, event->pid);
    csp_buf_add_u32(draft.out, event->parent_pid);
    csp_buf_add_u32(draft.out, event->tid);
    csp_buf_add_u32(draft.out, event->parent_tid);
    csp_buf_add_u64(draft.out, event->time);
    end_with_id(&draft, id);
}

void csp_write_fork(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_task_event *event)
{
    write_task(writer, id, CSP_RECORD_FORK, event);
}

void csp_write_exit(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_task_event *event)
{
    write_task(writer, id, CSP_RECORD_EXIT, event);
}

void csp_write_itrace_start(struct csp_writer *writer, const struct csp_writer_id *id,
                            const struct csp_itrace_start_event *event)
{
    struct draft draft = begin(writer, CSP_RECORD_ITRACE_START, 0);
    csp_buf_add_u32(draft.out, event->pid);
    csp_buf_add_u32(draft.out, event->tid);
    end_with_id(&draft, id);
}

void csp_write_aux(struct csp_writer *writer, const struct csp_writer_id *id,
                   const struct csp_aux_event *event)
{
    struct draft draft = begin(writer, CSP_RECORD_AUX, 0);
    csp_buf_add_u64(draft.out, event->aux_offset);
    csp_buf_add_u64(draft.out, event->aux_size);
    csp_buf_add_u64(draft.out, event->flags);
    end_with_id(&draft, id);
}

void csp_write_hw_id(struct csp_writer *writer, const struct csp_writer_id *id,
                     const struct csp_hw_id_event *event)
{
    struct draft draft = begin(writer, CSP_RECORD_AUX_OUTPUT_HW_ID, 0);
    uint64_t raw =
        (uint64_t)event->major << 60 | (uint64_t)(event->minor & 15) << 56 | event->trace_id;
    if (event->minor)
        raw |= (uint64_t)event->sink_id << 8;
    csp_buf_add_u64(draft.out, raw);
    end_with_id(&draft, id);
}

void csp_write_switch(struct csp_writer *writer, const struct csp_writer_id *id,
                      const struct csp_switch_event *event)
{
    bool wide = event->other_tid != CSP_NO_TID;
    uint16_t misc = (uint16_t)((event->out ? CSP_MISC_SWITCH_OUT : 0) |
                               (event->preempt ? CSP_MISC_SWITCH_PREEMPT : 0));
    struct draft draft = begin(writer, wide ? CSP_RECORD_SWITCH_CPU_WIDE : CSP_RECORD_SWITCH, misc);
    if (wide) {
        csp_buf_add_u32(draft.out, event->other_pid);
        csp_buf_add_u32(draft.out, event->other_tid);
    }
    end_with_id(&draft, id);
}

void csp_write_lost(struct csp_writer *writer, const struct csp_writer_id *id,
                    const struct csp_lost_event *event)
{
    struct draft draft = begin(writer, CSP_RECORD_LOST, 0);
    csp_buf_add_u64(draft.out, event->id);
    csp_buf_add_u64(draft.out, event->lost);
    end_with_id(&draft, id);
}

void csp_write_lost_samples(struct csp_writer *writer, const struct csp_writer_id *id,
                            uint64_t lost)
{
    struct draft draft = begin(writer, CSP_RECORD_LOST_SAMPLES, 0);
    csp_buf_add_u64(draft.out, lost);
    end_with_id(&draft, id);
}

void csp_write_throttle(struct csp_writer *writer, const struct csp_writer_id *id, bool throttled,
                        const struct csp_throttle_event *event)
{
    struct draft draft = begin(writer, throttled ? CSP_RECORD_THROTTLE : CSP_RECORD_UNTHROTTLE, 0);
    csp_buf_add_u64(draft.out, event->time);
    csp_buf_add_u64(draft.out, event->id);
    csp_buf_add_u64(draft.out, event->stream_id);
    end_with_id(&draft, id);
}

/* ---- perf's own ---- */

static void put_auxtrace_info(struct csp_writer *writer, struct csp_buf *out,
                              const struct csp_cs_etm_info *info)
{
    struct draft draft = begin_in(out, writer, CSP_RECORD_AUXTRACE_INFO, 0);
    csp_buf_add_u32(draft.out, CSP_AUXTRACE_CS_ETM);
    csp_buf_add_u32(draft.out, 0);
    csp_buf_add_u64(draft.out, info->version);
    csp_buf_add_u64(draft.out, (uint64_t)info->pmu_type << 32 | info->cpus.len);
    csp_buf_add_u64(draft.out, info->snapshot);
    for (size_t i = 0; i < info->cpus.len; i++) {
        const struct csp_cs_etm_cpu *cpu = &info->cpus.data[i];
        csp_buf_add_u64(draft.out, cpu->magic);
        csp_buf_add_u64(draft.out, cpu->cpu);
        if (info->version)
            csp_buf_add_u64(draft.out, cpu->param_count);
        for (uint32_t j = 0; j < cpu->param_count; j++)
            csp_buf_add_u64(draft.out, cpu->params[j]);
    }
    end(&draft, "the configuration of so many trace units");
}

void csp_write_auxtrace_info(struct csp_writer *writer, const struct csp_cs_etm_info *info)
{
    csp_writer_pack(writer);
    if (!writer->auxtrace_info_offset)
        writer->auxtrace_info_offset = csp_writer_size(writer);
    put_auxtrace_info(writer, csp_writer_out(writer, CSP_RECORD_AUXTRACE_INFO), info);
}

void csp_writer_update_auxtrace_info(struct csp_writer *writer, const struct csp_cs_etm_info *info)
{
    struct csp_buf record = {0};
    csp_writer_flush(writer);
    put_auxtrace_info(writer, &record, info);
    csp_writer_put_at(writer, writer->auxtrace_info_offset, &record);
    csp_buf_free(&record);
}

void csp_write_auxtrace(struct csp_writer *writer, const struct csp_auxtrace_event *event,
                        const void *bytes)
{
    static const uint8_t zeroes[8];
    csp_writer_pack(writer);
    uint64_t offset = csp_writer_size(writer);
    uint64_t size = (event->size + 7) & ~UINT64_C(7); /* records must stay aligned */
    struct draft draft = begin(writer, CSP_RECORD_AUXTRACE, 0);
    csp_buf_add_u64(draft.out, size);
    csp_buf_add_u64(draft.out, event->aux_offset);
    csp_buf_add_u64(draft.out, event->reference);
    csp_buf_add_u32(draft.out, event->idx);
    csp_buf_add_u32(draft.out, event->tid);
    csp_buf_add_u32(draft.out, event->cpu);
    csp_buf_add_u32(draft.out, 0);
    csp_vec_push(&writer->index,
                 (struct csp_writer_index_entry){offset, draft.out->len - draft.begin});
    end(&draft, NULL);
    csp_writer_put(writer, bytes, event->size);
    csp_writer_put(writer, zeroes, size - event->size);
}

void csp_write_id_index(struct csp_writer *writer, const struct csp_id_index_event *entries,
                        size_t count)
{
    enum { PER_RECORD = (RECORD_MAX - RECORD_HEADER - 8) / 32 };
    for (size_t first = 0; first < count; first += PER_RECORD) {
        size_t here = count - first < PER_RECORD ? count - first : PER_RECORD;
        struct draft draft = begin(writer, CSP_RECORD_ID_INDEX, 0);
        csp_buf_add_u64(draft.out, here);
        for (size_t i = first; i < first + here; i++) {
            csp_buf_add_u64(draft.out, entries[i].id);
            csp_buf_add_u64(draft.out, entries[i].idx);
            csp_buf_add_u64(draft.out, (uint64_t)(int32_t)entries[i].cpu);
            csp_buf_add_u64(draft.out, (uint64_t)(int32_t)entries[i].tid);
        }
        end(&draft, NULL);
    }
}

void csp_write_time_conv(struct csp_writer *writer, const struct csp_time_conv_event *event)
{
    struct draft draft = begin(writer, CSP_RECORD_TIME_CONV, 0);
    csp_buf_add_u64(draft.out, event->time_shift);
    csp_buf_add_u64(draft.out, event->time_mult);
    csp_buf_add_u64(draft.out, event->time_zero);
    csp_buf_add_u64(draft.out, event->time_cycles);
    csp_buf_add_u64(draft.out, event->time_mask);
    csp_buf_add_u8(draft.out, event->cap_user_time_zero);
    csp_buf_add_u8(draft.out, event->cap_user_time_short);
    pad(&draft);
    end(&draft, NULL);
}

void csp_write_finished_round(struct csp_writer *writer)
{
    struct draft draft = begin(writer, CSP_RECORD_FINISHED_ROUND, 0);
    end(&draft, NULL);
}

void csp_write_raw(struct csp_writer *writer, const void *record, size_t size)
{
    struct csp_buf *out = csp_writer_out(writer, csp_load32(record));
    csp_buf_add(out, record, size);
    hand_on(writer, out);
}

/* ---- samples ---- */

static void add_sample_head(const struct draft *draft, uint64_t type,
                            const struct csp_writer_id *id, const struct csp_writer_sample *sample)
{
    struct csp_buf *out = draft->out;
    if (type & CSP_SAMPLE_IDENTIFIER)
        csp_buf_add_u64(out, id->id);
    if (type & CSP_SAMPLE_IP)
        csp_buf_add_u64(out, sample->ip);
    if (type & CSP_SAMPLE_TID) {
        csp_buf_add_u32(out, id->pid);
        csp_buf_add_u32(out, id->tid);
    }
    if (type & CSP_SAMPLE_TIME)
        csp_buf_add_u64(out, id->time);
    if (type & CSP_SAMPLE_ADDR)
        csp_buf_add_u64(out, sample->addr);
    if (type & CSP_SAMPLE_ID)
        csp_buf_add_u64(out, id->id);
    if (type & CSP_SAMPLE_STREAM_ID)
        csp_buf_add_u64(out, id->stream_id);
    if (type & CSP_SAMPLE_CPU)
        csp_buf_add_u64(out, id->cpu);
    if (type & CSP_SAMPLE_PERIOD)
        csp_buf_add_u64(out, sample->period);
}

static void add_branches(const struct draft *draft, const struct csp_attr *attr,
                         const struct csp_writer_sample *sample)
{
    csp_buf_add_u64(draft->out, sample->branch_len);
    if (attr->branch_sample_type & CSP_BRANCH_SAMPLE_HW_INDEX)
        csp_buf_add_u64(draft->out, UINT64_MAX);
    for (uint32_t i = 0; i < sample->branch_len; i++) {
        csp_buf_add_u64(draft->out, sample->branches[i].from);
        csp_buf_add_u64(draft->out, sample->branches[i].to);
        csp_buf_add_u64(draft->out, sample->branches[i].flags);
    }
}

static void add_sample_arrays(const struct draft *draft, const struct csp_attr *attr,
                              const struct csp_writer_sample *sample)
{
    struct csp_buf *out = draft->out;
    uint64_t type = attr->sample_type;
    if (type & CSP_SAMPLE_CALLCHAIN) {
        csp_buf_add_u64(out, sample->callchain_len);
        for (uint32_t i = 0; i < sample->callchain_len; i++)
            csp_buf_add_u64(out, sample->callchain[i]);
    }
    if (type & CSP_SAMPLE_BRANCH_STACK)
        add_branches(draft, attr, sample);
    if (type & CSP_SAMPLE_REGS_USER) {
        unsigned count = (unsigned)__builtin_popcountll(attr->sample_regs_user);
        csp_buf_add_u64(out, sample->regs_user ? 2 : 0); /* PERF_SAMPLE_REGS_ABI_64 or _NONE */
        for (unsigned i = 0; sample->regs_user && i < count; i++)
            csp_buf_add_u64(out, sample->regs_user[i]);
    }
    if (type & CSP_SAMPLE_AUX) {
        csp_buf_add_u64(out, (sample->aux_size + 7) & ~UINT64_C(7));
        csp_buf_add(out, sample->aux, sample->aux_size);
        pad(draft);
    }
}

static void note_time(struct csp_writer *writer, uint64_t time)
{
    if (!writer->any_sample || time < writer->first_time)
        writer->first_time = time;
    if (!writer->any_sample || time > writer->last_time)
        writer->last_time = time;
    writer->any_sample = true;
}

bool csp_write_sample(struct csp_writer *writer, const struct csp_writer_id *id,
                      const struct csp_writer_sample *sample)
{
    enum {
        WRITABLE = CSP_SAMPLE_IDENTIFIER | CSP_SAMPLE_IP | CSP_SAMPLE_TID | CSP_SAMPLE_TIME |
                   CSP_SAMPLE_ADDR | CSP_SAMPLE_ID | CSP_SAMPLE_STREAM_ID | CSP_SAMPLE_CPU |
                   CSP_SAMPLE_PERIOD | CSP_SAMPLE_CALLCHAIN | CSP_SAMPLE_BRANCH_STACK |
                   CSP_SAMPLE_REGS_USER | CSP_SAMPLE_AUX
    };
    const struct csp_attr *attr = &writer->attrs.data[id->attr];
    uint64_t arrays = 8 * (uint64_t)sample->callchain_len + 24 * (uint64_t)sample->branch_len;
    if (attr->sample_type & ~(uint64_t)WRITABLE || arrays > RECORD_MAX ||
        sample->aux_size > RECORD_MAX || attr->branch_sample_type & CSP_BRANCH_SAMPLE_COUNTERS)
        return false;
    struct draft draft = begin(writer, CSP_RECORD_SAMPLE, sample->misc);
    add_sample_head(&draft, attr->sample_type, id, sample);
    add_sample_arrays(&draft, attr, sample);
    if (!end(&draft, NULL))
        return false;
    note_time(writer, id->time);
    return true;
}
