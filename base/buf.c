#include "base/buf.h"

#include "base/alloc.h"
#include "base/hex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *csp_buf_reserve(struct csp_buf *buf, size_t extra)
{
    size_t need = buf->len + extra + 1;
    if (need > buf->cap) {
        size_t cap = buf->cap ? 2 * buf->cap : 64;
        buf->cap = cap < need ? need : cap;
        buf->data = csp_realloc_array(buf->data, buf->cap, 1);
    }
    return buf->data + buf->len;
}

static void advance(struct csp_buf *buf, size_t size)
{
    buf->len += size;
    buf->data[buf->len] = '\0';
}

void csp_buf_add(struct csp_buf *buf, const void *data, size_t size)
{
    char *at = csp_buf_reserve(buf, size);
    if (size)
        memcpy(at, data, size);
    advance(buf, size);
}

void csp_buf_add_string(struct csp_buf *buf, const char *text)
{
    csp_buf_add(buf, text, strlen(text));
}

void csp_buf_add_char(struct csp_buf *buf, char c)
{
    *csp_buf_reserve(buf, 1) = c;
    advance(buf, 1);
}

void csp_buf_printf(struct csp_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length > 0) {
        vsnprintf(csp_buf_reserve(buf, (size_t)length), (size_t)length + 1, format, again);
        advance(buf, (size_t)length);
    }
    va_end(again);
}

void csp_buf_add_hex(struct csp_buf *buf, uint64_t value)
{
    char *at = csp_buf_reserve(buf, CSP_HEX_ROOM);
    advance(buf, (size_t)(csp_hex_put(at, value) - at));
}

void csp_buf_add_decimal(struct csp_buf *buf, uint64_t value)
{
    char digits[20];
    size_t length = 0;
    do {
        digits[sizeof digits - ++length] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    csp_buf_add(buf, digits + sizeof digits - length, length);
}

void csp_buf_add_u8(struct csp_buf *buf, uint8_t value)
{
    csp_buf_add(buf, &value, sizeof value);
}

void csp_buf_add_u16(struct csp_buf *buf, uint16_t value)
{
    csp_buf_add(buf, &value, sizeof value);
}

void csp_buf_add_u32(struct csp_buf *buf, uint32_t value)
{
    csp_buf_add(buf, &value, sizeof value);
}

void csp_buf_add_u64(struct csp_buf *buf, uint64_t value)
{
    csp_buf_add(buf, &value, sizeof value);
}

void csp_buf_free(struct csp_buf *buf)
{
    free(buf->data);
    *buf = (struct csp_buf){0};
}
