/* Plays the CPUs: each takes the script's entries when their time has come. */
#include "perf_kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const struct pk_script_header *script;
static const struct pk_entry **entries;
static unsigned throttle;

static bool read_script(const char *path)
{
    struct stat stat;
    int fd = path ? open(path, O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &stat) != 0)
        return false;
    script = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (script == MAP_FAILED || script->magic != PK_MAGIC)
        return false;
    entries = calloc(script->count + 1, sizeof *entries);
    const uint8_t *at = (const uint8_t *)(script + 1);
    for (uint64_t i = 0; i < script->count; i++) {
        entries[i] = (const void *)at;
        at += sizeof **entries + ((entries[i]->size + 7) & ~7U);
    }
    return true;
}

/* A record that is put together field by field. */
struct builder {
    _Alignas(8) uint8_t bytes[65536];
    size_t size;
};

static void add(struct builder *out, const void *field, size_t size)
{
    memcpy(out->bytes + out->size, field, size);
    out->size += size;
}

static void add_u64(struct builder *out, uint64_t value)
{
    add(out, &value, sizeof value);
}

static void add_pair(struct builder *out, uint32_t first, uint32_t second)
{
    add(out, &first, sizeof first);
    add(out, &second, sizeof second);
}

static void finish(struct builder *out, uint32_t type, uint16_t misc)
{
    struct perf_event_header header = {type, misc, (uint16_t)out->size};
    memcpy(out->bytes, &header, sizeof header);
}

/* __perf_event__output_id_sample */
static void add_id(struct builder *out, const struct pk_event *event, uint32_t pid, uint32_t tid,
                   uint64_t time)
{
    if (event->sample_type & PERF_SAMPLE_TID)
        add_pair(out, pid, tid);
    if (event->sample_type & PERF_SAMPLE_TIME)
        add_u64(out, time);
    if (event->sample_type & PERF_SAMPLE_CPU)
        add_pair(out, (uint32_t)event->cpu, 0);
    if (event->sample_type & PERF_SAMPLE_IDENTIFIER)
        add_u64(out, event->id);
}

