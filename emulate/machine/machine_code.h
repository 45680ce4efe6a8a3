/* A block of translated code, up to the next branch.
 *
 * QEMU shares a translation between all virtual addresses of a physical page, so a block knows its
 * place in the page alone. */
#ifndef CSP_EMULATE_MACHINE_MACHINE_CODE_H
#define CSP_EMULATE_MACHINE_MACHINE_CODE_H

#include "emulate/flow.h"

struct csp_machine_code {
    uint16_t page_offset;
    uint16_t count;       /* instructions */
    struct csp_flow flow; /* of the last one */
    uint32_t instructions[];
};

#endif
