/* The calls by which csprof meets the kernel's perf: perf_event_open, mmap, ioctl, poll, read, and
 * files of sysfs. What is not of perf goes through. */
#include "perf_kernel.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct pk_state *pk;
static struct pk_event *event_of_fd[PK_FDS];
static int trace_ids, polls, pinned_to = -1;
static struct pk_script_header script;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

/* Begun by the first event: the process that plays, with all that was opened until then and later
 * in memory that both see. */
static void begin(void)
{
    pk = mmap(NULL, sizeof *pk + PK_ARENA, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    trace_ids = setting("PERF_KERNEL_TRACE_IDS", 1000);
    FILE *file = fopen(getenv("PERF_KERNEL_SCRIPT"), "r");
    if (!file || fread(&script, sizeof script, 1, file) != 1 || script.magic != PK_MAGIC) {
        fprintf(stderr, "perf_kernel: no script\n");
        _exit(125);
    }
    fclose(file);
}

static void begin_playing(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    if (fork() == 0) {
        pk_play(getenv("PERF_KERNEL_SCRIPT"));
        _exit(0);
    }
}

static struct pk_event *event_at(int fd)
{
    return fd >= 0 && fd < PK_FDS ? event_of_fd[fd] : NULL;
}

static void read_attr(struct pk_event *event, const struct perf_event_attr *attr)
{
    uint32_t action = 0;
    if (attr->size >= PK_ATTR_AUX_ACTION + 4)
        memcpy(&action, (const char *)attr + PK_ATTR_AUX_ACTION, 4);
    event->role = attr->type == PK_CS_ETM ? PK_TRACE
                  : action & 4            ? PK_RESUME
                  : action & 2            ? PK_PAUSE
                  : attr->aux_sample_size ? PK_PAUSE
                                          : PK_TRACKER;
    event->period = attr->sample_period;
    event->sample_type = attr->sample_type;
    event->regs_user = attr->sample_regs_user;
    event->aux_watermark = attr->aux_watermark;
    event->aux_sample_size = attr->aux_sample_size;
    atomic_store(&event->enabled, !attr->disabled);
}

/* What csprof opens on itself to see what it may, and how many counters there are besides that of
 * the cycles: six (validate_group, drivers/perf/arm_pmu.c). */
static int open_probe(const struct perf_event_attr *attr, int group)
{
    static int members;
    int counter = pk_counter_open(attr);
    if (counter >= 0)
        return counter;
    members = group < 0 ? 0 : members + 1;
    if (members <= 6)
        return eventfd(0, EFD_CLOEXEC);
    errno = EINVAL;
    return -1;
}

/* perf_event_open, kernel/events/core.c */
static int open_event(const struct perf_event_attr *attr, int pid, int cpu, int group)
{
    /* perf_get_aux_event: no member of a group whose leader's PMU has no snapshot_aux */
    if (attr->aux_sample_size && !setting("PERF_KERNEL_SNAPSHOTS", 0)) {
        errno = EINVAL;
        return -1;
    }
    if (pid == 0)
        return open_probe(attr, group);
    if (!pk)
        begin();
    int number = atomic_load(&pk->event_count);
    if (pid >= 0 || cpu < 0 || cpu >= PK_CPUS || number == PK_EVENTS) {
        errno = EINVAL;
        return -1;
    }
    struct pk_event *event = &pk->events[number];
    read_attr(event, attr);
    event->cpu = cpu;
    event->id = 1000 + (uint64_t)number;
    event->signal = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event->signal < 0 || event->signal >= PK_FDS) {
        errno = EMFILE;
        return -1;
    }
    event_of_fd[event->signal] = event;
    pk->cpus[cpu].events[event->role] = event;
    atomic_fetch_add(&pk->event_count, 1);
    return event->signal;
}

long syscall(long number, ...)
{
    va_list args;
    long a[6];
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_perf_event_open)
        return open_event((const void *)a[0], (int)a[1], (int)a[2], (int)a[3]);
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- mmap ---- */

