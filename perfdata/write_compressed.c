/* Compressed records: the counterpart of perfdata/expand.h. All of a file is one zstd stream, so
 * that a record is told by those before it. It is flushed at the end of each COMPRESSED record,
 * which holds whole records: whatever of them reached the disk can be read. */
#include "base/bytes.h"
#include "perfdata/reader_private.h"
#include "perfdata/writer_private.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
    HEADER = 8,
    /* Contents that even incompressible fit in a record. */
    PIECE = 60 * 1024,
    /* perf expands each record into so much memory, which the feature tells (comp_mmap_len). */
    EXPANDED_MAX = 128 * 1024,
    /* 1 MiB back: what higher levels would take of memory is too much beside a program. */
    WINDOW_LOG = 20,
};

struct csp_packing {
    ZSTD_CCtx *context;
    struct csp_buf plain; /* whole records that wait to be compressed */
    int level;
    uint64_t before, after; /* bytes */
    uint8_t record[UINT16_MAX];
};

bool csp_writer_compress(struct csp_writer *writer, int level)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (!context)
        return false;
    if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WINDOW_LOG))) {
        ZSTD_freeCCtx(context);
        return false;
    }
    writer->packing = csp_calloc(1, sizeof *writer->packing);
    writer->packing->context = context;
    writer->packing->level = level;
    return true;
}

static void pack_piece(struct csp_writer *writer, const char *data, size_t size)
{
    struct csp_packing *packing = writer->packing;
    const uint32_t type = CSP_RECORD_COMPRESSED;
    ZSTD_inBuffer input = {data, size, 0};
    ZSTD_outBuffer output = {packing->record, sizeof packing->record, HEADER};
    if (ZSTD_compressStream2(packing->context, &output, &input, ZSTD_e_flush) != 0) {
        if (!writer->error)
            writer->error = ENOMEM; /* the only thing that zstd can lack here */
        return;
    }
    uint16_t record_size = (uint16_t)output.pos;
    memcpy(packing->record, &type, sizeof type);
    memset(packing->record + 4, 0, 2);
    memcpy(packing->record + 6, &record_size, sizeof record_size);
    packing->before += size;
    packing->after += output.pos;
    csp_writer_put(writer, packing->record, output.pos);
}

/* How many bytes the records take that go together; one alone may be more than a piece. */
static size_t take_records(const char *at, size_t left)
{
    size_t size = 0;
    while (size < left) {
        size_t next = csp_load16((const uint8_t *)at + size + 6);
        if (size && size + next > PIECE)
            break;
        size += next;
    }
    return size;
}

void csp_writer_pack(struct csp_writer *writer)
{
    struct csp_packing *packing = writer->packing;
    if (!packing)
        return;
    for (size_t at = 0; at < packing->plain.len;) {
        const char *data = packing->plain.data + at;
        size_t size = take_records(data, packing->plain.len - at);
        size_t first = size < PIECE ? size : PIECE;
        pack_piece(writer, data, first);
        if (size > first)
            pack_piece(writer, data + first, size - first);
        at += size;
    }
    packing->plain.len = 0;
}

/* perf looks for those that tell of trace before it expands anything (cs_etm__queue_aux_records,
 * tools/perf/util/cs-etm.c). */
static bool is_compressed(uint32_t type)
{
    return type < CSP_RECORD_USER && type != CSP_RECORD_AUX && type != CSP_RECORD_AUX_OUTPUT_HW_ID;
}

struct csp_buf *csp_writer_out(struct csp_writer *writer, uint32_t type)
{
    if (!writer->packing)
        return &writer->buffer;
    if (is_compressed(type))
        return &writer->packing->plain;
    csp_writer_pack(writer);
    return &writer->buffer;
}

size_t csp_writer_waiting(const struct csp_writer *writer)
{
    return writer->packing ? writer->packing->plain.len : 0;
}

void csp_writer_compression(const struct csp_writer *writer, uint64_t *before, uint64_t *after)
{
    *before = writer->packing ? writer->packing->before : 0;
    *after = writer->packing ? writer->packing->after : 0;
}

void csp_writer_compressed_feature(struct csp_writer *writer)
{
    enum { VERSION = 0, KIND_ZSTD = 1 };
    const struct csp_packing *packing = writer->packing;
    struct csp_buf *out = &writer->features[CSP_FEATURE_COMPRESSED];
    if (!packing)
        return;
    uint64_t after = packing->after ? packing->after : 1;
    csp_buf_add_u32(out, VERSION);
    csp_buf_add_u32(out, KIND_ZSTD);
    csp_buf_add_u32(out, (uint32_t)packing->level);
    csp_buf_add_u32(out, (uint32_t)((packing->before + after / 2) / after));
    csp_buf_add_u32(out, EXPANDED_MAX);
}

void csp_writer_free_packing(struct csp_writer *writer)
{
    if (!writer->packing)
        return;
    ZSTD_freeCCtx(writer->packing->context);
    csp_buf_free(&writer->packing->plain);
    free(writer->packing);
}
