#include "emulate/trace_unit.h"

/* Offsets from VBAR_EL1 of the vectors for exceptions from a lower level that uses AArch64. */
enum { VECTOR_SYNCHRONOUS = 0x400, VECTOR_IRQ = 0x480 };

void csp_unit_enable(struct csp_trace_unit *unit)
{
    csp_core_reset(&unit->core);
    unit->enabled = true;
    unit->synchronised = unit->tracing = unit->target_untold = false;
}

void csp_unit_disable(struct csp_trace_unit *unit)
{
    csp_core_flush(&unit->core);
    unit->enabled = unit->tracing = unit->target_untold = false;
}

static void synchronise(struct csp_trace_unit *unit)
{
    csp_core_sync(&unit->core);
    unit->return_depth = 0; /* whoever begins to decode here has none */
    unit->synchronised = true;
    unit->synchronised_at = unit->core.out.len;
}

static void begin_run(struct csp_trace_unit *unit, uint64_t pc, uint64_t now)
{
    if (!unit->synchronised)
        synchronise(unit);
    csp_core_trace_on(&unit->core);
    csp_core_address_context(&unit->core, pc, 0, true);
    unit->tracing = true;
    unit->at_target = false;
    unit->target_untold = unit->atom_since_timestamp = false;
    unit->atom_since_count = unit->count_known = false;
    unit->return_depth = 0;
    unit->next_timestamp = now;
}

static void send_timestamp(struct csp_trace_unit *unit, uint64_t now)
{
    csp_core_timestamp(&unit->core, now);
    unit->atom_since_timestamp = false;
    unit->next_timestamp = unit->timestamp_interval ? now + unit->timestamp_interval : UINT64_MAX;
}

/* Counts are told with branches, not more often than the threshold allows. */
static void count_cycles(struct csp_trace_unit *unit)
{
    uint64_t passed = unit->cycle - unit->counted_at;
    if (!(unit->core.configr & CSP_CONFIGR_CYCLE_COUNT) || !unit->atom_since_count ||
        (unit->count_known && passed < unit->core.cycle_threshold))
        return;
    csp_core_cycles(&unit->core, unit->count_known ? passed : 0);
    unit->count_known = true;
    unit->counted_at = unit->cycle;
    unit->atom_since_count = false;
}

static void push_return(struct csp_trace_unit *unit, uint64_t address)
{
    if (unit->return_depth == CSP_UNIT_RETURN_STACK) {
        for (unsigned i = 1; i < CSP_UNIT_RETURN_STACK; i++)
            unit->return_stack[i - 1] = unit->return_stack[i];
        unit->return_depth--;
    }
    unit->return_stack[unit->return_depth++] = address;
}

/* Where the last branch went, unless the return stack says it. */
static void tell_target(struct csp_trace_unit *unit, uint64_t pc)
{
    if (unit->may_return && unit->return_depth && unit->return_stack[unit->return_depth - 1] == pc)
        unit->return_depth--;
    else
        csp_core_address(&unit->core, pc);
    unit->target_untold = false;
}

void csp_unit_enter(struct csp_trace_unit *unit, uint64_t pc, uint64_t now)
{
    if (!unit->enabled)
        return;
    if (!unit->tracing) {
        begin_run(unit, pc, now);
        return;
    }
    if (unit->target_untold)
        tell_target(unit, pc);
    count_cycles(unit);
    if (unit->synchronisation_bytes && unit->at_target &&
        unit->core.out.len - unit->synchronised_at >= unit->synchronisation_bytes) {
        synchronise(unit);
        csp_core_address_context(&unit->core, pc, 0, true);
        send_timestamp(unit, now);
    }
    if (unit->atom_since_timestamp && now >= unit->next_timestamp)
        send_timestamp(unit, now);
    unit->at_target = false;
}

void csp_unit_branch(struct csp_trace_unit *unit, enum csp_flow_kind kind, bool taken,
                     uint64_t next)
{
    if (!unit->tracing || !csp_flow_is_waypoint(kind))
        return;
    bool goes = kind != CSP_FLOW_BARRIER && (taken || kind != CSP_FLOW_CONDITIONAL);
    csp_core_atom(&unit->core, taken || kind != CSP_FLOW_CONDITIONAL);
    unit->atom_since_timestamp = unit->atom_since_count = unit->at_target = true;
    unit->target_direct = !csp_flow_is_indirect(kind);
    unit->target_untold = csp_flow_is_indirect(kind) || (unit->broadcasts && goes);
    unit->may_return = csp_flow_is_indirect(kind) && !csp_flow_is_call(kind) && !unit->broadcasts;
    if (csp_flow_is_call(kind) && unit->core.configr & CSP_CONFIGR_RETURN_STACK)
        push_return(unit, next);
}

void csp_unit_exception(struct csp_trace_unit *unit, enum csp_exception_type type,
                        uint64_t return_address, uint64_t now)
{
    if (!unit->enabled)
        return;
    if (!unit->tracing)
        begin_run(unit, return_address, now);
    bool both = unit->target_untold && !unit->target_direct;
    /* With a return stack the target goes in a packet of its own: OpenCSD (1.3.3 to 1.8.1) would
     * take it from the stack in spite of what the exception packet says. */
    if (both && unit->core.configr & CSP_CONFIGR_RETURN_STACK) {
        tell_target(unit, return_address);
        both = false;
    }
    csp_core_exception(&unit->core, type, return_address, both);
    unsigned vector = type == CSP_EXCEPTION_IRQ ? VECTOR_IRQ : VECTOR_SYNCHRONOUS;
    csp_core_address_context(&unit->core, unit->kernel_vectors + vector, 1, false);
    send_timestamp(unit, now);
    unit->tracing = unit->target_untold = false;
}

void csp_unit_gap(struct csp_trace_unit *unit)
{
    csp_core_flush(&unit->core);
    unit->tracing = unit->target_untold = false;
}

void csp_unit_take(struct csp_trace_unit *unit)
{
    unit->synchronised_at -= unit->core.out.len;
    unit->core.out.len = 0;
}
