/* A growable byte buffer, used for text and for binary output. `data` is always NUL-terminated one
 * past `len` once anything was added. Zero-initialise; release with csp_buf_free. */
#ifndef CSP_BASE_BUF_H
#define CSP_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct csp_buf {
    char *data;
    size_t len;
    size_t cap;
};

void csp_buf_add(struct csp_buf *buf, const void *data, size_t size);
void csp_buf_add_string(struct csp_buf *buf, const char *text);
void csp_buf_add_char(struct csp_buf *buf, char c);
void csp_buf_printf(struct csp_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Lower-case hexadecimal without leading zeroes or prefix: the hot path of every text format. */
void csp_buf_add_hex(struct csp_buf *buf, uint64_t value);
void csp_buf_add_decimal(struct csp_buf *buf, uint64_t value);
/* Little-endian fixed-width integers. */
void csp_buf_add_u8(struct csp_buf *buf, uint8_t value);
void csp_buf_add_u16(struct csp_buf *buf, uint16_t value);
void csp_buf_add_u32(struct csp_buf *buf, uint32_t value);
void csp_buf_add_u64(struct csp_buf *buf, uint64_t value);
/* Makes room for `extra` bytes and returns where they would go; add to `len` what was used. */
char *csp_buf_reserve(struct csp_buf *buf, size_t extra);
void csp_buf_free(struct csp_buf *buf);

#ifdef __cplusplus
}
#endif

#endif
