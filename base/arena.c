#include "base/arena.h"

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    BLOCK_SIZE = 64 * 1024,
    /* An arena that has grown to this goes on in blocks that the system can map as one page each:
     * a page that is touched for the first time costs more than filling it. */
    HUGE_SIZE = 2 * 1024 * 1024,
};

struct csp_arena_block {
    struct csp_arena_block *older;
    uint64_t data[];
};

static struct csp_arena_block *huge_block(void)
{
    void *block = NULL;
    if (posix_memalign(&block, HUGE_SIZE, HUGE_SIZE))
        return NULL;
    madvise(block, HUGE_SIZE, MADV_HUGEPAGE); /* where the system cannot, small pages do */
    return block;
}

static void add_block(struct csp_arena *arena, struct csp_arena_block *block, size_t capacity)
{
    block->older = arena->blocks;
    arena->blocks = block;
    arena->used = 0;
    arena->size = capacity;
    arena->total += capacity;
}

void *csp_arena_alloc(struct csp_arena *arena, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    if (arena->size - arena->used < size) {
        size_t capacity = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        struct csp_arena_block *block = NULL;
        if (arena->total >= HUGE_SIZE && size <= HUGE_SIZE - sizeof *block)
            block = huge_block();
        if (block)
            capacity = HUGE_SIZE - sizeof *block;
        else
            block = csp_malloc(sizeof *block + capacity);
        add_block(arena, block, capacity);
    }
    void *at = (char *)arena->blocks->data + arena->used;
    arena->used += size;
    return at;
}

void csp_arena_take(struct csp_arena *arena, struct csp_arena *other)
{
    struct csp_arena_block **oldest = &arena->blocks;
    while (*oldest)
        oldest = &(*oldest)->older;
    *oldest = other->blocks;
    if (oldest == &arena->blocks) {
        arena->used = other->used;
        arena->size = other->size;
    }
    arena->total += other->total;
    *other = (struct csp_arena){0};
}

void csp_arena_clear(struct csp_arena *arena)
{
    size_t total = arena->total;
    if (arena->blocks && arena->blocks->older) {
        csp_arena_free(arena);
        add_block(arena, csp_malloc(sizeof *arena->blocks + total), total);
    }
    arena->used = 0;
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
