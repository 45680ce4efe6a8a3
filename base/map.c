#include "base/map.h"

#include "base/alloc.h"

#include <stdlib.h>

static size_t slot_of(const struct csp_map *map, uint64_t key)
{
    size_t i = csp_map_home(key, map->capacity);
    while (map->used[i] && map->entries[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return i;
}

static void grow(struct csp_map *map)
{
    struct csp_map old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : 32;
    map->entries = csp_malloc(map->capacity * sizeof *map->entries);
    map->used = csp_calloc(map->capacity, 1);
    for (size_t i = 0; i < old.capacity; i++) {
        if (!old.used[i])
            continue;
        size_t slot = slot_of(map, old.entries[i].key);
        map->entries[slot] = old.entries[i];
        map->used[slot] = 1;
    }
    free(old.entries);
    free(old.used);
}

uint64_t *csp_map_at(struct csp_map *map, uint64_t key)
{
    if (2 * map->len >= map->capacity)
        grow(map);
    size_t slot = slot_of(map, key);
    if (!map->used[slot]) {
        map->used[slot] = 1;
        map->entries[slot] = (struct csp_map_entry){key, 0};
        map->len++;
    }
    return &map->entries[slot].value;
}

uint64_t *csp_map_search(const struct csp_map *map, uint64_t key)
{
    size_t slot = slot_of(map, key);
    return map->used[slot] ? &map->entries[slot].value : NULL;
}

struct csp_map_entry *csp_map_next(const struct csp_map *map, size_t *cursor)
{
    while (*cursor < map->capacity) {
        size_t i = (*cursor)++;
        if (map->used[i])
            return &map->entries[i];
    }
    return NULL;
}

void csp_map_free(struct csp_map *map)
{
    free(map->entries);
    free(map->used);
    *map = (struct csp_map){0};
}
