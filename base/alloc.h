/* Allocation that never returns null: on exhaustion the process says so and exits with
 * CSP_EXIT_TEMPORARY. Free with free(). Sizes read from a file must be checked against the file's
 * size first, so that exhaustion always means a machine too small, never a malformed input. */
#ifndef CSP_BASE_ALLOC_H
#define CSP_BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

void *csp_malloc(size_t size) __attribute__((malloc, returns_nonnull));
void *csp_calloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Zeroed memory at a multiple of `alignment`, a power of two of at least 8. */
void *csp_calloc_aligned(size_t alignment, size_t size) __attribute__((malloc, returns_nonnull));
/* Zeroed memory that will be looked into at random: of large pages where it is large and the system
 * has them. */
void *csp_calloc_table(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Sets a structure of some hundred bytes to 0: an initializer would have the compiler do that with
 * an instruction that takes several times as long. */
void csp_clear(void *at, size_t size);
/* Grows or shrinks an array to `count` elements of `size` bytes; checks the product. */
void *csp_realloc_array(void *block, size_t count, size_t size) __attribute__((returns_nonnull));
char *csp_strdup(const char *text) __attribute__((malloc, returns_nonnull));
char *csp_strndup(const char *text, size_t length) __attribute__((malloc, returns_nonnull));
char *csp_asprintf(const char *format, ...)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
char *csp_vasprintf(const char *format, va_list args)
    __attribute__((malloc, returns_nonnull, format(printf, 1, 0)));

#endif
