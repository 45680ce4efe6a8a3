/* The virtual trace core: turns trace elements into the packets an ETMv4 or an ETE emits.
 *
 * It knows the packets and their compression state, nothing about programs: emulate/trace_unit.h
 * decides what is traced. Both front ends share it.
 *
 * Source: Arm ETM architecture specification (IHI 0064H) "Descriptions of instruction trace
 * packets"; Arm ARM (DDI 0487) part D "Embedded Trace Extension". Which form is chosen where the
 * architecture leaves a choice follows Neoverse N1: full 64-bit address with context after Trace On
 * and after each Trace Info, the shortest address form otherwise.
 */
#ifndef CSP_EMULATE_TRACE_CORE_H
#define CSP_EMULATE_TRACE_CORE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Bits of TRCCONFIGR that the core and the trace unit honour. */
enum {
    CSP_CONFIGR_BRANCH_BROADCAST = 1 << 3,
    CSP_CONFIGR_CYCLE_COUNT = 1 << 4,
    CSP_CONFIGR_CONTEXT_ID = 1 << 6,
    CSP_CONFIGR_TIMESTAMP = 1 << 11,
    CSP_CONFIGR_RETURN_STACK = 1 << 12,
};

/* Identification registers of the core. TRCIDR0: 64-bit timestamps, commit mode 1, return stack,
 * cycle counts, branch broadcast. TRCIDR2: 64-bit addresses, 4-byte context and VM identifiers,
 * cycle counts of 12 bits. TRCIDR8: no speculation. */
enum {
    CSP_CORE_IDR0 = 1 << 29 | 8 << 24 | 1 << 9 | 1 << 7 | 1 << 5 | 1,
    CSP_CORE_IDR1_ETMV4 = 0x4100f421,
    CSP_CORE_IDR1_ETE = 0x4100fff1,
    CSP_CORE_IDR2 = 4 << 10 | 4 << 5 | 8,
    CSP_CORE_IDR8 = 0,
    CSP_CORE_AUTHSTATUS = 0xcc,
    CSP_CORE_DEVARCH_ETE = 0x47705a13, /* ETE 1.0 */
};

/* Exception numbers of A-profile (ETM specification, "Exception packet", TYPE field). */
enum csp_exception_type {
    CSP_EXCEPTION_CALL = 0x2,
    CSP_EXCEPTION_TRAP = 0x3,
    CSP_EXCEPTION_INSTRUCTION_DEBUG = 0x6,
    CSP_EXCEPTION_INSTRUCTION_FAULT = 0xb,
    CSP_EXCEPTION_DATA_FAULT = 0xc,
    CSP_EXCEPTION_IRQ = 0xe,
};

struct csp_trace_core {
    /* Set by the owner before the first call. */
    uint32_t configr;
    uint32_t context_id;
    uint32_t cycle_threshold; /* TRCCCCTLR: no cycle count is smaller */

    /* Packets, unformatted. The owner takes them and sets `len` to 0 as it pleases. */
    struct csp_buf out;

    /* What a decoder knows by now. */
    uint64_t addresses[3]; /* address history buffer, newest first */
    uint64_t timestamp;
    bool timestamp_known;
    bool context_known; /* the context ID was sent since the last Trace Info */
    /* Atoms not yet emitted, the oldest in bit 0; 1 is E. */
    uint32_t atoms;
    unsigned atom_count;
};

/* Forgets all compression state: what enabling the trace unit does. Keeps `out`. */
void csp_core_reset(struct csp_trace_core *core);
/* A-Sync and Trace Info. An address with context must follow before the next atom. */
void csp_core_sync(struct csp_trace_core *core);
void csp_core_trace_on(struct csp_trace_core *core);
/* The next instruction is at `address`, at exception level `el` (non-secure AArch64). Always the
 * full form. The context ID is sent unless it was since the last Trace Info. `with_id` false leaves
 * it out, as hardware does at the entry to an exception. */
void csp_core_address_context(struct csp_trace_core *core, uint64_t address, unsigned el,
                              bool with_id);
/* The shortest form that tells `address`. */
void csp_core_address(struct csp_trace_core *core, uint64_t address);
void csp_core_atom(struct csp_trace_core *core, bool taken);
/* Emits what atoms are pending; every other packet does so first. */
void csp_core_flush(struct csp_trace_core *core);
/* An exception with its preferred return address. `after_indirect`: the last traced instruction was
 * an indirect branch whose target (this very address) has not been sent. */
void csp_core_exception(struct csp_trace_core *core, enum csp_exception_type type,
                        uint64_t return_address, bool after_indirect);
void csp_core_timestamp(struct csp_trace_core *core, uint64_t value);
/* So many cycles passed since the last count; not less than the threshold. 0: how many is not
 * known. */
void csp_core_cycles(struct csp_trace_core *core, uint64_t cycles);

#endif
