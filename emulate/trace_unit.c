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
    unit->target_untold = unit->atom_since_timestamp = false;
    unit->next_timestamp = now;
}

static void send_timestamp(struct csp_trace_unit *unit, uint64_t now)
{
    csp_core_timestamp(&unit->core, now);
    unit->atom_since_timestamp = false;
    unit->next_timestamp = unit->timestamp_interval ? now + unit->timestamp_interval : UINT64_MAX;
}

void csp_unit_enter(struct csp_trace_unit *unit, uint64_t pc, uint64_t now)
{
    if (!unit->enabled)
        return;
    if (!unit->tracing) {
        begin_run(unit, pc, now);
        return;
    }
    if (unit->target_untold) {
        csp_core_address(&unit->core, pc);
        unit->target_untold = false;
    }
    if (unit->synchronisation_bytes &&
        unit->core.out.len - unit->synchronised_at >= unit->synchronisation_bytes) {
        synchronise(unit);
        csp_core_address_context(&unit->core, pc, 0, true);
        send_timestamp(unit, now);
    }
    if (unit->atom_since_timestamp && now >= unit->next_timestamp)
        send_timestamp(unit, now);
}

void csp_unit_branch(struct csp_trace_unit *unit, enum csp_flow_kind kind, bool taken)
{
    if (!unit->tracing || !csp_flow_is_waypoint(kind))
        return;
    csp_core_atom(&unit->core, taken || kind != CSP_FLOW_CONDITIONAL);
    unit->atom_since_timestamp = true;
    unit->target_untold = csp_flow_is_indirect(kind);
}

void csp_unit_exception(struct csp_trace_unit *unit, enum csp_exception_type type,
                        uint64_t return_address, uint64_t now)
{
    if (!unit->enabled)
        return;
    if (!unit->tracing)
        begin_run(unit, return_address, now);
    csp_core_exception(&unit->core, type, return_address, unit->target_untold);
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
