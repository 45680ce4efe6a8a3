#include "profgen/address_map.h"

#include <string.h>

/* Mappings begin at page boundaries, and pages are at most this large (AArch64 with 64 KiB pages).
 */
#define LARGEST_PAGE UINT64_C(0x10000)

/* Adds a part, unless that would change nothing: then it is there and nothing hides it. */
static void add(struct csp_address_map *map, struct csp_loaded_part part)
{
    for (size_t i = map->mappings.len; i && map->base_bias == part.bias; i--) {
        const struct csp_loaded_part *known = &map->mappings.data[i - 1];
        if (!memcmp(known, &part, sizeof part))
            return;
        if (known->start < part.end && part.start < known->end)
            break;
    }
    csp_vec_push(&map->mappings, part);
    map->base_bias = part.bias;
}

bool csp_address_map_add(struct csp_address_map *map, uint64_t start, uint64_t size,
                         uint64_t file_offset)
{
    for (size_t i = 0; i < map->program->segments.len; i++) {
        const struct csp_program_segment *segment = &map->program->segments.data[i];
        uint64_t first = segment->offset & ~(LARGEST_PAGE - 1);
        if (!segment->executable || file_offset < first ||
            file_offset >= segment->offset + segment->file_size)
            continue;
        uint64_t bias = start - file_offset - (segment->address - segment->offset);
        add(map, (struct csp_loaded_part){start, start + size, bias});
        return true;
    }
    return false;
}

bool csp_address_map_add_kernel(struct csp_address_map *map, uint64_t start, uint64_t size)
{
    for (size_t i = 0; i < map->program->segments.len; i++) {
        const struct csp_program_segment *segment = &map->program->segments.data[i];
        if (!segment->executable)
            continue;
        uint64_t bias = start - (segment->address & ~UINT64_C(0xfff));
        add(map, (struct csp_loaded_part){start, start + size, bias});
        return true;
    }
    return false;
}

uint64_t csp_address_map_find(const struct csp_address_map *map, uint64_t address)
{
    if (map->single_base || !map->mappings.len)
        return address - map->base_bias;
    for (size_t i = map->mappings.len; i; i--) {
        const struct csp_loaded_part *mapping = &map->mappings.data[i - 1];
        if (address >= mapping->start && address < mapping->end)
            return address - mapping->bias;
    }
    return CSP_EXTERNAL;
}

void csp_address_map_copy(struct csp_address_map *copy, const struct csp_address_map *map)
{
    *copy = *map;
    copy->mappings.data = NULL;
    copy->mappings.len = copy->mappings.cap = 0;
    for (size_t i = 0; i < map->mappings.len; i++)
        csp_vec_push(&copy->mappings, map->mappings.data[i]);
}

bool csp_address_map_equal(const struct csp_address_map *a, const struct csp_address_map *b)
{
    size_t bytes = a->mappings.len * sizeof *a->mappings.data;
    return a->mappings.len == b->mappings.len && a->base_bias == b->base_bias &&
           (!bytes || !memcmp(a->mappings.data, b->mappings.data, bytes));
}

void csp_address_map_free(struct csp_address_map *map)
{
    csp_vec_free(&map->mappings);
    map->base_bias = 0;
}
