/* What the sources of the writer share. */
#ifndef CSP_PERFDATA_WRITER_PRIVATE_H
#define CSP_PERFDATA_WRITER_PRIVATE_H

#include "base/buf.h"
#include "base/vec.h"
#include "perfdata/writer.h"

struct csp_writer_index_entry { /* of the auxtrace index */
    uint64_t file_offset, size;
};

struct csp_packing; /* perfdata/write_compressed.c */

struct csp_writer {
    int fd;
    char *path;
    int error;                      /* errno of the first write that failed */
    const char *oversized;          /* a record that cannot be written, or null */
    struct csp_buf buffer;          /* behind what was written */
    struct csp_packing *packing;    /* null: nothing is compressed */
    uint64_t written;               /* bytes already handed to the kernel */
    uint64_t whole;                 /* as many of them are whole records, for certain */
    CSP_VEC(struct csp_attr) attrs; /* with names and ids of our own */
    uint64_t attrs_offset, attrs_size, data_offset;
    struct csp_buf features[32]; /* contents by number; empty: not there */
    CSP_VEC(struct csp_writer_index_entry) index;
    uint64_t first_time, last_time; /* of samples */
    bool any_sample;
    uint64_t auxtrace_info_offset; /* in the file; 0: not written */
};

/* Appends bytes to the file. */
void csp_writer_put(struct csp_writer *writer, const void *data, size_t size);
/* Replaces bytes that were written. */
void csp_writer_put_at(struct csp_writer *writer, uint64_t offset, const struct csp_buf *bytes);
/* Writes what of the buffer is enough to be written. */
void csp_writer_settle(struct csp_writer *writer);
/* Where a record of this type is to be put together: what is written before it comes before it. */
struct csp_buf *csp_writer_out(struct csp_writer *writer, uint32_t type);
/* Writes what waits to be compressed; so many bytes do. */
void csp_writer_pack(struct csp_writer *writer);
size_t csp_writer_waiting(const struct csp_writer *writer);
void csp_writer_compressed_feature(struct csp_writer *writer);
void csp_writer_free_packing(struct csp_writer *writer);
/* Makes the contents of the features that follow from what was written. */
void csp_writer_finish_features(struct csp_writer *writer);

#endif
