#include "base/alloc.h"

#include "base/error.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *or_exit(void *block)
{
    if (block)
        return block;
    fputs("csprof: out of memory; try again with more memory or fewer inputs at once\n", stderr);
    exit(CSP_EXIT_TEMPORARY);
}

void *csp_malloc(size_t size)
{
    return or_exit(malloc(size ? size : 1));
}

void *csp_calloc(size_t count, size_t size)
{
    return or_exit(calloc(count ? count : 1, size ? size : 1));
}

void *csp_calloc_aligned(size_t alignment, size_t size)
{
    void *block = NULL;
    if (posix_memalign(&block, alignment, size ? size : 1))
        block = NULL;
    return memset(or_exit(block), 0, size);
}

/* Its pages are there before it is looked into: one that is read first is the system's page of
 * zeroes, and when that is replaced, the processors of all other threads are interrupted. */
void *csp_calloc_table(size_t count, size_t size)
{
    enum { LARGE_PAGE = 2 << 20, CACHE_LINE = 64 };
    void *block = NULL;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        posix_memalign(&block, bytes < LARGE_PAGE ? CACHE_LINE : LARGE_PAGE, bytes ? bytes : 1))
        return or_exit(NULL);
    if (bytes >= LARGE_PAGE)
        madvise(block, bytes, MADV_HUGEPAGE); /* where the system cannot, small pages do */
    return memset(block, 0, bytes);
}

void csp_clear(void *at, size_t size)
{
    memset(at, 0, size);
}

void *csp_realloc_array(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return or_exit(NULL);
    return or_exit(realloc(block, bytes ? bytes : 1));
}

char *csp_strdup(const char *text)
{
    return or_exit(strdup(text));
}

char *csp_strndup(const char *text, size_t length)
{
    return or_exit(strndup(text, length));
}

char *csp_vasprintf(const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    return or_exit(text);
}

char *csp_asprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = csp_vasprintf(format, args);
    va_end(args);
    return text;
}
