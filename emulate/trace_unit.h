/* The virtual trace unit: follows what one processing element executes at EL0 and drives the trace
 * core as hardware with a user-only filter would.
 *
 * What it imitates, as seen on Neoverse N1: an enabling starts with A-Sync, Trace Info, Trace On; a
 * return to EL0 with Trace On alone; every entry to the kernel emits the exception with its
 * preferred return address, then the address and context of the kernel's vector, a timestamp, and
 * nothing until the return.
 */
#ifndef CSP_EMULATE_TRACE_UNIT_H
#define CSP_EMULATE_TRACE_UNIT_H

#include "emulate/flow.h"
#include "emulate/trace_core.h"

/* Return addresses that the unit keeps. */
enum { CSP_UNIT_RETURN_STACK = 3 };

struct csp_trace_unit {
    struct csp_trace_core core;
    /* Set by the owner: timestamps at most every so many units of `now`; 0 sends none but those
     * after Trace On and at exceptions. */
    uint64_t timestamp_interval;
    uint64_t synchronisation_bytes; /* A-Sync at least every so many bytes (TRCSYNCPR); 0: never */
    uint64_t kernel_vectors;        /* VBAR_EL1 */
    /* Kept up to date by the owner. */
    uint64_t cycle;  /* of the processor, for cycle counts */
    bool broadcasts; /* branch broadcast is on, here */

    bool enabled;
    bool synchronised;  /* A-Sync and Trace Info were sent since it was enabled */
    bool tracing;       /* within a run: after Trace On, before the exception that ends it */
    bool target_untold; /* where the last branch went is still to be sent */
    bool target_direct; /* its code tells, too: branch broadcast */
    bool may_return;    /* it may take its target from the return stack */
    bool at_target;     /* nothing ran since the last atom */
    bool atom_since_timestamp, atom_since_count;
    bool count_known;    /* a cycle count was sent since the last Trace On */
    uint64_t counted_at; /* `cycle` then */
    uint64_t return_stack[CSP_UNIT_RETURN_STACK];
    unsigned return_depth;
    uint64_t next_timestamp;
    size_t synchronised_at; /* value of core.out.len; see csp_unit_take */
};

void csp_unit_enable(struct csp_trace_unit *unit);
/* Stops tracing. A run that is open ends without an exception. */
void csp_unit_disable(struct csp_trace_unit *unit);

/* Execution is at `pc`, at EL0, and the instruction there is about to run. Call it for the first
 * instruction after a branch, an exception's return or an enabling; other calls do no harm: where
 * no branch led, the unit does not synchronise, since the address that it tells then is taken for
 * where the last one went. */
void csp_unit_enter(struct csp_trace_unit *unit, uint64_t pc, uint64_t now);
/* An instruction of this kind ran and was `taken` (conditional ones; all others branch). The one
 * behind it is at `next`. */
void csp_unit_branch(struct csp_trace_unit *unit, enum csp_flow_kind kind, bool taken,
                     uint64_t next);
/* The kernel is entered; `return_address` is the preferred return address. */
void csp_unit_exception(struct csp_trace_unit *unit, enum csp_exception_type type,
                        uint64_t return_address, uint64_t now);

/* A filter other than the exception level stops the trace in the middle of EL0: Trace On follows
 * when csp_unit_enter is called again. */
void csp_unit_gap(struct csp_trace_unit *unit);

/* Forgets the bytes in core.out, which the owner has taken. */
void csp_unit_take(struct csp_trace_unit *unit);

#endif
