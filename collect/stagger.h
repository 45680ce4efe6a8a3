/* Two counters of equal period, of which the second is always a window's length behind the first:
 * the kernel offers no such thing, but begins a period anew when it is told one. */
#ifndef CSP_COLLECT_STAGGER_H
#define CSP_COLLECT_STAGGER_H

#include "base/diag.h"

#include <stdbool.h>
#include <stdint.h>

/* What both count until they are staggered: never enough to overflow. */
#define CSP_STAGGER_GUARD (UINT64_C(1) << 62)

/* Runs on `cpu` (and afterwards where it ran before), lets the CPU count, and begins the periods of
 * both events, `phase` counts apart. Both must be enabled and count user space alone. `reached` is
 * how far apart they are, but for some hundred cycles. Errors: CSP_ERR_ENV. */
int csp_stagger(uint32_t cpu, int resume, int pause, uint64_t period, uint64_t phase,
                uint64_t *reached, struct csp_diag *diag);
/* Whether that is as good as can be asked for. */
bool csp_stagger_is_near(uint64_t reached, uint64_t phase);

#endif
