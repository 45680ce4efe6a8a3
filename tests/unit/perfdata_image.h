/* perf.data files put together byte by byte in memory. */
#ifndef CSP_TESTS_PERFDATA_IMAGE_H
#define CSP_TESTS_PERFDATA_IMAGE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "perfdata/perfdata.h"

#include <stdio.h>
#include <string.h>

enum { IMAGE_ATTR = 128, IMAGE_DATA = 104 + IMAGE_ATTR + 16 };

/* The header of a file with one attribute without ids; IMAGE_DATA bytes. */
static inline void image_begin(struct csp_buf *image, const struct csp_attr *attr)
{
    static const uint64_t header[13] = {
        0x32454c4946524550, /* PERFILE2 */
        104,                /* size of this header */
        IMAGE_ATTR + 16,    /* size of an attribute's entry */
        104,
        IMAGE_ATTR + 16, /* attributes: where, how many bytes */
        IMAGE_DATA,
        0, /* records: where, how many bytes (see image_end) */
    };
    *image = (struct csp_buf){0};
    csp_buf_add(image, header, sizeof header);
    csp_attr_encode(attr, IMAGE_ATTR, image);
    csp_buf_add_u64(image, 0); /* where its ids are, how many bytes */
    csp_buf_add_u64(image, 0);
}

static inline void image_set64(struct csp_buf *image, size_t at, uint64_t value)
{
    memcpy(image->data + at, &value, sizeof value);
}

/* Completes the header: all bytes so far are records. */
static inline void image_end(struct csp_buf *image)
{
    image_set64(image, 48, image->len - IMAGE_DATA);
}

/* A record header: u32 type, u16 misc, u16 size. */
static inline void image_record(struct csp_buf *image, uint32_t type, uint16_t misc, uint16_t size)
{
    csp_buf_add_u32(image, type);
    csp_buf_add_u16(image, misc);
    csp_buf_add_u16(image, size);
}

static inline struct csp_file image_file(const struct csp_buf *image)
{
    static char path[] = "test.data";
    return (struct csp_file){
        .data = (const uint8_t *)image->data, .size = image->len, .path = path};
}

/* Keeps the first message that is a warning or a failure. */
static inline void image_message(void *user, enum csp_severity severity, const char *message)
{
    char *kept = user;
    if (severity >= CSP_WARNING && !*kept)
        snprintf(kept, 300, "%s", message);
}

#endif
