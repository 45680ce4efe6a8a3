/* Decoded trace as text: the line formats of `csprof decode --format`. */
#ifndef CSP_DECODE_TEXT_OUTPUT_H
#define CSP_DECODE_TEXT_OUTPUT_H

#include "base/buf.h"
#include "decode/trace/element.h"
#include "perfdata/record.h"

/* "conditional", "call" …; "none" for CSP_BRANCH_UNKNOWN. */
const char *csp_branch_kind_name(enum csp_branch_kind kind);

/* `start end instructions kind`: hexadecimal addresses, end exclusive, kind of the last
 * instruction, or "not-taken" when it is a branch that did not. */
void csp_text_range(struct csp_buf *out, const struct csp_element *range);

/* A sample as `perf script -F ip,brstack` prints it, and llvm-profgen reads it: with a callchain,
 * its addresses leaf first, one a line, then the branch stack on a line; without, the address and
 * the branch stack on one line. Branches newest first, at most `limit` (0: all). */
void csp_text_sample(struct csp_buf *out, const struct csp_sample *sample, uint32_t limit);

/* The same for people and tests, with what stitching made of it, on one line:
 *
 *     TIME PID/TID CPU VERDICT FRAME … | ..END FROM>TO … START..
 *
 * Frames leaf first. Behind the bar, when there is a branch history, newest branch first, between
 * the two partial ranges of its trace window. Addresses in hexadecimal, 0 where one is not known.
 */
void csp_text_stitched_sample(struct csp_buf *out, const struct csp_sample *sample);

/* A mapping as `perf script --show-mmap-events` prints it, for llvm-profgen. */
void csp_text_mapping(struct csp_buf *out, const struct csp_mmap_event *event);

#endif
