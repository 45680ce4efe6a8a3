/* Runs a program under qemu-aarch64 with the plugin and writes its recording. */
#ifndef CSP_EMULATE_LAUNCH_H
#define CSP_EMULATE_LAUNCH_H

#include "base/diag.h"
#include "emulate/journal_reader.h"
#include "emulate/settings.h"

struct csp_emulate_options {
    struct csp_emulate_settings settings; /* size and descriptors are filled in */
    const char *output;                   /* csprof.data */
    const char *truth;                    /* or null */
    const char *cover_at;                 /* list of addresses (settings.h), or null */
    const char *journal;                  /* file to keep the journal in, or null */
    struct csp_faults faults;             /* of the recording */
    const char *ledger;                   /* of the faults, or null */
    const char *qemu;                     /* program to run; searched in PATH */
    const char *sysroot;                  /* where the program's libraries are, or null */
    char **command;                       /* the program and its arguments, null-terminated */
    bool output_to_stderr;                /* the program's standard output goes there */
    const char *const *recorder_command;  /* for the recording's header */
};

struct csp_emulate_result {
    struct csp_emulated_recording recording; /* counters; its inputs are gone */
    int exit_code; /* of the program: as a shell tells it, 128 + signal when killed */
    int signal;    /* that killed it, else 0 */
};

/* The program's own input, output, arguments and environment are untouched. When it ran at all, the
 * recording is written, whatever became of it. Errors: CSP_ERR_INPUT (no AArch64 program),
 * CSP_ERR_ENV (no QEMU, no plugin, one that does not fit), CSP_ERR_IO. */
int csp_emulate_run(const struct csp_emulate_options *options, struct csp_emulate_result *result,
                    struct csp_diag *diag);

#endif
