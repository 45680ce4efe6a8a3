/* Call probes from debug information, where the compiler wrote none.
 *
 * Clang 22 writes the probes of calls for x86-64 only. The DWARF discriminator of a call
 * instruction holds the same (LLVM's PseudoProbe.h, PseudoProbeDwarfDiscriminator), and the
 * discriminators of the callsites that it is inlined at give its place in the inline tree.
 */
#ifndef CSP_PROFGEN_CALL_PROBES_H
#define CSP_PROFGEN_CALL_PROBES_H

#include "profgen/counters.h"
#include "profgen/program.h"

/* A discriminator that is a probe. */
struct csp_probe_discriminator {
    uint32_t index;
    uint8_t type;   /* enum csp_probe_type */
    uint8_t factor; /* per cent of the callsite's count that this copy of it stands for */
};

/* False when the discriminator is none of a probe; `index` is what the compiler would read even
 * then. */
bool csp_probe_discriminator_decode(uint32_t value, struct csp_probe_discriminator *decoded);

enum csp_call_probe_flags {
    /* The probe of a tail call goes where LLVM's pass puts it, before the last
     * instruction ahead of it, where llvm-profgen does not find it. Without this it is at the jump.
     */
    CSP_TAIL_CALLS_BEFORE_LAST = 1 << 0,
    /* It is an error, not a warning, when there are calls but none has a probe. */
    CSP_CALL_PROBES_REQUIRED = 1 << 1,
};

/* Adds a probe for each call in the functions that `counters` touch. Where the binary has call
 * probes, those of tail calls are moved to the jump. Errors: CSP_ERR_INPUT, see above; the message
 * names the compiler's options. */
int csp_call_probes_rebuild(struct csp_program *program, const struct csp_counters *counters,
                            unsigned flags, struct csp_diag *diag);

#endif
