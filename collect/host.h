/* Why a machine cannot record a history of branches, in one message. */
#ifndef CSP_COLLECT_HOST_H
#define CSP_COLLECT_HOST_H

#include "collect/assess.h"

/* Says what is missing and what to do instead. Always fails: CSP_ERR_ENV. */
int csp_host_explain(const struct csp_target *target, const struct csp_assessment *assessment,
                     struct csp_diag *diag);

#endif
