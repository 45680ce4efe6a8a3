#include "collect/calibrate.h"

#include <stdlib.h>

static const char *const names[] = {
    [CSP_PULSE_RIGHT] = "right",   [CSP_PULSE_WRONG_RATE] = "wrong_rate",
    [CSP_PULSE_SILENT] = "silent", [CSP_PULSE_ALWAYS] = "always",
    [CSP_PULSE_FAILED] = "failed",
};

static void add_name(const struct csp_pulse_check *check, struct csp_buf *out)
{
    char *name = csp_pulse_text(check->pulse);
    csp_buf_printf(out, "  CPU %-4u %-14s %-28s ", check->cpu, check->pmu, name);
    free(name);
}

static void add_check(const struct csp_pulse_check *check, struct csp_buf *out)
{
    add_name(check, out);
    double each = check->pulses ? (double)check->cycles / (double)check->pulses : 0;
    int digits = each < 5 ? 2 : 0;
    switch (check->verdict) {
    case CSP_PULSE_RIGHT:
        csp_buf_printf(out, "right: a pulse in %.*f cycles, none while the trace unit is off\n",
                       digits, each);
        break;
    case CSP_PULSE_WRONG_RATE:
        csp_buf_printf(out, "wrong: a pulse in %.*f cycles instead of %llu\n", digits, each,
                       (unsigned long long)check->pulse->cycles);
        break;
    case CSP_PULSE_SILENT:
        csp_buf_printf(out, "wrong: %llu pulses in %llu cycles: this PMU does not count them\n",
                       (unsigned long long)check->pulses, (unsigned long long)check->cycles);
        break;
    case CSP_PULSE_ALWAYS:
        csp_buf_printf(out, "wrong: %llu pulses while the trace unit was off\n",
                       (unsigned long long)check->pulses_off);
        break;
    case CSP_PULSE_FAILED:
        csp_buf_printf(out, "not measured: %s\n", check->why);
        break;
    }
}

void csp_calibration_text(const struct csp_calibration *calibration, struct csp_buf *out)
{
    csp_buf_add_string(out, "Calibration: trcextout1 counted beside cycles, in user space\n");
    for (size_t i = 0; i < calibration->checks.len; i++)
        add_check(&calibration->checks.data[i], out);
    if (!calibration->best) {
        csp_buf_add_string(out, "None counts right on all kinds of cores: record with --strategy "
                                "free-running, and please report these lines.\n");
        return;
    }
    char *name = csp_pulse_text(calibration->best->pulse);
    csp_buf_printf(out,
                   "Record with --strategy pulse%s%s: it counts right on all kinds of cores.\n",
                   calibration->best->pulse == csp_pulses ? "" : " --pulse ",
                   calibration->best->pulse == csp_pulses ? "" : name);
    free(name);
}

void csp_calibration_json(const struct csp_calibration *calibration, struct csp_json *json)
{
    csp_json_object(json, "calibration");
    char *best = calibration->best ? csp_pulse_text(calibration->best->pulse) : NULL;
    if (best)
        csp_json_string(json, "pulse", best);
    free(best);
    csp_json_array(json, "checks");
    for (size_t i = 0; i < calibration->checks.len; i++) {
        const struct csp_pulse_check *check = &calibration->checks.data[i];
        csp_json_object(json, NULL);
        csp_json_number(json, "cpu", check->cpu);
        csp_json_string(json, "pmu", check->pmu);
        csp_json_string(json, "config", check->pulse->config);
        csp_json_number(json, "preset", check->pulse->preset);
        csp_json_number(json, "expected_cycles_per_pulse", check->pulse->cycles);
        csp_json_number(json, "cycles", check->cycles);
        csp_json_number(json, "pulses", check->pulses);
        csp_json_number(json, "pulses_off", check->pulses_off);
        csp_json_string(json, "verdict", names[check->verdict]);
        if (check->why)
            csp_json_string(json, "why", check->why);
        csp_json_end(json);
    }
    csp_json_end(json);
    csp_json_end(json);
}
