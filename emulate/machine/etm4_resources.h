/* Resources of a trace unit: counters, a sequencer and the selectors that make events of them. This
 * is what strobing, timestamp intervals and pulses on an external output are made of.
 *
 * Source: Arm ETM architecture specification (IHI 0064H) 5 "Trace unit resources"; TRCRSCTLRn for
 * how two selectors combine.
 */
#ifndef CSP_EMULATE_MACHINE_ETM4_RESOURCES_H
#define CSP_EMULATE_MACHINE_ETM4_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

enum { CSP_ETM4_COUNTERS = 2, CSP_ETM4_SELECTORS = 16, CSP_ETM4_SEQUENCER_STATES = 4 };

struct csp_etm4_resources {
    uint32_t selectors[CSP_ETM4_SELECTORS]; /* TRCRSCTLRn; 0 is always false, 1 always true */
    struct csp_etm4_counter {
        uint32_t value, reload; /* 16 bits */
        uint32_t control;       /* TRCCNTCTLRn */
    } counters[CSP_ETM4_COUNTERS];
    unsigned sequencer; /* state */
    uint32_t sequencer_events[CSP_ETM4_SEQUENCER_STATES - 1], sequencer_reset;
};

/* Whether the event field of a register (bit 7: a pair of selectors) is true now. */
bool csp_etm4_event(const struct csp_etm4_resources *resources, unsigned event);

/* How long events of interest were true while time went on, in cycles. */
struct csp_etm4_watch {
    unsigned event;
    uint64_t cycles;
};

/* `cycles` go by. The time needed does not depend on their number but on how often an event
 * changes. */
void csp_etm4_advance(struct csp_etm4_resources *resources, uint64_t cycles,
                      struct csp_etm4_watch *watches, unsigned watch_count);

#endif
