#include "collect/ring.h"

#include "base/bytes.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_HEADER = 8, SMALLEST = 16 * 1024 };

static struct perf_event_mmap_page *page_of(const struct csp_ring *ring)
{
    return (struct perf_event_mmap_page *)(void *)ring->page;
}

static bool map_aux(struct csp_ring *ring, uint64_t wanted)
{
    struct perf_event_mmap_page *page = page_of(ring);
    for (uint64_t size = wanted; size >= SMALLEST; size /= 2) {
        page->aux_offset = page->data_offset + page->data_size;
        page->aux_size = size;
        /* Not writable means: overwrite it (rb_alloc_aux, kernel/events/ring_buffer.c). */
        int access = PROT_READ | (ring->snapshots ? 0 : PROT_WRITE);
        void *aux = mmap(NULL, size, access, MAP_SHARED, ring->fd, (off_t)page->aux_offset);
        if (aux != MAP_FAILED) {
            ring->aux = aux;
            ring->aux_size = size;
            return true;
        }
        if (errno != EPERM && errno != ENOMEM)
            return false;
    }
    return false;
}

bool csp_ring_map(struct csp_ring *ring, int fd, uint64_t data_size, uint64_t aux_size,
                  bool snapshots)
{
    uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
    void *page = MAP_FAILED;
    errno = EPERM;
    for (uint64_t size = data_size; size >= SMALLEST && page == MAP_FAILED; size /= 2) {
        page = mmap(NULL, page_size + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ring->data_size = size;
        if (page == MAP_FAILED && errno != EPERM && errno != ENOMEM)
            break;
    }
    if (page == MAP_FAILED)
        return false;
    ring->page = page;
    ring->fd = fd;
    ring->snapshots = snapshots;
    if (!aux_size || map_aux(ring, aux_size))
        return true;
    int error = errno;
    ring->refused_trace = true;
    csp_ring_unmap(ring);
    errno = error;
    return false;
}

void csp_ring_unmap(struct csp_ring *ring)
{
    if (ring->aux)
        munmap(ring->aux, ring->aux_size);
    if (ring->page)
        munmap(ring->page, (uint64_t)sysconf(_SC_PAGESIZE) + ring->data_size);
    csp_buf_free(&ring->scratch);
    ring->aux = ring->page = NULL;
}

/* `size` bytes of a ring from `position` on, put together when they wrap around its end. */
static const uint8_t *bytes_at(struct csp_ring *ring, const uint8_t *data, uint64_t ring_size,
                               uint64_t position, uint64_t size)
{
    uint64_t offset = position & (ring_size - 1);
    if (size <= ring_size - offset)
        return data + offset;
    ring->scratch.len = 0;
    csp_buf_add(&ring->scratch, data + offset, ring_size - offset);
    csp_buf_add(&ring->scratch, data, size - (ring_size - offset));
    return (const uint8_t *)ring->scratch.data;
}

static void count_aux(struct csp_ring *ring, const struct csp_record *record,
                      struct csp_ring_totals *totals)
{
    struct csp_aux_event event;
    if (!csp_record_aux(record, &event))
        return;
    ring->announced = event.aux_offset + event.aux_size;
    ring->stopped |= (event.flags & CSP_AUX_TRUNCATED) != 0;
    totals->aux_records++;
    totals->aux_truncated += (event.flags & CSP_AUX_TRUNCATED) != 0;
    totals->aux_partial += (event.flags & CSP_AUX_PARTIAL) != 0;
    totals->aux_collisions += (event.flags & CSP_AUX_COLLISION) != 0;
}

static void count_record(struct csp_ring *ring, const uint8_t *bytes, uint16_t size,
                         struct csp_ring_totals *totals, const struct csp_ring_listener *listener)
{
    struct csp_record record = {
        .type = csp_load32(bytes),
        .misc = csp_load16(bytes + 4),
        .size = size,
        .body = bytes + RECORD_HEADER,
        .body_size = size - RECORD_HEADER,
    };
    struct csp_lost_event lost;
    struct csp_hw_id_event hw_id;
    totals->records++;
    switch (record.type) {
    case CSP_RECORD_SAMPLE:
        totals->samples++;
        break;
    case CSP_RECORD_LOST:
        totals->lost_records += csp_record_lost(&record, &lost) ? lost.lost : 0;
        break;
    case CSP_RECORD_LOST_SAMPLES:
        totals->lost_samples += csp_record_lost(&record, &lost) ? lost.lost : 0;
        break;
    case CSP_RECORD_THROTTLE:
        totals->throttled++;
        break;
    case CSP_RECORD_AUX:
        count_aux(ring, &record, totals);
        break;
    case CSP_RECORD_AUX_OUTPUT_HW_ID:
        if (listener->hw_id && csp_record_hw_id(&record, &hw_id))
            listener->hw_id(listener->user, ring->cpu, &hw_id);
        break;
    default:
        break;
    }
}

static uint64_t drain_records(struct csp_ring *ring, struct csp_writer *writer,
                              struct csp_ring_totals *totals,
                              const struct csp_ring_listener *listener)
{
    struct perf_event_mmap_page *page = page_of(ring);
    const uint8_t *data = ring->page + page->data_offset;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), tail = page->data_tail;
    uint64_t moved = head - tail;
    while (tail < head) {
        /* Records are multiples of 8, so their headers never wrap. */
        uint16_t size = csp_load16(data + (tail & (ring->data_size - 1)) + 6);
        if (size < RECORD_HEADER || size > head - tail) {
            totals->torn++;
            break;
        }
        const uint8_t *record = bytes_at(ring, data, ring->data_size, tail, size);
        /* Of trace that is overwritten AUX records tell nothing that lasts (perf_aux_output_end).
         */
        if (!ring->snapshots || csp_load32(record) != CSP_RECORD_AUX)
            csp_write_raw(writer, record, size);
        count_record(ring, record, size, totals, listener);
        tail += size;
    }
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    return moved;
}