static void *take(size_t size)
{
    void *memory = pk->arena + pk->arena_used;
    size = (size + 4095) & ~(size_t)4095;
    if (pk->arena_used + size > PK_ARENA - 4096)
        return NULL;
    pk->arena_used += size;
    return memory;
}

/* rb_alloc and ring_buffer_init: woken when it is half full */
static void *map_data(struct pk_event *event, size_t length)
{
    struct pk_ring *ring = &pk->rings[atomic_fetch_add(&pk->ring_count, 1)];
    uint8_t *memory = take(length);
    if (!memory) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    ring->page = (void *)memory;
    ring->data = memory + 4096;
    ring->data_size = length - 4096;
    ring->page->data_offset = 4096;
    ring->page->data_size = ring->data_size;
    ring->watermark = ring->data_size / 2;
    ring->cpu = event->cpu;
    ring->signal = event->signal;
    ring->lost_id = event->id;
    ring->page->time_shift = (uint16_t)script.time_shift;
    ring->page->time_mult = (uint32_t)script.time_mult;
    ring->page->time_zero = script.time_zero;
    ring->page->cap_user_time_zero = 1;
    event->ring = ring;
    return memory;
}

/* rb_alloc_aux: the PMU's setup_aux fails without a trace ID (etm_setup_aux), and that is ENOMEM */
static void *map_aux(struct pk_event *event, size_t length, bool writable)
{
    struct pk_ring *ring = event->ring;
    uint8_t *memory = pk->trace_ids_used < trace_ids ? take(length) : NULL;
    if (!memory || length != ring->page->aux_size) {
        errno = memory ? EINVAL : ENOMEM;
        return MAP_FAILED;
    }
    pk->trace_ids_used++;
    ring->aux = memory;
    ring->overwrite = !writable;
    ring->aux_size = length;
    ring->aux_watermark = event->aux_watermark ? event->aux_watermark : length / 2;
    return memory;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    struct pk_event *event = event_at(fd);
    void *counter = pk_counter_map(fd, length);
    if (counter)
        return counter;
    if (event)
        return offset ? map_aux(event, length, protection & PROT_WRITE) : map_data(event, length);
    return (void *)REAL(syscall)(SYS_mmap, address, length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length)
{
    if (pk && (uint8_t *)address >= pk->arena && (uint8_t *)address < pk->arena + PK_ARENA)
        return 0;
    return (int)REAL(syscall)(SYS_munmap, address, length);
}

/* ---- ioctl, poll, read, close ---- */

/* Returns when the CPUs have stopped: what they had is in the rings then. */
static void stop_playing(void)
{
    atomic_store(&pk->standing, true);
    int turn = atomic_fetch_add(&pk->stop_asked, 1) + 1;
    while (atomic_load(&pk->stopped) < turn && kill(getpid(), 0) == 0)
        usleep(1000);
}

/* A CPU's counter, as long as this process keeps the CPU busy: a nanosecond each. */
static uint64_t count_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* __perf_event_period, kernel/events/core.c: what was left of the old period is forgotten. */
static void set_period(struct pk_event *event, uint64_t period)
{
    struct pk_totals *totals = &pk->totals;
    const struct pk_event *resume = pk->cpus[event->cpu].events[PK_RESUME];
    event->period = period;
    event->begun = count_now();
    totals->set_elsewhere += event->cpu != pinned_to;
    if (event->role != PK_PAUSE)
        return;
    uint64_t phase = event->begun - resume->begun;
    if (!totals->staggered++ || phase < totals->least_phase)
        totals->least_phase = phase;
}

/* The machine that is played has more CPUs than this one. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    if (!getenv("PERF_KERNEL_SCRIPT"))
        return (int)REAL(syscall)(SYS_sched_setaffinity, pid, size, set);
    pinned_to = -1;
    for (int cpu = 0; cpu < PK_CPUS && CPU_COUNT_S(size, set) == 1; cpu++)
        if (CPU_ISSET_S((size_t)cpu, size, set))
            pinned_to = cpu;
    return 0;
}

static int control(struct pk_event *event, unsigned long request, void *argument)
{
    switch (request) {
    case PERF_EVENT_IOC_ID:
        *(uint64_t *)argument = event->id;
        return 0;
    case PERF_EVENT_IOC_SET_OUTPUT: {
        struct pk_event *other = event_at((int)(intptr_t)argument);
        event->ring = other ? other->ring : NULL;
        return 0;
    }
    case PERF_EVENT_IOC_ENABLE:
        if (!atomic_exchange(&event->enabled, true) && event->role == PK_TRACE) {
            atomic_fetch_add(&pk->running, 1);
            atomic_store(&pk->standing, false);
            begin_playing();
        }
        return 0;
    case PERF_EVENT_IOC_PERIOD:
        set_period(event, *(uint64_t *)argument);
        return 0;
    case PERF_EVENT_IOC_DISABLE:
        if (event->role == PK_TRACE && atomic_exchange(&event->enabled, false) &&
            atomic_fetch_sub(&pk->running, 1) == 1)
            stop_playing();
        return 0;
    default:
        return 0;
    }
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *argument = va_arg(args, void *);
    va_end(args);
    struct pk_event *event = event_at(fd);
    if (pk_counter_control(fd, request))
        return 0;
    return event ? control(event, request, argument)
                 : (int)REAL(syscall)(SYS_ioctl, fd, request, argument);
}

/* perf_poll: readable once for each wakeup */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int ready = REAL(poll)(fds, count, timeout);
    for (nfds_t i = 0; pk && i < count; i++) {
        uint64_t wakeups;
        struct pk_event *event = event_at(fds[i].fd);
        if (event && (fds[i].revents & POLLIN) &&
            REAL(read)(event->signal, &wakeups, sizeof wakeups) == sizeof wakeups)
            atomic_store(&event->ring->poll, 0);
    }
    int stall = pk ? setting("PERF_KERNEL_STALL_MS", 0) : 0;
    if (stall && ++polls % 10 == 0)
        usleep((useconds_t)stall * 1000);
    return ready;
}

