#include "base/diag.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void emit(struct csp_diag *diag, enum csp_severity severity, const char *format,
                 va_list args)
{
    if (!diag)
        return;
    if (severity == CSP_WARNING)
        __atomic_fetch_add(&diag->warnings, 1, __ATOMIC_RELAXED);
    if (severity == CSP_FAILURE)
        __atomic_fetch_add(&diag->failures, 1, __ATOMIC_RELAXED);
    if (!diag->emit)
        return;
    char *message = csp_vasprintf(format, args);
    diag->emit(diag->user, severity, message);
    free(message);
}

int csp_fail(struct csp_diag *diag, enum csp_error error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(diag, CSP_FAILURE, format, args);
    va_end(args);
    return -(int)error;
}

void csp_warn(struct csp_diag *diag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(diag, CSP_WARNING, format, args);
    va_end(args);
}

void csp_note(struct csp_diag *diag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(diag, CSP_NOTE, format, args);
    va_end(args);
}

void csp_debug(struct csp_diag *diag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(diag, CSP_DEBUG, format, args);
    va_end(args);
}
