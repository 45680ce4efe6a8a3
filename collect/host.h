/* What this machine offers to record with. */
#ifndef CSP_COLLECT_HOST_H
#define CSP_COLLECT_HOST_H

#include "base/diag.h"

/* Says what is missing for recording from this host's own trace unit, and what to do instead.
 * `sysfs` is "/sys", or another place for tests. Always fails: CSP_ERR_ENV. */
int csp_host_explain(const char *sysfs, struct csp_diag *diag);

#endif
