#include "pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 20, ALIGNMENT = 16 };

struct pool_block {
    struct pool_block *older;
    size_t size;
    _Alignas(ALIGNMENT) char bytes[];
};

static void pool_grow(struct pool *pool, size_t size)
{
    size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct pool_block *block = malloc(sizeof(*block) + room);
    if (!block)
        fatal("out of memory");
    block->older = pool->blocks;
    block->size = room;
    pool->blocks = block;
    pool->used = 0;
}

void *pool_take(struct pool *pool, size_t size)
{
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!pool->blocks || pool->blocks->size - pool->used < size)
        pool_grow(pool, size);
    void *piece = pool->blocks->bytes + pool->used;
    pool->used += size;
    return memset(piece, 0, size);
}

void pool_empty(struct pool *pool)
{
    while (pool->blocks) {
        struct pool_block *block = pool->blocks;
        pool->blocks = block->older;
        free(block);
    }
    pool->used = 0;
}

void fatal(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("mill: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}
