/* From an emulator's journal to csprof.data: an ordinary perf.data file, as
 *
 *   perf record -T -e cs_etm/aux-action=start-paused,timestamp,contextid/u
 *     -e cpu_cycles/aux-action=resume,period=R/u
 *     -e armv8_pmuv3_0/trcextout1,aux-action=pause,period=W,call-graph=fp/u
 *
 * would have made it on hardware, system-wide rings and AUXTRACE_INFO version 1 included, so that
 * perf 6.1 and later read it too. Records are in the order of their times.
 */
#ifndef CSP_EMULATE_JOURNAL_READER_H
#define CSP_EMULATE_JOURNAL_READER_H

#include "base/diag.h"
#include "emulate/faults.h"
#include "emulate/journal.h"
#include "emulate/settings.h"

#include <stddef.h>

struct csp_emulated_recording {
    /* In. */
    const uint8_t *journal;
    size_t journal_size;
    const char *const *command; /* for the header; null-terminated */
    struct csp_faults faults;
    const char *ledger; /* where to tell of them, or null */
    /* Out. */
    struct csp_emulate_settings settings;
    struct csp_journal_totals totals;
    bool complete; /* the program ended in a way that let the emulator finish */
    uint64_t pause_samples, resume_samples, aux_bytes, threads, maps;
    uint64_t cut_off; /* bytes at the end of the journal that are no whole record */
};

/* Writes the file, and the ledger when there are faults. Errors: CSP_ERR_IO, CSP_ERR_INPUT (a
 * journal of another build). */
int csp_emulated_recording_write(struct csp_emulated_recording *recording, const char *path,
                                 struct csp_diag *diag);

#endif
