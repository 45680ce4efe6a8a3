/* Memory of one run of a script: taken piece by piece, given back all at once. */
#ifndef MILL_POOL_H
#define MILL_POOL_H

#include <stddef.h>

struct pool_block;

struct pool {
    struct pool_block *blocks; /* newest first */
    size_t used;               /* bytes of the newest block */
};

/* Zeroed memory, aligned for any value; never null. */
void *pool_take(struct pool *pool, size_t size);

/* Frees everything that was taken. */
void pool_empty(struct pool *pool);

/* Ends the program: a script's mistake, or no memory. */
_Noreturn void fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
