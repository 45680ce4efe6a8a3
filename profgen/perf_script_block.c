#include "profgen/perf_script_block.h"

#include "base/alloc.h"
#include "profgen/perf_script_text.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 256 * 1024 }; /* stays in the cache while it is read */

struct csp_script_blocks csp_script_blocks(const struct csp_input *source, uint64_t start,
                                           uint64_t end)
{
    return (struct csp_script_blocks){.source = source, .at = start, .end = end};
}

/* Appends what fits to the buffer, making it larger where it is full. */
static int fill(struct csp_script_blocks *blocks, struct csp_diag *diag)
{
    if (blocks->len == blocks->capacity) {
        blocks->capacity = blocks->capacity ? 2 * blocks->capacity : BLOCK_SIZE;
        blocks->buffer = csp_realloc_array(blocks->buffer, blocks->capacity + CSP_TEXT_MARGIN, 1);
    }
    uint64_t left = blocks->end - blocks->at;
    size_t room = blocks->capacity - blocks->len, size = left < room ? (size_t)left : room;
    int error =
        csp_input_read(blocks->source, blocks->at, blocks->buffer + blocks->len, size, diag);
    blocks->at += size;
    blocks->len += size;
    return error;
}

/* How many bytes the whole lines in the buffer have. */
static size_t whole_lines(struct csp_script_blocks *blocks)
{
    const char *newline = memrchr(blocks->buffer, '\n', blocks->len);
    return newline ? (size_t)(newline + 1 - blocks->buffer) : 0;
}

int csp_script_blocks_next(struct csp_script_blocks *blocks, struct csp_text *block,
                           struct csp_diag *diag)
{
    blocks->len -= blocks->taken;
    if (blocks->len)
        memmove(blocks->buffer, blocks->buffer + blocks->taken, blocks->len);
    blocks->taken = 0;
    while (blocks->at < blocks->end && !blocks->taken) {
        int error = fill(blocks, diag);
        if (error)
            return error;
        blocks->taken = whole_lines(blocks);
    }
    if (!blocks->len)
        return 0;
    memset(blocks->buffer + blocks->len, '\n', CSP_TEXT_MARGIN);
    size_t size = blocks->taken;
    if (!size) {
        size = blocks->len + 1;
        blocks->taken = blocks->len;
    }
    *block = (struct csp_text){blocks->buffer, blocks->buffer + size};
    return 1;
}

uint64_t csp_script_blocks_offset(const struct csp_script_blocks *blocks, const char *at)
{
    return blocks->at - blocks->len + (uint64_t)(at - blocks->buffer);
}

void csp_script_blocks_free(struct csp_script_blocks *blocks)
{
    free(blocks->buffer);
}
