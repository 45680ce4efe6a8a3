/* A CPU's ring of records and its AUX ring of trace, shared with the kernel, and moving what is in
 * them into the recording. Protocol: the comments at struct perf_event_mmap_page. */
#ifndef CSP_COLLECT_RING_H
#define CSP_COLLECT_RING_H

#include "perfdata/writer.h"

struct csp_ring_totals { /* what went through, of all rings */
    uint64_t samples, records;
    uint64_t lost_records, lost_samples; /* said by LOST and LOST_SAMPLES */
    uint64_t throttled;                  /* THROTTLE records */
    uint64_t aux_records, aux_bytes;
    uint64_t aux_truncated, aux_partial, aux_collisions; /* AUX records with that flag */
    uint64_t restarts; /* of trace events that the kernel had stopped because their ring was full */
    uint64_t torn;     /* times the ring's contents made no sense: the rest was dropped */
};

struct csp_ring {
    uint32_t idx; /* number among the rings */
    uint32_t cpu, tid;
    int fd;
    uint8_t *page; /* struct perf_event_mmap_page, then the data */
    uint64_t data_size;
    uint8_t *aux;       /* null: no trace */
    bool refused_trace; /* csp_ring_map failed at the AUX ring */
    uint64_t aux_size;
    bool snapshots;  /* the kernel copies from it into samples, and overwrites it */
    uint64_t stored; /* of the trace */
    bool stopped;    /* the kernel may have, because the AUX ring was full: to be enabled again */
    uint64_t announced; /* where the trace ends that AUX records told of */
    struct csp_buf scratch;
};

/* What a ring calls for each AUX_OUTPUT_HW_ID record. */
struct csp_ring_listener {
    void (*hw_id)(void *user, uint32_t cpu, const struct csp_hw_id_event *event);
    void *user;
};

/* Maps a ring for `fd`, with at most `data_size` and `aux_size` (0: none) bytes; less when the
 * kernel does not allow so much memory. Sizes are powers of two. With `snapshots` the trace is the
 * kernel's to use. False with errno. */
bool csp_ring_map(struct csp_ring *ring, int fd, uint64_t data_size, uint64_t aux_size,
                  bool snapshots);
void csp_ring_unmap(struct csp_ring *ring);
/* Moves everything into the recording; returns the number of bytes. Trace that no AUX record has
 * told of yet waits for that, except at the `last` time. */
uint64_t csp_ring_drain(struct csp_ring *ring, struct csp_writer *writer,
                        struct csp_ring_totals *totals, const struct csp_ring_listener *listener,
                        bool last);
/* How the trace's timestamps relate to the clock; false when the kernel does not say. */
bool csp_ring_time_conv(const struct csp_ring *ring, struct csp_time_conv_event *conv);

#endif
