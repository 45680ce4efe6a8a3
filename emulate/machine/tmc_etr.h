/* A Trace Memory Controller configured as Embedded Trace Router: takes bytes of trace sources,
 * packs them into 16-byte frames and writes them to a circular buffer in guest RAM.
 *
 * Source: Arm CoreSight SoC-400 technical reference manual (DDI 0480), "Trace Memory Controller".
 */
#ifndef CSP_EMULATE_MACHINE_TMC_ETR_H
#define CSP_EMULATE_MACHINE_TMC_ETR_H

#include "base/buf.h"
#include "emulate/machine/coresight_device.h"
#include "emulate/machine/guest_ram.h"

struct csp_tmc_etr {
    struct csp_coresight_device device;
    const struct csp_guest_ram *ram;
    /* Called at a flush: the sources upstream hand over what they hold. */
    void (*flush_sources)(void *user);
    void *user;

    bool capturing;
    uint64_t buffer, size, write; /* physical address and sizes in bytes; `write` is an offset */
    struct csp_buf frames;
    uint64_t stored_bytes;   /* frames written, all told */
    uint64_t lost_bytes;     /* arrived while it was not capturing */
    uint64_t rejected_bytes; /* the buffer is not in RAM */
};

void csp_tmc_etr_reset(struct csp_tmc_etr *etr, volatile uint32_t *registers,
                       const struct csp_guest_ram *ram);
void csp_tmc_etr_store(struct csp_tmc_etr *etr, unsigned offset, uint32_t value);
/* Bytes of the source with this trace ID arrive. */
void csp_tmc_etr_receive(struct csp_tmc_etr *etr, unsigned trace_id, const void *bytes,
                         size_t size);

#endif
