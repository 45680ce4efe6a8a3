/* A text read in blocks of whole lines. Inside of profgen only. */
#ifndef CSP_PROFGEN_PERF_SCRIPT_BLOCK_H
#define CSP_PROFGEN_PERF_SCRIPT_BLOCK_H

#include "base/file.h"
#include "profgen/perf_script_line.h"

struct csp_script_blocks {
    const struct csp_input *source;
    uint64_t at, end; /* what is still to be read */
    char *buffer;
    size_t capacity, len; /* bytes read … */
    size_t taken;         /* … of which so many were handed out */
};

/* All of the source between two offsets. */
struct csp_script_blocks csp_script_blocks(const struct csp_input *source, uint64_t start,
                                           uint64_t end);
/* The next block: whole lines, each with its '\\n' (the last line of a text gets one), followed by
 * CSP_TEXT_MARGIN bytes that may be looked at. Valid until the next call. Returns 1, 0 at the end,
 * or a negative error: CSP_ERR_IO. */
int csp_script_blocks_next(struct csp_script_blocks *blocks, struct csp_text *block,
                           struct csp_diag *diag);
/* The offset of a byte of the last block. */
uint64_t csp_script_blocks_offset(const struct csp_script_blocks *blocks, const char *at);
void csp_script_blocks_free(struct csp_script_blocks *blocks);

#endif
