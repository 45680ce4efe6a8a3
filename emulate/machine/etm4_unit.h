/* An ETMv4 as software sees it: registers in front, the virtual trace unit behind.
 *
 * Played: claim tags, both locks, enabling and disabling with their status bits, exception-level
 * and address-range filters, the event of ViewInst, context ID, timestamps by event, counters,
 * sequencer, selectors, external output 1, return stack, cycle counts, branch broadcast. TRCIDR0 to
 * 5 announce what the trace core can do.
 *
 * Source: Arm ETM architecture specification (IHI 0064H).
 */
#ifndef CSP_EMULATE_MACHINE_ETM4_UNIT_H
#define CSP_EMULATE_MACHINE_ETM4_UNIT_H

#include "emulate/machine/coresight_device.h"
#include "emulate/machine/etm4_resources.h"
#include "emulate/machine/tmc_etr.h"
#include "emulate/trace_unit.h"

struct csp_etm4_unit {
    struct csp_coresight_device device;
    struct csp_trace_unit unit;
    struct csp_etm4_resources resources;
    struct csp_tmc_etr *sink; /* behind the funnel */
    const struct csp_coresight_device *funnel;
    unsigned port; /* of the funnel */

    /* Read from the registers when it is enabled. */
    unsigned trace_id;
    unsigned view_event, timestamp_event, output_event;
    uint32_t broadcast_control; /* TRCBBCTLR */
    bool uses_resources;        /* a counter or the sequencer can change an event */
    bool traces_user, traces_kernel;
    struct csp_etm4_range {
        uint64_t first, last;
        bool include;
    } ranges[8];
    unsigned range_count;

    bool user;       /* the processor is at EL0 */
    uint64_t cycles; /* up to when resources have advanced */
    /* At EL0 since it was enabled, and how long of that external output 1 was true. */
    uint64_t user_cycles, output_cycles;
    uint64_t blocked_bytes;  /* lost: the funnel's port was closed */
    uint64_t kernel_enables; /* enabled to trace the kernel, which is not played */
};

void csp_etm4_unit_reset(struct csp_etm4_unit *etm, const char *name, volatile uint32_t *registers);
/* The guest stored to the register at `offset`; `cycles` is the time. */
void csp_etm4_unit_store(struct csp_etm4_unit *etm, unsigned offset, uint32_t value,
                         uint64_t cycles);

/* The processor is at `pc` at EL0. Decides whether it is traced, and traces its entry. */
void csp_etm4_unit_enter(struct csp_etm4_unit *etm, uint64_t pc, uint64_t cycles);
/* True when it was traced. */
bool csp_etm4_unit_exception(struct csp_etm4_unit *etm, enum csp_exception_type type,
                             uint64_t return_address, uint64_t cycles);
void csp_etm4_unit_context(struct csp_etm4_unit *etm, uint32_t context_id);
/* Hands over what the unit holds: at a flush. */
void csp_etm4_unit_drain(struct csp_etm4_unit *etm);

#endif
