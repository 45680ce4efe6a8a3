/* A hash map from uint64_t to uint64_t. Zero-initialise. Iteration order is unspecified: sort the
 * keys before anything that reaches an output. */
#ifndef CSP_BASE_MAP_H
#define CSP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct csp_map_entry {
    uint64_t key, value;
};

struct csp_map {
    struct csp_map_entry *entries;
    uint8_t *used;
    size_t len, capacity; /* capacity is zero or a power of two */
};

/* The value of a key, inserted as zero when it is new. Valid until the next insertion. */
uint64_t *csp_map_at(struct csp_map *map, uint64_t key);
uint64_t *csp_map_search(const struct csp_map *map, uint64_t key);

/* Where a key lies, unless another has taken that place before it. */
static inline size_t csp_map_home(uint64_t key, size_t capacity)
{
    key ^= key >> 32;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(key ^ key >> 29) & (capacity - 1);
}

/* The value of a key, or null. */
static inline uint64_t *csp_map_find(const struct csp_map *map, uint64_t key)
{
    if (!map->len)
        return NULL;
    size_t home = csp_map_home(key, map->capacity);
    if (map->used[home] && map->entries[home].key == key)
        return &map->entries[home].value;
    return csp_map_search(map, key);
}

/* Visits the entries: start with *cursor = 0; null at the end. */
struct csp_map_entry *csp_map_next(const struct csp_map *map, size_t *cursor);
void csp_map_free(struct csp_map *map);

#endif
