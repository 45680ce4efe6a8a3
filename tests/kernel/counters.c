/* Events of a process on itself: a trace unit, cycles (a nanosecond each) and trcextout1, whose PMU
 * counts as PERF_KERNEL_PULSE says. For `csprof doctor --calibrate`. */
#include "perf_kernel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TRCEXTOUT1 = 0x4011, COUNTER_CONFIG = 0x22 /* last byte of its ID: pmu_pulse_counter */ };

static struct counter {
    enum { NONE, TRACE, CYCLES, PULSES } kind;
    uint64_t config, config2;
    uint64_t since, value; /* since: 0 when it is disabled */
} counters[PK_FDS];
static struct counter *trace;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); /* counted while the thread runs */
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct counter *at(int fd)
{
    return fd >= 0 && fd < PK_FDS && counters[fd].kind ? &counters[fd] : NULL;
}

int pk_counter_open(const struct perf_event_attr *attr)
{
    int kind = attr->type == PK_CS_ETM                                   ? TRACE
               : attr->type == PERF_TYPE_HARDWARE                        ? CYCLES
               : attr->type == PK_CORE_PMU && attr->config == TRCEXTOUT1 ? PULSES
                                                                         : NONE;
    int fd = kind == NONE ? -1 : eventfd(0, EFD_CLOEXEC);
    if (fd < 0 || fd >= PK_FDS)
        return -1;
    counters[fd] = (struct counter){.kind = kind, .config = attr->config, .config2 = attr->config2};
    if (kind == TRACE)
        trace = &counters[fd];
    return fd;
}

/* In cycles in which the unit is enabled. */
static uint64_t cycles_a_pulse(void)
{
    static const uint64_t presets[] = {10, 1, 10, 100, 1000};
    bool counter = (trace->config2 >> 32 & 0xff) == COUNTER_CONFIG;
    return counter ? presets[trace->config & 7] : 1;
}

static uint64_t pulses(uint64_t cycles)
{
    const char *how = getenv("PERF_KERNEL_PULSE");
    bool level = how && !strcmp(how, "level"), always = how && !strcmp(how, "always");
    if (!trace->since && !always)
        return 0;
    /* A PMU that counts rising edges sees one of an output that never falls. */
    return level && cycles_a_pulse() == 1 ? 1 : cycles / cycles_a_pulse();
}

bool pk_counter_control(int fd, unsigned long request)
{
    struct counter *counter = at(fd);
    if (!counter)
        return false;
    if (request == PERF_EVENT_IOC_RESET)
        counter->value = 0;
    if (request == PERF_EVENT_IOC_ENABLE)
        counter->since = now();
    if (request == PERF_EVENT_IOC_DISABLE && counter->since) {
        uint64_t cycles = now() - counter->since;
        counter->value += counter->kind == PULSES ? pulses(cycles) : cycles;
        counter->since = 0;
    }
    return true;
}

bool pk_counter_read(int fd, uint64_t *value)
{
    const struct counter *counter = at(fd);
    *value = counter ? counter->value : 0;
    return counter != NULL;
}

/* Rings that nothing is ever written to. */
void *pk_counter_map(int fd, size_t length)
{
    if (!at(fd))
        return NULL;
    struct perf_event_mmap_page *page = (void *)syscall(
        SYS_mmap, NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page->data_offset = 4096;
    page->data_size = length - 4096;
    return page;
}

void pk_counter_close(int fd)
{
    if (at(fd))
        counters[fd].kind = NONE;
}
