/* The identity of a binary: the NT_GNU_BUILD_ID note, at most 20 bytes of it (as perf keeps it). */
#ifndef CSP_BASE_BUILD_ID_H
#define CSP_BASE_BUILD_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct csp_build_id {
    uint8_t size; /* 0: unknown */
    uint8_t bytes[20];
};

static inline bool csp_build_id_equal(const struct csp_build_id *a, const struct csp_build_id *b)
{
    return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* Lower-case hexadecimal, NUL-terminated; an empty string when unknown. */
static inline void csp_build_id_text(const struct csp_build_id *id, char text[41])
{
    for (unsigned i = 0; i < id->size; i++) {
        text[2 * i] = "0123456789abcdef"[id->bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id->bytes[i] & 15];
    }
    text[2 * id->size] = '\0';
}

#endif
