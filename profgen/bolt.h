/* Counters for BOLT, in the two texts that it reads.
 *
 * Pre-aggregated (perf2bolt -pa, llvm-bolt -p -pa): addresses as linked,
 *     B FROM TO COUNT MISPREDICTED     a branch; FROM is X:0 when it is outside of the binary
 *     F FIRST LAST COUNT               executed in order, LAST being the last instruction's address
 * fdata (llvm-bolt -data): edges between places in functions, offsets in hexadecimal,
 *     1 FUNCTION OFFSET 1 FUNCTION OFFSET MISPREDICTED COUNT
 * with 0 [unknown] 0 for what is outside. Branches that were not taken, and the ends of blocks that
 * others jump behind, are edges too; returns are not. The N-th local symbol of a name is called
 * NAME/N. Source: BOLT's DataAggregator.h and DataReader.h.
 */
#ifndef CSP_PROFGEN_BOLT_H
#define CSP_PROFGEN_BOLT_H

#include "base/buf.h"
#include "profgen/counters.h"
#include "profgen/program.h"

enum csp_bolt_format { CSP_BOLT_NONE, CSP_BOLT_PREAGG, CSP_BOLT_FDATA };

/* Appends counters without contexts, sorted. Returns how many lines were written. */
uint64_t csp_bolt_write(const struct csp_program *program, const struct csp_counters *counters,
                        enum csp_bolt_format format, struct csp_buf *out);

#endif
