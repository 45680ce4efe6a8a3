/* Places in the kernel at which windows can open and close. */
#ifndef CSP_COLLECT_TRACEPOINT_H
#define CSP_COLLECT_TRACEPOINT_H

#include "base/diag.h"

#include <stdint.h>

struct csp_tracepoint {
    const char *name; /* "raw_syscalls:sys_enter"; null: none */
    uint64_t id;      /* the kernel's number */
};

/* Finds the number of the tracepoint `name` in tracefs of the tree at `root` (as
 * csp_target_read's). Errors: CSP_ERR_INPUT (no such tracepoint), CSP_ERR_ENV (tracefs may not be
 * read). */
int csp_tracepoint_find(struct csp_tracepoint *point, const char *root, const char *name,
                        struct csp_diag *diag);

#endif
