/* The rules of kernel/events/ring_buffer.c (Linux 7.3): when records and trace are lost, and when
 * readers are woken. */
#include "perf_kernel.h"

#include <string.h>
#include <unistd.h>

/* CIRC_SPACE, include/linux/circ_buf.h */
static uint64_t circ_space(uint64_t head, uint64_t tail, uint64_t size)
{
    return (tail - (head + 1)) & (size - 1);
}

static void copy_in(uint8_t *ring, uint64_t ring_size, uint64_t at, const void *bytes, size_t size)
{
    uint64_t offset = at & (ring_size - 1), first = ring_size - offset;
    if (first > size)
        first = size;
    memcpy(ring + offset, bytes, first);
    memcpy(ring, (const uint8_t *)bytes + first, size - first);
}

/* perf_output_wakeup: perf_poll tells it once (kernel/events/core.c). */
void pk_wake(struct pk_ring *ring)
{
    uint64_t one = 1;
    atomic_store(&ring->poll, 1);
    if (write(ring->signal, &one, sizeof one) != sizeof one)
        return; /* it is as high as it can be: whoever polls sees it */
}

static void append(struct pk_ring *ring, const void *record, size_t size)
{
    copy_in(ring->data, ring->data_size, ring->head, record, size);
    ring->head += size;
}

/* __perf_output_begin: no room, no record; the next one that has room says how many were lost. */
bool pk_output(struct pk_ring *ring, const struct pk_event *event, const void *record, size_t size)
{
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
        struct { /* __perf_event__output_id_sample with the tracker's sample_type */
            uint32_t pid, tid;
            uint64_t time;
            uint32_t cpu, zero;
            uint64_t identifier;
        } at;
    } lost = {{PERF_RECORD_LOST, 0, sizeof lost}, ring->lost_id, ring->lost, {0}};
    uint64_t tail = atomic_load((_Atomic uint64_t *)&ring->page->data_tail);
    size_t needed = size + (ring->lost ? sizeof lost : 0);
    if (circ_space(ring->head, tail, ring->data_size) < needed) {
        ring->lost++;
        pk->totals.records_lost++;
        return false;
    }
    if (ring->lost) {
        lost.at.cpu = (uint32_t)ring->cpu;
        lost.at.identifier = event->id;
        append(ring, &lost, sizeof lost);
        ring->lost = 0;
    }
    append(ring, record, size);
    bool wake = ring->head - ring->wakeup > ring->watermark;
    if (wake)
        ring->wakeup += ring->watermark;
    /* perf_output_put_handle */
    atomic_store((_Atomic uint64_t *)&ring->page->data_head, ring->head);
    if (wake)
        pk_wake(ring);
    return true;
}

/* perf_aux_output_begin: without room the event is to be disabled (pending_disable), and stays so
 * until somebody enables it again. */
bool pk_aux_begin(struct pk_cpu *cpu)
{
    struct pk_event *trace = cpu->events[PK_TRACE];
    struct pk_ring *ring = trace->ring;
    uint64_t tail = atomic_load((_Atomic uint64_t *)&ring->page->aux_tail);
    cpu->space = cpu->written = 0;
    if (ring->overwrite)
        cpu->space = ring->aux_size;
    else if (ring->aux_head - tail < ring->aux_size)
        cpu->space = circ_space(ring->aux_head, tail, ring->aux_size);
    cpu->tracing = cpu->space != 0;
    if (cpu->tracing) {
        /* __trbe_normal_offset, drivers/hwtracing/coresight/coresight-trbe.c: the limit is where
         * the reader wants to be woken, if that is nearer than the end of the room. */
        uint64_t wakeup = ring->aux_wakeup + ring->aux_watermark;
        if (!ring->overwrite && wakeup > ring->aux_head && wakeup - ring->aux_head < cpu->space)
            cpu->space = wakeup - ring->aux_head;
        return true;
    }
    atomic_store(&trace->enabled, false);
    atomic_fetch_sub(&pk->running, 1);
    pk->totals.times_disabled++;
    pk_wake(ring);
    return false;
}

/* perf_event_aux_event */
static void tell_of_aux(struct pk_cpu *cpu, uint64_t time)
{
    struct pk_event *trace = cpu->events[PK_TRACE];
    struct {
        struct perf_event_header header;
        uint64_t offset, size, flags;
        uint32_t pid, tid;
        uint64_t time;
        uint32_t cpu, zero;
        uint64_t identifier;
    } record = {{PERF_RECORD_AUX, 0, sizeof record},
                trace->ring->aux_head,
                cpu->written,
                cpu->aux_flags | (trace->ring->overwrite ? PERF_AUX_FLAG_OVERWRITE : 0) |
                    0x100 /* PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW */,
                0,
                0,
                time,
                (uint32_t)trace->cpu,
                0,
                trace->id};
    pk_output(trace->ring, trace, &record, sizeof record);
    pk->totals.aux_records++;
}

/* perf_aux_output_end */
void pk_aux_end(struct pk_cpu *cpu, uint64_t time)
{
    struct pk_ring *ring = cpu->events[PK_TRACE]->ring;
    if (cpu->written || cpu->aux_flags) {
        tell_of_aux(cpu, time);
        ring->aux_head += cpu->written;
    }
    atomic_store((_Atomic uint64_t *)&ring->page->aux_head, ring->aux_head);
    /* rb_need_aux_wakeup */
    if (ring->aux_head - ring->aux_wakeup >= ring->aux_watermark) {
        ring->aux_wakeup = ring->aux_head / ring->aux_watermark * ring->aux_watermark;
        pk_wake(ring);
    }
    cpu->tracing = false;
    cpu->written = 0;
    cpu->aux_flags = 0;
}

/* perf_aux_sample_output by way of a driver's snapshot_aux: the ring's newest bytes. */
void pk_aux_snapshot(struct pk_cpu *cpu, uint8_t *bytes, size_t size)
{
    const struct pk_ring *ring = cpu->events[PK_TRACE]->ring;
    uint64_t at = ring->aux_head + cpu->written - size;
    for (size_t i = 0; i < size; i++)
        bytes[i] = ring->aux[(at + i) & (ring->aux_size - 1)];
}

/* What the trace unit writes. At the limit TRBE's interrupt ends the transaction and begins the
 * next (arm_trbe_irq_handler, trbe_handle_overflow); bytes that find no room are gone. */
void pk_aux_write(struct pk_cpu *cpu, const uint8_t *bytes, size_t size, uint64_t time)
{
    struct pk_ring *ring = cpu->events[PK_TRACE]->ring;
    while (size && cpu->tracing) {
        uint64_t room = cpu->space - cpu->written, part = size < room ? size : room;
        copy_in(ring->aux, ring->aux_size, ring->aux_head + cpu->written, bytes, part);
        cpu->written += part;
        pk->totals.trace += part;
        bytes += part;
        size -= part;
        if (cpu->written < cpu->space)
            break;
        uint64_t tail = atomic_load((_Atomic uint64_t *)&ring->page->aux_tail);
        if (!ring->overwrite && ring->aux_head + cpu->written - tail >= ring->aux_size - 1)
            cpu->aux_flags |= PERF_AUX_FLAG_TRUNCATED;
        pk_aux_end(cpu, time);
        pk_aux_begin(cpu);
    }
    pk->totals.trace_lost += size;
}
