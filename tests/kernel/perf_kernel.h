/* What the parts of perf_kernel.so share; see README.md. All of it lies in memory that csprof's
 * process and the one that plays the CPUs share. */
#ifndef CSP_TESTS_PERF_KERNEL_H
#define CSP_TESTS_PERF_KERNEL_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PK_CPUS = 128, PK_EVENTS = 4 * PK_CPUS, PK_FDS = 4096, PK_ARENA = 1 << 30 };
enum { PK_CS_ETM = 9, PK_CORE_PMU = 8 }; /* types, as the tree has them */
#define PK_GUARD (UINT64_C(1) << 40)     /* no counter gets so far */
enum { PK_ATTR_AUX_ACTION = 116 };       /* where it is in struct perf_event_attr */

enum pk_role { PK_TRACE, PK_RESUME, PK_PAUSE, PK_TRACKER };

struct pk_event {
    enum pk_role role;
    int cpu;
    uint64_t id, period, sample_type, regs_user, aux_watermark;
    uint64_t aux_sample_size;
    uint64_t begun; /* the count at which the period was set anew */
    int signal;     /* eventfd that poll waits for */
    struct pk_ring *ring;
    atomic_bool enabled;
};

/* struct perf_buffer, kernel/events/internal.h */
struct pk_ring {
    int cpu, signal;
    struct perf_event_mmap_page *page;
    uint8_t *data, *aux;
    uint64_t data_size, aux_size;
    uint64_t head, wakeup, watermark; /* of records */
    uint64_t lost;
    uint64_t aux_head, aux_wakeup, aux_watermark;
    bool overwrite;   /* aux_overwrite: the ring is not the reader's to write */
    uint64_t lost_id; /* of the event that LOST is written for */
    _Atomic int poll;
};

struct pk_cpu {
    struct pk_event *events[4]; /* by role */
    bool tracing;               /* an AUX transaction is under way … */
    uint64_t space, written;    /* … with so much room, of which so much is used */
    uint64_t aux_flags;
    size_t next; /* entry of the script */
    uint64_t windows;
    bool hw_id_told;
};

struct pk_totals {
    uint64_t windows, windows_off, samples, samples_lost, records_lost, throttled;
    uint64_t trace, trace_lost; /* bytes */
    uint64_t aux_records, times_disabled;
    /* CPUs whose pause's period was set anew, how far behind the resume's, and from another CPU. */
    uint64_t staggered, least_phase, set_elsewhere;
};

struct pk_state {
    struct pk_event events[PK_EVENTS];
    _Atomic int event_count;
    struct pk_ring rings[PK_CPUS];
    _Atomic int ring_count;
    struct pk_cpu cpus[PK_CPUS];
    struct pk_totals totals;
    atomic_int running; /* trace events enabled */
    atomic_int stop_asked, stopped;
    atomic_bool
        standing; /* all were disabled by the reader: time stands still until one is enabled */
    int trace_ids_used;
    size_t arena_used;
    _Alignas(64) uint8_t arena[];
};

extern struct pk_state *pk;

/* What is played: perf's own records and samples of one CPU, and the bytes of its trace unit. */
struct pk_script_header {
    uint64_t magic, count, first_time, last_time, windows;
    uint64_t time_shift, time_mult, time_zero;
};
#define PK_MAGIC UINT64_C(0x31746b72657073)
enum pk_kind { PK_RECORD, PK_SAMPLE_RESUME, PK_SAMPLE_PAUSE, PK_BYTES };
struct pk_entry { /* then `size` bytes, filled up to a multiple of 8 */
    uint64_t time;
    uint32_t kind, size;
};
struct pk_sample { /* PK_SAMPLE_*: then the callchain */
    uint32_t pid, tid;
    uint64_t ip, lr, sp, pc;
    uint64_t chain_len;
};
struct pk_record { /* PK_RECORD: then the record's body without sample id fields */
    uint32_t type;
    uint16_t misc, zero;
    uint32_t pid, tid;
};

/* rings.c */
bool pk_output(struct pk_ring *ring, const struct pk_event *event, const void *record, size_t size);
void pk_wake(struct pk_ring *ring);
bool pk_aux_begin(struct pk_cpu *cpu);
void pk_aux_end(struct pk_cpu *cpu, uint64_t time);
void pk_aux_snapshot(struct pk_cpu *cpu, uint8_t *bytes, size_t size);
void pk_aux_write(struct pk_cpu *cpu, const uint8_t *bytes, size_t size, uint64_t time);

/* counters.c: events of a process on itself. -1, false and null: it is none of those. */
int pk_counter_open(const struct perf_event_attr *attr);
bool pk_counter_control(int fd, unsigned long request);
bool pk_counter_read(int fd, uint64_t *value);
void *pk_counter_map(int fd, size_t length);
void pk_counter_close(int fd);

/* play.c: of the process that plays */
void pk_play(const char *script);

#endif