/* perf_output_sample and perf_sample_regs_user (arm64: LR, SP, PC, in the mask's order) */
static bool put_sample(const struct pk_event *event, const struct pk_sample *sample, uint64_t time)
{
    static struct builder out;
    const uint64_t *chain = (const uint64_t *)(sample + 1);
    out.size = sizeof(struct perf_event_header);
    if (event->sample_type & PERF_SAMPLE_IDENTIFIER)
        add_u64(&out, event->id);
    if (event->sample_type & PERF_SAMPLE_IP)
        add_u64(&out, sample->ip);
    if (event->sample_type & PERF_SAMPLE_TID)
        add_pair(&out, sample->pid, sample->tid);
    if (event->sample_type & PERF_SAMPLE_TIME)
        add_u64(&out, time);
    if (event->sample_type & PERF_SAMPLE_CPU)
        add_pair(&out, (uint32_t)event->cpu, 0);
    if (event->sample_type & PERF_SAMPLE_PERIOD)
        add_u64(&out, event->period);
    if (event->sample_type & PERF_SAMPLE_CALLCHAIN) {
        add_u64(&out, sample->chain_len);
        add(&out, chain, sample->chain_len * 8);
    }
    if (event->sample_type & PERF_SAMPLE_REGS_USER) {
        add_u64(&out, 2 /* PERF_SAMPLE_REGS_ABI_64 */);
        const uint64_t registers[3] = {sample->lr, sample->sp, sample->pc};
        for (int bit = 30; bit <= 32; bit++)
            if (event->regs_user >> bit & 1)
                add_u64(&out, registers[bit - 30]);
    }
    if (event->sample_type & PERF_SAMPLE_AUX) {
        add_u64(&out, event->aux_sample_size);
        pk_aux_snapshot(&pk->cpus[event->cpu], out.bytes + out.size, event->aux_sample_size);
        out.size += event->aux_sample_size;
    }
    finish(&out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    bool written = pk_output(event->ring, event, out.bytes, out.size);
    pk->totals.samples += written;
    pk->totals.samples_lost += !written;
    return written;
}

static void put_record(const struct pk_event *tracker, const struct pk_record *record, size_t size,
                       uint64_t time)
{
    static struct builder out;
    out.size = sizeof(struct perf_event_header);
    add(&out, record + 1, size - sizeof *record);
    add_id(&out, tracker, record->pid, record->tid, time);
    finish(&out, record->type, record->misc);
    pk_output(tracker->ring, tracker, out.bytes, out.size);
}

/* perf_report_aux_output_id; CS_AUX_HW_ID_*: version 0.1, the sink's own map of trace IDs */
static void tell_hw_id(struct pk_cpu *cpu, uint64_t time)
{
    static struct builder out;
    const struct pk_event *trace = cpu->events[PK_TRACE];
    out.size = sizeof(struct perf_event_header);
    add_u64(&out, UINT64_C(1) << 56 | (uint64_t)(trace->cpu + 1) << 8 | 0x10);
    add_id(&out, trace, 0, 0, time);
    finish(&out, 21 /* PERF_RECORD_AUX_OUTPUT_HW_ID */, 0);
    pk_output(trace->ring, trace, out.bytes, out.size);
    cpu->hw_id_told = true;
}

/* perf_log_throttle: the group stops until the next tick (perf_event_throttle_group). */
static void put_throttle(const struct pk_event *event, uint64_t time, bool begins)
{
    static struct builder out;
    out.size = sizeof(struct perf_event_header);
    add_u64(&out, time);
    add_u64(&out, event->id);
    add_u64(&out, event->id);
    add_id(&out, event, 0, 0, time);
    finish(&out, begins ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0);
    pk_output(event->ring, event, out.bytes, out.size);
}

static void play_sample(struct pk_cpu *cpu, const struct pk_entry *entry)
{
    const struct pk_sample *sample = (const void *)(entry + 1);
    if (entry->kind == PK_SAMPLE_RESUME && !cpu->events[PK_RESUME])
        return;
    if (entry->kind == PK_SAMPLE_RESUME) {
        put_sample(cpu->events[PK_RESUME], sample, entry->time);
        return;
    }
    pk->totals.windows++;
    if (throttle && ++cpu->windows % throttle == 0) {
        put_throttle(cpu->events[PK_PAUSE], entry->time, true);
        put_throttle(cpu->events[PK_PAUSE], entry->time + 1, false);
        pk->totals.throttled++;
        return;
    }
    put_sample(cpu->events[PK_PAUSE], sample, entry->time);
}

static void play_entry(struct pk_cpu *cpu, const struct pk_entry *entry)
{
    switch ((enum pk_kind)entry->kind) {
    case PK_RECORD:
        if (cpu->events[PK_TRACKER])
            put_record(cpu->events[PK_TRACKER], (const void *)(entry + 1), entry->size,
                       entry->time);
        break;
    case PK_SAMPLE_RESUME:
    case PK_SAMPLE_PAUSE:
        play_sample(cpu, entry);
        break;
    case PK_BYTES:
        if (!cpu->tracing && atomic_load(&cpu->events[PK_TRACE]->enabled))
            pk_aux_begin(cpu);
        pk_aux_write(cpu, (const uint8_t *)(entry + 1), entry->size, entry->time);
        break;
    }
}

/* A CPU whose trace event was disabled counts no cycles either: the group's members follow. */
static void play_cpu(struct pk_cpu *cpu, uint64_t until)
{
    struct pk_event *trace = cpu->events[PK_TRACE];
    if (!trace || !trace->ring)
        return;
    if (!cpu->hw_id_told && atomic_load(&trace->enabled))
        tell_hw_id(cpu, script->first_time);
    for (; cpu->next < script->count; cpu->next++) {
        const struct pk_entry *entry = entries[cpu->next];
        if (entry->time > until)
            return;
        const struct pk_event *resume = cpu->events[PK_RESUME];
        bool opens = !resume || resume->period < PK_GUARD;
        if (entry->kind == PK_RECORD || (opens && atomic_load(&trace->enabled)))
            play_entry(cpu, entry);
        else
            pk->totals.windows_off += entry->kind == PK_SAMPLE_PAUSE;
    }
}

static void stop_all(uint64_t time)
{
    for (int i = 0; i < PK_CPUS; i++)
        if (pk->cpus[i].tracing)
            pk_aux_end(&pk->cpus[i], time);
}

static void write_ledger(void)
{
    const struct pk_totals *totals = &pk->totals;
    const char *path = getenv("PERF_KERNEL_LEDGER");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file,
            "windows %llu\nwindows_off %llu\nrecords_lost %llu\nsamples %llu\nsamples_lost "
            "%llu\nthrottled %llu\ntrace %llu\n"
            "trace_lost %llu\naux_records %llu\ntimes_disabled %llu\n"
            "staggered %llu\nleast_phase %llu\nset_elsewhere %llu\n",
            (unsigned long long)totals->windows, (unsigned long long)totals->windows_off,
            (unsigned long long)totals->records_lost, (unsigned long long)totals->samples,
            (unsigned long long)totals->samples_lost, (unsigned long long)totals->throttled,
            (unsigned long long)totals->trace, (unsigned long long)totals->trace_lost,
            (unsigned long long)totals->aux_records, (unsigned long long)totals->times_disabled,
            (unsigned long long)totals->staggered, (unsigned long long)totals->least_phase,
            (unsigned long long)totals->set_elsewhere);
    fclose(file);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void pk_play(const char *path)
{
    const char *rate = getenv("PERF_KERNEL_RATE"), *every = getenv("PERF_KERNEL_THROTTLE");
    pid_t parent = getppid();
    if (!read_script(path)) {
        fprintf(stderr, "perf_kernel: cannot read the script\n");
        return;
    }
    throttle = every ? (unsigned)atoi(every) : 0;
    int cpus = 0;
    for (int i = 0; i < PK_CPUS; i++)
        cpus += pk->cpus[i].events[PK_TRACE] != NULL;
    /* So many nanoseconds of the script pass in one second. */
    double speed = (double)(script->last_time - script->first_time) / (double)script->windows *
                   (rate ? atof(rate) : 20000) / cpus;
    double before = seconds(), passed = 0;
    while (getppid() == parent) {
        double now = seconds();
        int asked = atomic_load(&pk->stop_asked);
        passed += atomic_load(&pk->standing) ? 0 : now - before;
        before = now;
        uint64_t time = script->first_time + (uint64_t)(passed * speed);
        if (asked != atomic_load(&pk->stopped)) {
            stop_all(time);
            write_ledger();
            atomic_store(&pk->stopped, asked);
        }
        for (int i = 0; i < PK_CPUS && !atomic_load(&pk->standing); i++)
            play_cpu(&pk->cpus[i], time);
        usleep(500);
    }
}
