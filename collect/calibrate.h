/* Which of the pulse configurations (docs/kmod.md) a core's PMU counts as it should: TRCEXTOUT1 is
 * counted beside cycles, with the trace unit enabled and with it off. Only the silicon can tell. */
#ifndef CSP_COLLECT_CALIBRATE_H
#define CSP_COLLECT_CALIBRATE_H

#include "base/diag.h"
#include "base/json.h"
#include "collect/target.h"

enum csp_pulse_verdict {
    CSP_PULSE_RIGHT,
    CSP_PULSE_WRONG_RATE, /* counts, but not once in `expected` cycles */
    CSP_PULSE_SILENT,     /* counts nothing, or once for each enabling */
    CSP_PULSE_ALWAYS,     /* counts while the trace unit is off, too */
    CSP_PULSE_FAILED,     /* could not be measured: see `why` */
};

struct csp_pulse_check {
    uint32_t cpu;
    const char *pmu; /* of the target */
    const struct csp_pulse *pulse;
    uint64_t cycles, pulses; /* in user space, with the trace unit enabled */
    uint64_t pulses_off;     /* as many cycles long, with it off */
    enum csp_pulse_verdict verdict;
    char *why;
};

struct csp_calibration {
    CSP_VEC(struct csp_pulse_check) checks;
    const struct csp_pulse_check
        *best; /* the first that is right on all kinds of cores; null: none */
};

/* Measures on one CPU of each kind that offers trcextout1, about 0.2 s for each configuration.
 * Errors: CSP_ERR_ENV: there is nothing to measure; the message says what is missing. */
int csp_calibrate(struct csp_calibration *calibration, const struct csp_target *target,
                  struct csp_diag *diag);
void csp_calibration_free(struct csp_calibration *calibration);
void csp_calibration_text(const struct csp_calibration *calibration, struct csp_buf *out);
/* A member "calibration" of an object that the caller opened. */
void csp_calibration_json(const struct csp_calibration *calibration, struct csp_json *json);

#endif
