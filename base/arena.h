/* Memory that is released all at once. Zero-initialise. */
#ifndef CSP_BASE_ARENA_H
#define CSP_BASE_ARENA_H

#include <stddef.h>

struct csp_arena_block;

struct csp_arena {
    struct csp_arena_block *blocks; /* newest first */
    size_t used, size;              /* of the newest block */
    size_t total;                   /* of all blocks */
};

/* Uninitialised memory aligned to 8 bytes. */
void *csp_arena_alloc(struct csp_arena *arena, size_t size)
    __attribute__((malloc, returns_nonnull));
/* Makes the memory of another arena, which is empty then, part of this one. */
void csp_arena_take(struct csp_arena *arena, struct csp_arena *other);
/* Forgets what is in it, and keeps its memory, as one block. */
void csp_arena_clear(struct csp_arena *arena);
void csp_arena_free(struct csp_arena *arena);

/* How much memory of an arena is taken, or was left over at the ends of blocks. */
static inline size_t csp_arena_used(const struct csp_arena *arena)
{
    return arena->total - (arena->size - arena->used);
}

#endif
