/* A typed growable array.
 *
 *     CSP_VEC(uint64_t) ips = {0};
 *     csp_vec_push(&ips, 0x1000);
 *     for (size_t i = 0; i < ips.len; i++) use(ips.data[i]);
 *     csp_vec_free(&ips);
 *
 * Elements move when the array grows: keep indices, not pointers.
 */
#ifndef CSP_BASE_VEC_H
#define CSP_BASE_VEC_H

#include "base/alloc.h"

#include <stdlib.h>

#define CSP_VEC(type)                                                                              \
    struct {                                                                                       \
        type *data;                                                                                \
        size_t len, cap;                                                                           \
    }

/* Makes room for `extra` more elements. */
#define csp_vec_reserve(vec, extra)                                                                \
    do {                                                                                           \
        size_t csp_need_ = (vec)->len + (extra);                                                   \
        if (csp_need_ > (vec)->cap) {                                                              \
            (vec)->cap = csp_need_ < 2 * (vec)->cap ? 2 * (vec)->cap : csp_need_;                  \
            if ((vec)->cap < 8)                                                                    \
                (vec)->cap = 8;                                                                    \
            (vec)->data = csp_realloc_array((vec)->data, (vec)->cap, sizeof *(vec)->data);         \
        }                                                                                          \
    } while (0)

#define csp_vec_push(vec, ...)                                                                     \
    do {                                                                                           \
        if ((vec)->len == (vec)->cap)                                                              \
            csp_vec_reserve(vec, 1);                                                               \
        (vec)->data[(vec)->len++] = (__VA_ARGS__);                                                 \
    } while (0)

#define csp_vec_free(vec)                                                                          \
    do {                                                                                           \
        free((vec)->data);                                                                         \
        (vec)->data = NULL;                                                                        \
        (vec)->len = (vec)->cap = 0;                                                               \
    } while (0)

#endif
