/* What really ran, for tests: see docs/machine.md, "The truth". Text, one item a line:
 *
 *   csprof-machine-truth 1
 *   window CPU OPENED CLOSED       the trace unit was enabled; times in ns of the guest's counter
 *   context ID                     CONTEXTIDR_EL1 from here on: the thread
 *   run START                      address of the first instruction after Trace On
 *   b FROM TO KIND                 a taken branch; KIND as in enum csp_flow_kind
 *   end RETURN TYPE INSTRUCTIONS   preferred return address, exception type (hex), instructions
 *                                  that ran; TYPE ff: a filter stopped the trace before RETURN
 *   output CYCLES OF               external output 1 was true so long of the cycles at EL0
 *   calls RETURN...                return addresses of the calls in progress in the thread that ran
 *                                  last, innermost first; where a signal interrupted, as !PC
 *   mark NUMBER                    a program ran `hint #93` at the start of a block: NUMBER was in
 * x0 total CPU INSTRUCTIONS         at EL0, from start to power-off done
 *
 * Addresses and IDs are hexadecimal, the rest decimal. */
#ifndef CSP_EMULATE_MACHINE_MACHINE_TRUTH_H
#define CSP_EMULATE_MACHINE_MACHINE_TRUTH_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "emulate/flow.h"
#include "emulate/shadow_stack.h"

#include <stdbool.h>

enum { CSP_MACHINE_TRUTH_FILTERED = 0xff };

/* One CPU's open window. Zero-initialise. */
struct csp_machine_window {
    struct csp_buf lines;
    uint32_t context;
    bool context_told, in_run;
    uint64_t opened, run_instructions;
};

void csp_machine_window_run(struct csp_machine_window *window, uint64_t start, uint32_t context);
void csp_machine_window_branch(struct csp_machine_window *window, uint64_t from, uint64_t to,
                               enum csp_flow_kind kind);
void csp_machine_window_end(struct csp_machine_window *window, uint64_t return_address,
                            unsigned type);
/* The window as text, then forgotten. */
void csp_machine_window_close(struct csp_machine_window *window, unsigned cpu, uint64_t closed,
                              uint64_t output_cycles, uint64_t user_cycles,
                              const struct csp_shadow_stack *stack, struct csp_buf *out);

#endif