static uint64_t drain_trace(struct csp_ring *ring, struct csp_writer *writer,
                            struct csp_ring_totals *totals, bool last)
{
    struct perf_event_mmap_page *page = page_of(ring);
    if (!ring->aux || ring->snapshots)
        return 0;
    uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE), tail = page->aux_tail;
    if (!last && ring->announced < head)
        head = ring->announced;
    if (head <= tail)
        return 0;
    /* perf_aux_output_begin disables an event that finds less than a page, without a record. */
    ring->stopped |= head - tail > ring->aux_size - ring->aux_size / 8;
    struct csp_auxtrace_event event = {
        .size = head - tail,
        .aux_offset = tail,
        .reference = ring->stored + 1,
        .idx = ring->idx,
        .tid = ring->tid,
        .cpu = ring->cpu,
    };
    csp_write_auxtrace(writer, &event,
                       bytes_at(ring, ring->aux, ring->aux_size, tail, head - tail));
    __atomic_store_n(&page->aux_tail, head, __ATOMIC_RELEASE);
    ring->stored += head - tail;
    totals->aux_bytes += head - tail;
    return head - tail;
}

uint64_t csp_ring_drain(struct csp_ring *ring, struct csp_writer *writer,
                        struct csp_ring_totals *totals, const struct csp_ring_listener *listener,
                        bool last)
{
    /* Records first: what they announce is in the AUX ring as soon as perf_aux_output_end
     * (kernel/events/ring_buffer.c), which writes them, has set its head. */
    uint64_t moved = drain_records(ring, writer, totals, listener);
    return moved + drain_trace(ring, writer, totals, last);
}

bool csp_ring_time_conv(const struct csp_ring *ring, struct csp_time_conv_event *conv)
{
    const struct perf_event_mmap_page *page = page_of(ring);
    *conv = (struct csp_time_conv_event){0};
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint32_t lock = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
        conv->time_mult = page->time_mult;
        conv->time_shift = page->time_shift;
        conv->time_zero = page->time_zero;
        conv->time_cycles = page->time_cycles;
        conv->time_mask = page->time_mask;
        conv->cap_user_time_zero = page->cap_user_time_zero;
        conv->cap_user_time_short = page->cap_user_time_short;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(lock & 1) && lock == __atomic_load_n(&page->lock, __ATOMIC_RELAXED))
            return conv->cap_user_time_zero;
    }
    return false;
}
