#include "collect/calibrate.h"

#include "collect/assess.h"
#include "collect/kernel_event.h"
#include "collect/ring.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
    TYPE_HARDWARE = 0,
    HARDWARE_CYCLES = 0,
    IOC_ENABLE = 0x2400, /* PERF_EVENT_IOC_ENABLE, _DISABLE, _RESET */
    IOC_DISABLE = 0x2401,
    IOC_RESET = 0x2403,
    DATA_SIZE = 64 << 10,
    AUX_SIZE = 1 << 20,
    BUSY_MS = 100,
    TOLERANCE = 50, /* one in so many */
};

struct events {
    int trace, cycles, pulses; /* -1: not open */
    struct csp_ring ring;
};

/* Hardly a branch, so that the trace of it fits in the ring. */
static void be_busy(void)
{
    struct timespec start, now;
    volatile uint64_t kept = 1;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        uint64_t value = kept;
        for (int i = 0; i < 20000; i++) {
#define STEP value = value * 6364136223846793005u + 1442695040888963407u;
#define STEPS STEP STEP STEP STEP STEP STEP STEP STEP
            STEPS STEPS STEPS STEPS STEPS STEPS STEPS STEPS
#undef STEPS
#undef STEP
        }
        kept = value;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
             BUSY_MS);
}

static uint64_t count_of(int fd)
{
    uint64_t value = 0;
    return read(fd, &value, sizeof value) == sizeof value ? value : 0;
}

static bool fail(struct csp_pulse_check *check, const char *what)
{
    check->verdict = CSP_PULSE_FAILED;
    check->why = csp_asprintf("%s: %s", what, strerror(errno));
    return false;
}

static bool open_events(struct events *events, const struct csp_target *target,
                        const struct csp_core_pmu *pmu, uint64_t config,
                        struct csp_pulse_check *check)
{
    const uint64_t flags = UINT64_C(1) << CSP_ATTR_DISABLED |
                           UINT64_C(1) << CSP_ATTR_EXCLUDE_KERNEL |
                           UINT64_C(1) << CSP_ATTR_EXCLUDE_HV;
    uint64_t words[4] = {0};
    csp_pmu_format_set(&target->trace.fields[CSP_ETM_FIELD_CONFIGID], words, config);
    csp_pmu_format_set(&target->trace.fields[CSP_ETM_FIELD_PRESET], words, check->pulse->preset);
    const struct csp_attr trace = {.type = target->trace.type,
                                   .config = words[0],
                                   .config1 = words[1],
                                   .config2 = words[2],
                                   .config3 = words[3],
                                   .sample_period = 1,
                                   .flags = flags};
    const struct csp_attr cycles = {
        .type = TYPE_HARDWARE, .config = HARDWARE_CYCLES, .flags = flags};
    const struct csp_attr pulses = {
        .type = pmu->type, .config = pmu->trcextout_config[1], .flags = flags};
    events->trace = csp_kernel_event_open(&trace, 0, check->cpu, -1);
    if (events->trace < 0)
        return fail(check, "the trace unit cannot be had");
    if (!csp_ring_map(&events->ring, events->trace, DATA_SIZE, AUX_SIZE, false))
        return fail(check, "no buffer for the trace");
    events->cycles = csp_kernel_event_open(&cycles, 0, check->cpu, -1);
    events->pulses = csp_kernel_event_open(&pulses, 0, check->cpu, events->cycles);
    if (events->cycles < 0 || events->pulses < 0)
        return fail(check, "cycles and trcextout1 cannot be counted together");
    return true;
}

