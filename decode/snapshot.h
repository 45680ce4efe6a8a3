/* CoreSight snapshots: a folder of ini files with trace buffers and memory dumps, as debuggers save
 * them (OpenCSD's "decoder/docs/prog_guide", DS-5's snapshot format 1.0). */
#ifndef CSP_DECODE_SNAPSHOT_H
#define CSP_DECODE_SNAPSHOT_H

#include "decode/trace_input.h"

struct csp_snapshot;

/* Reads the folder (or the snapshot.ini in it). Every trace buffer becomes a stream, in the order
 * of their sections in the trace metadata. Trace sources other than ETMv4 and ETE are named and
 * left out. Errors: CSP_ERR_INPUT, CSP_ERR_UNSUPPORTED, CSP_ERR_IO. */
int csp_snapshot_open(struct csp_snapshot **snapshot, const char *path, struct csp_diag *diag);
const struct csp_trace_input *csp_snapshot_trace(const struct csp_snapshot *snapshot);
void csp_snapshot_close(struct csp_snapshot *snapshot);

#endif
