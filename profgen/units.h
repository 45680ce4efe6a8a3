/* Where the compiler can inline what: compiling file by file it sees one compile unit at a time,
 * and a profile of a call into another one, nested in its caller's, is lost to both. */
#ifndef CSP_PROFGEN_UNITS_H
#define CSP_PROFGEN_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct csp_program;
struct csp_units;

/* What a binary's functions and pseudo-probes show. Everything can be inlined everywhere when a
 * unit has inlined another one's function: the program was compiled as a whole (LTO). The caller
 * destroys it. */
struct csp_units *csp_units_create(const struct csp_program *program);
void csp_units_destroy(struct csp_units *units);

/* Whether a compiler of the unit that has `caller` sees the body of `callee`; both are GUIDs. True
 * where the binary does not tell: of what has no code of its own, of weak functions (they are in
 * headers, mostly), and of names that several units have. */
bool csp_units_can_inline(const struct csp_units *units, uint64_t caller, uint64_t callee);

#ifdef __cplusplus
}
#endif

#endif
