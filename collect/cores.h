/* Processor cores by their main ID register: their names, and what Arm's manuals list for them.
 *
 * What a machine offers is read from its kernel; this table only explains why something is absent
 * and whether another kernel could offer it. */
#ifndef CSP_COLLECT_CORES_H
#define CSP_COLLECT_CORES_H

#include <stdint.h>

enum csp_core_has { CSP_CORE_UNKNOWN, CSP_CORE_NO, CSP_CORE_YES };

struct csp_core {
    uint8_t implementer;
    uint16_t part;
    const char *name;
    enum csp_core_has trcextout; /* PMU events that count the trace unit's external outputs */
    enum csp_core_has ete;       /* ETE with TRBE: a trace buffer for each core */
    enum csp_core_has brbe;      /* branch records */
};

/* By MIDR_EL1 (Arm ARM, D19.2); null for cores that are not in the table. */
const struct csp_core *csp_core_find(uint64_t midr);

#endif
