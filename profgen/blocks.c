#include "profgen/blocks.h"

#include "base/alloc.h"

#include <string.h>
#include <xxhash.h>
#include <zstd.h>

/* Nothing is compressed further than this, so that a reader knows what to expect at most. */
enum { LARGEST_RATIO = 1024 };

static uint64_t hash_of(const void *stored, uint32_t sizes[2], uint64_t number)
{
    return XXH3_64bits_withSeed(stored, sizes[1], XXH3_64bits_withSeed(sizes, 8, number));
}

static void put(struct csp_block_writer *writer, const void *data, size_t size)
{
    writer->written += size;
    if (writer->stream)
        fwrite(data, 1, size, writer->stream);
    else if (size)
        csp_buf_add(writer->out, data, size);
}

static void write_block(struct csp_block_writer *writer)
{
    struct csp_buf *block = &writer->block, header = {0}, stored = {0};
    if (!writer->context)
        writer->context = ZSTD_createCCtx();
    size_t bound = ZSTD_compressBound(block->len);
    size_t size = ZSTD_compressCCtx(writer->context, csp_buf_reserve(&stored, bound), bound,
                                    block->data, block->len, writer->level);
    bool plain = ZSTD_isError(size) || size >= block->len || block->len / LARGEST_RATIO > size;
    uint32_t sizes[2] = {(uint32_t)block->len, (uint32_t)(plain ? block->len : size)};
    const void *bytes = plain ? block->data : stored.data;
    csp_buf_add_u32(&header, sizes[0]);
    csp_buf_add_u32(&header, sizes[1]);
    csp_buf_add_u64(&header, hash_of(bytes, sizes, writer->number++));
    put(writer, header.data, header.len);
    put(writer, bytes, sizes[1]);
    block->len = 0;
    csp_buf_free(&header);
    csp_buf_free(&stored);
}

void csp_block_item(struct csp_block_writer *writer)
{
    if (writer->block.len >= writer->least)
        write_block(writer);
}

void csp_block_end(struct csp_block_writer *writer)
{
    if (writer->block.len)
        write_block(writer);
    csp_buf_reserve(&writer->block, 1);
    write_block(writer);
    csp_buf_free(&writer->block);
    ZSTD_freeCCtx(writer->context);
    writer->context = NULL;
}

static int fail(const struct csp_block_reader *reader, uint64_t offset, const char *what,
                struct csp_diag *diag)
{
    return csp_fail(diag, CSP_ERR_INPUT, "%s: offset %llu: %s", reader->path,
                    (unsigned long long)offset, what);
}

/* Bytes of the file, or null when it ends before. */
static const uint8_t *take(struct csp_block_reader *reader, size_t size)
{
    const uint8_t *bytes = NULL;
    if (reader->data) {
        if (size <= reader->size - reader->offset)
            bytes = reader->data + reader->offset;
    } else {
        reader->stored.len = 0;
        uint8_t *room = (uint8_t *)csp_buf_reserve(&reader->stored, size);
        if (fread(room, 1, size, reader->stream) == size)
            bytes = room;
    }
    reader->offset += size;
    return bytes;
}

static int unpack(struct csp_block_reader *reader, const uint8_t *stored, const uint32_t sizes[2],
                  struct csp_diag *diag)
{
    reader->block.len = 0;
    char *room = csp_buf_reserve(&reader->block, sizes[0]);
    if (!reader->context)
        reader->context = ZSTD_createDCtx();
    if (sizes[0] == sizes[1])
        memcpy(room, stored, sizes[0]);
    else if (ZSTD_decompressDCtx(reader->context, room, sizes[0], stored, sizes[1]) != sizes[0])
        return fail(reader, reader->start + CSP_BLOCK_HEADER, "cannot be decompressed", diag);
    reader->cursor = csp_cursor(room, sizes[0]);
    return 0;
}

static int read_block(struct csp_block_reader *reader, struct csp_diag *diag)
{
    static const char cut[] = "expected another block: it was cut short";
    uint32_t sizes[2];
    uint64_t hash;
    reader->start = reader->offset;
    const uint8_t *header = take(reader, CSP_BLOCK_HEADER);
    if (!header)
        return fail(reader, reader->start, cut, diag);
    memcpy(sizes, header, 8);
    memcpy(&hash, header + 8, 8);
    if (sizes[0] > CSP_BLOCK_LARGEST || sizes[1] > sizes[0] || sizes[0] / LARGEST_RATIO > sizes[1])
        return fail(reader, reader->start, "impossible sizes of a block: it is damaged", diag);
    const uint8_t *stored = take(reader, sizes[1]);
    if (!stored)
        return fail(reader, reader->start + CSP_BLOCK_HEADER, cut, diag);
    if (hash_of(stored, sizes, reader->number++) != hash)
        return fail(reader, reader->start, "the checksum of the block is wrong: it is damaged",
                    diag);
    reader->ended = !sizes[0];
    if (reader->ended && reader->data && reader->offset != reader->size)
        return fail(reader, reader->offset, "expected the end: something was appended", diag);
    return unpack(reader, stored, sizes, diag);
}

void csp_block_reader_begin(struct csp_block_reader *reader, const uint8_t *data, size_t size,
                            const char *path, uint64_t offset)
{
    *reader = (struct csp_block_reader){.data = data,
                                        .size = size,
                                        .path = path,
                                        .offset = offset,
                                        .block = reader->block,
                                        .stored = reader->stored,
                                        .context = reader->context};
}

int csp_block_next(struct csp_block_reader *reader, struct csp_diag *diag)
{
    if (reader->ended || csp_cursor_left(&reader->cursor))
        return 0;
    return read_block(reader, diag);
}

void csp_block_reader_free(struct csp_block_reader *reader)
{
    csp_buf_free(&reader->block);
    csp_buf_free(&reader->stored);
    ZSTD_freeDCtx(reader->context);
}

void csp_block_add_uleb(struct csp_buf *out, uint64_t value)
{
    uint8_t *at = (uint8_t *)csp_buf_reserve(out, CSP_ULEB_MOST);
    out->len += (size_t)(csp_block_put_uleb(at, value) - at);
}

void csp_block_add_sleb(struct csp_buf *out, uint64_t difference)
{
    int64_t value = (int64_t)difference;
    uint8_t *at = (uint8_t *)csp_buf_reserve(out, CSP_ULEB_MOST);
    size_t size = 0;
    for (; value < -64 || value > 63; value >>= 7)
        at[size++] = (uint8_t)((value & 0x7f) | 0x80);
    at[size++] = (uint8_t)(value & 0x7f);
    out->len += size;
}
