/* Where the return address is at a PC of an AArch64 binary: in the link register, in a frame record
 * that x29 points to, or on the stack where only the unwind table would find it.
 *
 * Told by the binary's .eh_frame (DWARF 5, section 6.4; register numbers: DWARF for AArch64, x29 is
 * 29, LR 30, SP 31). The table alone does not say when x29 begins to point to the record: between
 * the store of {x29, x30} and `add x29, sp, #n` x29 is still the caller's, and between their load
 * and `ret` it is again, while the table waits until the stack pointer is back. So the instructions
 * around the PC are looked at.
 */
#ifndef CSP_DECODE_CODE_LEAF_STATE_H
#define CSP_DECODE_CODE_LEAF_STATE_H

#include "decode/callchain.h"

#include <libelf.h>

struct csp_leaf_table;

/* The table of a binary; where that has no unwind information, its code alone tells. `elf` must
 * outlive it. Not safe for concurrent use: results are remembered. */
struct csp_leaf_table *csp_leaf_table_create(Elf *elf);
/* `address` as in the ELF file's program headers, and so what comes back. */
struct csp_leaf csp_leaf_table_find(struct csp_leaf_table *table, uint64_t address);
void csp_leaf_table_destroy(struct csp_leaf_table *table);

#endif
