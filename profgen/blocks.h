/* A stream of items in blocks that are compressed and checked one by one, so that neither who
 * writes nor who reads needs memory for all of it. Inside of profgen only.
 *
 * Numbers are little-endian. A block is:
 *
 *     0   u32 size of its contents, u32 size as stored: less when they are one zstd frame
 *     8   u64 XXH3-64 of the bytes as stored, seeded with the XXH3-64 of the 8 bytes before,
 *         seeded with the number of the block
 *     16  the contents as stored
 *
 * An item lies in one block. The last block has no contents.
 */
#ifndef CSP_PROFGEN_BLOCKS_H
#define CSP_PROFGEN_BLOCKS_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/diag.h"

#include <stdio.h>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

enum { CSP_BLOCK_HEADER = 16, CSP_BLOCK_LARGEST = 64 << 20 };

/* Zero-initialise, then set the first four. */
struct csp_block_writer {
    FILE *stream;         /* where to write; its error is found by who closes it … */
    struct csp_buf *out;  /* … or, without one, where to append */
    size_t least;         /* a block ends behind the item that makes it so large */
    int level;            /* zstd's */
    struct csp_buf block; /* where to add items */
    uint64_t number, written;
    struct ZSTD_CCtx_s *context;
};

/* To be called after each item. */
void csp_block_item(struct csp_block_writer *writer);
/* Writes what is left and the last block, and frees the memory. */
void csp_block_end(struct csp_block_writer *writer);

/* Zero-initialise, then set the first four. */
struct csp_block_reader {
    const uint8_t *data; /* where to read … */
    size_t size;
    FILE *stream;     /* … or, without data, this */
    const char *path; /* for messages */
    uint64_t offset;  /* in the file, of the block that comes next */
    uint64_t number;
    struct csp_cursor cursor; /* in the block */
    uint64_t start;           /* in the file, of the block */
    bool ended;
    struct csp_buf block, stored;
    struct ZSTD_DCtx_s *context;
};

/* Sets them for another file, with the memory of the last one. */
void csp_block_reader_begin(struct csp_block_reader *reader, const uint8_t *data, size_t size,
                            const char *path, uint64_t offset);
/* Makes the cursor stand at an item, in the next block if need be; at the end it stands at nothing.
 * Errors: CSP_ERR_INPUT: damaged, or cut short; the message names the offset. */
int csp_block_next(struct csp_block_reader *reader, struct csp_diag *diag);
void csp_block_reader_free(struct csp_block_reader *reader);

enum { CSP_ULEB_MOST = 10 }; /* bytes */

/* Where there is room for it; returns where it ends. */
static inline uint8_t *csp_block_put_uleb(uint8_t *at, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

void csp_block_add_uleb(struct csp_buf *out, uint64_t value);
void csp_block_add_sleb(struct csp_buf *out, uint64_t difference);

#endif
