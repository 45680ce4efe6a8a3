/* The ledger of faults: text, one line an item. Times are those before clock faults.
 *
 *   csprof-ledger 1
 *   fault KIND VALUE                a fault that was turned on
 *   sample CPU TID TIME FATE        pauses: "lost", "throttled", "skidded" (its pc is wrong)
 *   window CPU LAST FATE            LAST: the last time in its trace. FATE:
 *     lost        its trace is nowhere in the recording, or not announced there
 *     cut         its end is missing; there is at least a branch left
 *     begun       the same, and there is none: only where it began, or less
 *     beheaded    its beginning is missing
 *     doubtful    in a piece with a hole
 *     unproven    whole, as far as the others go; but trace is missing right behind it, or records
 *                 are, one of which may have told of missing trace within it
 *   total pauses N                  pause samples that were written
 *   total lost N                    records that LOST records tell of
 *   total bytes N                   of trace that AUX records announce or samples carry
 *   total unannounced N             of trace whose AUX record was lost
 *   done
 */
#ifndef CSP_EMULATE_FAULT_LEDGER_H
#define CSP_EMULATE_FAULT_LEDGER_H

#include "emulate/faults.h"

void csp_ledger_begin(struct csp_buf *ledger, const struct csp_faults *faults);
void csp_ledger_sample(struct csp_buf *ledger, const struct csp_event *pause, const char *fate);
void csp_ledger_window(struct csp_buf *ledger, uint32_t cpu, uint64_t last_time, const char *fate);
/* What becomes of the windows of a trace event when its bytes [first, last) are missing. */
void csp_ledger_missing(struct csp_buf *ledger, const struct csp_event *trace, size_t first,
                        size_t last);
/* Counts what is left in the events; `raw`: as a TRBE stores it. */
void csp_ledger_end(struct csp_buf *ledger, const struct csp_events *events, bool raw);

#endif
