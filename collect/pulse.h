/* The configurations of the kernel module (docs/kmod.md) with which TRCEXTOUT1 tells how long the
 * trace unit has been enabled. */
#ifndef CSP_COLLECT_PULSE_H
#define CSP_COLLECT_PULSE_H

#include <stdint.h>

struct csp_pulse {
    const char *config;
    uint32_t preset; /* 0: none */
    uint64_t cycles; /* from one pulse to the next */
};

/* All that are known; the first is the default. The end has no config. */
extern const struct csp_pulse csp_pulses[];
/* "pmu_pulse", "pmu_pulse_counter,preset=3": null when there is none of that name. */
const struct csp_pulse *csp_pulse_named(const char *text);
/* The same text. Free it. */
char *csp_pulse_text(const struct csp_pulse *pulse);

#endif
