#include "collect/pulse.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const struct csp_pulse csp_pulses[] = {
    {"pmu_pulse", 0, 1},           {"pmu_pulse_counter", 1, 1},    {"pmu_pulse_counter", 2, 10},
    {"pmu_pulse_counter", 3, 100}, {"pmu_pulse_counter", 4, 1000}, {NULL, 0, 0},
};

char *csp_pulse_text(const struct csp_pulse *pulse)
{
    return pulse->preset ? csp_asprintf("%s,preset=%u", pulse->config, pulse->preset)
                         : csp_strdup(pulse->config);
}

const struct csp_pulse *csp_pulse_named(const char *text)
{
    for (const struct csp_pulse *pulse = csp_pulses; pulse->config; pulse++) {
        char *name = csp_pulse_text(pulse);
        bool found = !strcmp(name, text);
        free(name);
        if (found)
            return pulse;
    }
    return NULL;
}
