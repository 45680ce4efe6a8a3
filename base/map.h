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
/* The value of a key, or null. */
uint64_t *csp_map_find(const struct csp_map *map, uint64_t key);
/* Visits the entries: start with *cursor = 0; null at the end. */
struct csp_map_entry *csp_map_next(const struct csp_map *map, size_t *cursor);
void csp_map_free(struct csp_map *map);

#endif