/* perf_read: the count, and how long it was enabled and ran */
ssize_t read(int fd, void *buffer, size_t size)
{
    struct pk_event *event = event_at(fd);
    uint64_t count;
    if (size >= sizeof count && pk_counter_read(fd, &count)) {
        memcpy(buffer, &count, sizeof count);
        return sizeof count;
    }
    if (!event)
        return REAL(read)(fd, buffer, size);
    if (size >= 24)
        memcpy(buffer, (uint64_t[]){count_now(), 1000000, 1000000}, 24);
    return 24;
}

int close(int fd)
{
    if (event_at(fd))
        event_of_fd[fd] = NULL;
    pk_counter_close(fd);
    return (int)REAL(syscall)(SYS_close, fd);
}

/* ---- sysfs ---- */

static const char *redirect(const char *path, char *other, size_t size)
{
    static const char *const places[] = {"/sys/", "/proc/sys/", "/boot/", "/proc/self/status"};
    const char *tree = getenv("PERF_KERNEL_TREE");
    for (size_t i = 0; tree && i < sizeof places / sizeof *places; i++)
        if (!strncmp(path, places[i], strlen(places[i]))) {
            snprintf(other, size, "%s%s", tree, path);
            return other;
        }
    return path;
}

int open(const char *path, int flags, ...)
{
    char other[4096];
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    return (int)REAL(syscall)(SYS_openat, AT_FDCWD, redirect(path, other, sizeof other), flags,
                              mode);
}

int access(const char *path, int mode)
{
    char other[4096];
    return (int)REAL(syscall)(SYS_faccessat, AT_FDCWD, redirect(path, other, sizeof other), mode);
}

DIR *opendir(const char *path)
{
    char other[4096];
    return REAL(opendir)(redirect(path, other, sizeof other));
}