static void close_events(struct events *events)
{
    if (events->ring.page)
        csp_ring_unmap(&events->ring);
    const int fds[] = {events->pulses, events->cycles, events->trace};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Counts for a while; with the trace unit on or off. */
static void count(const struct events *events, bool traced, uint64_t *cycles, uint64_t *pulses)
{
    ioctl(events->pulses, IOC_RESET, 0);
    ioctl(events->cycles, IOC_RESET, 0);
    if (traced)
        ioctl(events->trace, IOC_ENABLE, 0);
    ioctl(events->pulses, IOC_ENABLE, 0);
    ioctl(events->cycles, IOC_ENABLE, 0);
    be_busy();
    ioctl(events->cycles, IOC_DISABLE, 0);
    ioctl(events->pulses, IOC_DISABLE, 0);
    if (traced)
        ioctl(events->trace, IOC_DISABLE, 0);
    *cycles = count_of(events->cycles);
    *pulses = count_of(events->pulses);
}

static enum csp_pulse_verdict judge(const struct csp_pulse_check *check)
{
    uint64_t wanted = check->cycles / check->pulse->cycles, limit = wanted / TOLERANCE + 2;
    uint64_t difference = check->pulses > wanted ? check->pulses - wanted : wanted - check->pulses;
    if (check->pulses_off > limit)
        return CSP_PULSE_ALWAYS;
    if (difference <= limit)
        return CSP_PULSE_RIGHT;
    return check->pulses <= limit ? CSP_PULSE_SILENT : CSP_PULSE_WRONG_RATE;
}

static void measure(struct csp_pulse_check *check, const struct csp_target *target,
                    const struct csp_core_pmu *pmu, uint64_t config)
{
    struct events events = {.trace = -1, .cycles = -1, .pulses = -1};
    uint64_t cycles_off;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(check->cpu, &only);
    if (sched_setaffinity(0, sizeof only, &only) < 0)
        fail(check, "this CPU is not for us");
    else if (open_events(&events, target, pmu, config, check)) {
        count(&events, true, &check->cycles, &check->pulses);
        count(&events, false, &cycles_off, &check->pulses_off);
        if (check->cycles)
            check->verdict = judge(check);
        else {
            errno = EBUSY;
            fail(check, "the counters did not run");
        }
    }
    close_events(&events);
}

static void measure_core(struct csp_calibration *calibration, const struct csp_target *target,
                         const struct csp_core_pmu *pmu)
{
    for (const struct csp_pulse *pulse = csp_pulses; pulse->config; pulse++) {
        const struct csp_coresight_config *config = csp_target_config(target, pulse->config);
        if (!config)
            continue;
        struct csp_pulse_check check = {
            .cpu = pmu->cpus.cpus.data[0], .pmu = pmu->name, .pulse = pulse};
        measure(&check, target, pmu, config->id);
        csp_vec_push(&calibration->checks, check);
    }
}

static bool is_right_everywhere(const struct csp_calibration *calibration,
                                const struct csp_pulse_check *wanted)
{
    for (size_t i = 0; i < calibration->checks.len; i++) {
        const struct csp_pulse_check *check = &calibration->checks.data[i];
        if (check->pulse == wanted->pulse && check->verdict != CSP_PULSE_RIGHT)
            return false;
    }
    return true;
}

static int nothing_to_measure(const struct csp_target *target, struct csp_diag *diag)
{
    const char *lacks =
        !target->trace.present ? "there is no trace unit that the kernel drives"
        : !target->trace.configs.len
            ? "no configuration that pulses is loaded: build and load the module of "
              "kmod/ (kmod/build)"
            : "the PMU does not offer trcextout1, or the module of kmod/ is not loaded";
    return csp_fail(diag, CSP_ERR_ENV, "nothing to calibrate: %s (`csprof doctor` tells more)",
                    lacks);
}

int csp_calibrate(struct csp_calibration *calibration, const struct csp_target *target,
                  struct csp_diag *diag)
{
    cpu_set_t before;
    *calibration = (struct csp_calibration){0};
    sched_getaffinity(0, sizeof before, &before);
    for (size_t i = 0; i < target->pmus.len; i++)
        if (target->pmus.data[i].trcextout[1] && target->pmus.data[i].cpus.cpus.len &&
            target->trace.present)
            measure_core(calibration, target, &target->pmus.data[i]);
    sched_setaffinity(0, sizeof before, &before);
    if (!calibration->checks.len)
        return nothing_to_measure(target, diag);
    for (size_t i = 0; i < calibration->checks.len && !calibration->best; i++)
        if (is_right_everywhere(calibration, &calibration->checks.data[i]))
            calibration->best = &calibration->checks.data[i];
    return 0;
}

void csp_calibration_free(struct csp_calibration *calibration)
{
    for (size_t i = 0; i < calibration->checks.len; i++)
        free(calibration->checks.data[i].why);
    csp_vec_free(&calibration->checks);
}
