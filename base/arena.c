#include "base/arena.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>

enum { BLOCK_SIZE = 64 * 1024 };

struct csp_arena_block {
    struct csp_arena_block *older;
    uint64_t data[];
};

void *csp_arena_alloc(struct csp_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (arena->size - arena->used < size) {
        size_t capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        struct csp_arena_block *block = csp_malloc(sizeof *block + capacity);
        block->older = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
        arena->size = capacity;
    }
    void *at = (char *)arena->blocks->data + arena->used;
    arena->used += size;
    return at;
}

void csp_arena_free(struct csp_arena *arena)
{
    while (arena->blocks) {
        struct csp_arena_block *older = arena->blocks->older;
        free(arena->blocks);
        arena->blocks = older;
    }
    *arena = (struct csp_arena){0};
}
