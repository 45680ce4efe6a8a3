/* Arrays that grow with a recording: a CSP_VEC of which the memory, once all of them are much, is
 * that of a temporary file. The kernel writes it out when memory is short, so that a recording of
 * any size can be read on any machine.
 *
 * The file has no name, and lies in $TMPDIR or /var/tmp. Where there is no room in it, memory is
 * taken. Who goes through an array for the last time gives its memory back on the way.
 */
#ifndef CSP_BASE_BIG_VEC_H
#define CSP_BASE_BIG_VEC_H

#include "base/vec.h"

#include <string.h>

enum { CSP_BIG_MAPPED = 2 << 20 /* blocks from this size on have a mapping of their own */ };

/* Resizes a block of `before` bytes to `after`; the first of them stay. null and 0 at first. */
void *csp_big_resize(void *block, size_t before, size_t after) __attribute__((returns_nonnull));
void csp_big_free(void *block, size_t size);
/* The first `done` bytes of a block of `size` bytes will not be read any more, which was told
 * before of the first `before`: gives back what large pages they fill. */
void csp_big_done(const void *block, size_t size, size_t before, size_t done);

/* How many elements of `size` bytes there shall be room for where `need` do not fit into what is
 * there for `had`. Where a block grows in its place, it need not grow by much at once. */
static inline size_t csp_big_room(size_t had, size_t need, size_t size)
{
    size_t more = had * size < CSP_BIG_MAPPED ? 2 * had : had + had / 4;
    return need < more ? more : need;
}

/* Makes room for `extra` more elements. */
#define csp_big_vec_reserve(vec, extra)                                                            \
    do {                                                                                           \
        size_t csp_need_ = (vec)->len + (extra), csp_had_ = (vec)->cap;                            \
        if (csp_need_ > csp_had_) {                                                                \
            (vec)->cap = csp_big_room(csp_had_, csp_need_, sizeof *(vec)->data);                   \
            if ((vec)->cap < 8)                                                                    \
                (vec)->cap = 8;                                                                    \
            (vec)->data = csp_big_resize((vec)->data, csp_had_ * sizeof *(vec)->data,              \
                                         (vec)->cap * sizeof *(vec)->data);                        \
        }                                                                                          \
    } while (0)

#define csp_big_vec_push(vec, ...)                                                                 \
    do {                                                                                           \
        if ((vec)->len == (vec)->cap)                                                              \
            csp_big_vec_reserve(vec, 1);                                                           \
        (vec)->data[(vec)->len++] = (__VA_ARGS__);                                                 \
    } while (0)

/* Moves all of `more` behind what is there; its memory stays with one of the two. */
#define csp_big_vec_append(vec, more)                                                              \
    do {                                                                                           \
        __typeof__(*(vec)) csp_more_ = *(more);                                                    \
        if (!(vec)->len) {                                                                         \
            *(more) = *(vec);                                                                      \
            *(vec) = csp_more_;                                                                    \
        } else if (csp_more_.len) {                                                                \
            csp_big_vec_reserve(vec, csp_more_.len);                                               \
            memcpy((vec)->data + (vec)->len, csp_more_.data,                                       \
                   csp_more_.len * sizeof *csp_more_.data);                                        \
            (vec)->len += csp_more_.len;                                                           \
        }                                                                                          \
        (more)->len = 0;                                                                           \
    } while (0)

/* The same of elements. They are undefined then; the array is to be freed, not to be changed. */
#define csp_big_vec_done(vec, before, done)                                                        \
    csp_big_done((vec)->data, (vec)->cap * sizeof *(vec)->data, (before) * sizeof *(vec)->data,    \
                 (done) * sizeof *(vec)->data)

#define csp_big_vec_free(vec)                                                                      \
    do {                                                                                           \
        csp_big_free((vec)->data, (vec)->cap * sizeof *(vec)->data);                               \
        (vec)->data = NULL;                                                                        \
        (vec)->len = (vec)->cap = 0;                                                               \
    } while (0)

#endif
