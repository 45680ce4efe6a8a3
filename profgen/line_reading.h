/* Reads the debug information of the functions that ran, in a thread of its own while their samples
 * are still being read: making call probes and measuring code waits for it otherwise.
 *
 * Units are read for the first address that is asked for in them, and libLLVM's reading of one
 * cannot be shared: nobody else may look at the debug information meanwhile. What it complains of
 * is told to who looks at the same later, so that messages are those of one thread.
 */
#ifndef CSP_PROFGEN_LINE_READING_H
#define CSP_PROFGEN_LINE_READING_H

#include "base/pairs.h"
#include "profgen/program.h"

struct csp_line_reading;

struct csp_line_reading *csp_line_reading_begin(struct csp_program *program);
/* The branches from number `first` on were met. From any thread; `reading` may be null. */
void csp_line_reading_want(struct csp_line_reading *reading, const struct csp_pairs *branches,
                           size_t first);
/* Waits until what is wanted is read; null is let pass. */
void csp_line_reading_end(struct csp_line_reading *reading);

#endif
