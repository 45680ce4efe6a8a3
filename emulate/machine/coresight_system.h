/* The machine's CoreSight system: an ETMv4 for each CPU, the funnel and the ETR, on guest RAM; and
 * the processors that they follow. */
#ifndef CSP_EMULATE_MACHINE_CORESIGHT_SYSTEM_H
#define CSP_EMULATE_MACHINE_CORESIGHT_SYSTEM_H

#include "emulate/machine/coresight_map.h"
#include "emulate/machine/processor.h"

#include <stdio.h>

struct csp_coresight_system {
    struct csp_guest_ram ram;
    unsigned cpus;
    struct csp_processor processors[CSP_MACHINE_MOST_CPUS];
    struct csp_etm4_unit etms[CSP_MACHINE_MOST_CPUS];
    struct csp_coresight_device funnel;
    struct csp_tmc_etr etr;
    struct csp_machine_threads threads;
    uint64_t vectors; /* VBAR_EL1 once known, else 0 */
    struct csp_buf truth_out;
    FILE *truth, *log; /* null: none */
};

/* `ram` must be open. The caller has zeroed the rest. */
void csp_coresight_system_reset(struct csp_coresight_system *system, unsigned cpus);
/* A CPU stored 32 bits to this physical address, which need not be a device's. */
void csp_coresight_system_store(struct csp_coresight_system *system, unsigned cpu, uint64_t address,
                                uint64_t now);
/* A program asked for a mark in the truth. */
void csp_coresight_system_mark(struct csp_coresight_system *system, uint64_t number);
/* The end of the truth, and a line for everything that went wrong. */
void csp_coresight_system_finish(struct csp_coresight_system *system);

static inline bool csp_coresight_system_owns(uint64_t address)
{
    return address - CSP_MACHINE_DEVICES < CSP_MACHINE_DEVICES_SIZE;
}

#endif
