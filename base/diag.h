/* Diagnostics: how a function that finds a problem tells a person about it.
 *
 * A struct csp_diag is owned by the command (or the test) and passed down. Messages are one line
 * without a trailing newline, and say what happened, where (file and offset) and what to do.
 * A null pointer is accepted everywhere and means that nobody listens. Safe from any thread.
 */
#ifndef CSP_BASE_DIAG_H
#define CSP_BASE_DIAG_H

#include "base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum csp_severity {
    CSP_DEBUG,   /* shown with -v */
    CSP_NOTE,    /* shown unless -q */
    CSP_WARNING, /* always shown; the result is complete but something deserves attention */
    CSP_FAILURE, /* always shown; the result is not what was asked for */
};

typedef void csp_diag_fn(void *user, enum csp_severity severity, const char *message);

struct csp_diag {
    csp_diag_fn *emit;
    void *user;
    unsigned long warnings; /* how many were emitted; changed atomically */
    unsigned long failures;
};

/* Reports a failure and returns -error, so that callers can write `return csp_fail(...)`. */
int csp_fail(struct csp_diag *diag, enum csp_error error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void csp_warn(struct csp_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void csp_note(struct csp_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void csp_debug(struct csp_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif

#endif
