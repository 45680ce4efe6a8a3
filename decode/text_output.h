/* Decoded trace as text: the line formats of `csprof decode --format`. */
#ifndef CSP_DECODE_TEXT_OUTPUT_H
#define CSP_DECODE_TEXT_OUTPUT_H

#include "base/buf.h"
#include "decode/trace/element.h"
#include "decode/window.h"

/* "conditional", "call" …; "none" for CSP_BRANCH_UNKNOWN. */
const char *csp_branch_kind_name(enum csp_branch_kind kind);

/* `start end instructions kind`: hexadecimal addresses, end exclusive, kind of the last
 * instruction, or "not-taken" when it is a branch that did not. */
void csp_text_range(struct csp_buf *out, const struct csp_element *range);

/* ` 0xFROM/0xTO/P/-/-/0 …`, newest first, at most `limit` (0: all); as perf script prints a branch
 * stack, and llvm-profgen reads it. No newline. */
void csp_text_branch_stack(struct csp_buf *out, const struct csp_branch *oldest_first, size_t count,
                           size_t limit);

#endif
