#include "profgen/size_trie.h"

struct csp_inline_sizes *csp_inline_sizes_create(void)
{
    struct csp_inline_sizes *sizes = csp_calloc(1, sizeof *sizes);
    csp_vec_push(&sizes->nodes, (struct csp_size_node){.first_edge = UINT64_MAX});
    sizes->guids.names = &sizes->names;
    return sizes;
}

void csp_inline_sizes_destroy(struct csp_inline_sizes *sizes)
{
    csp_vec_free(&sizes->nodes);
    csp_pairs_free(&sizes->edges);
    csp_map_free(&sizes->known);
    csp_guids_free(&sizes->guids);
    csp_intern_free(&sizes->names);
    free(sizes);
}

static uint64_t edge_of(uint32_t callsite, uint32_t discriminator, uint64_t guid)
{
    uint64_t place = (uint64_t)discriminator << 32 | callsite;
    return guid + (place << 5) + place;
}

uint32_t csp_inline_sizes_child(const struct csp_inline_sizes *sizes, uint32_t node,
                                uint32_t callsite, uint32_t discriminator, uint64_t guid)
{
    uint32_t id = csp_pairs_find(&sizes->edges, node, edge_of(callsite, discriminator, guid));
    return id == CSP_NO_PAIR ? 0 : id + 1;
}

static uint32_t make_child(struct csp_inline_sizes *sizes, uint32_t node, uint64_t edge)
{
    uint32_t child = csp_pairs_at(&sizes->edges, node, edge) + 1;
    if (child < sizes->nodes.len)
        return child;
    csp_vec_push(&sizes->nodes, (struct csp_size_node){.first_edge = UINT64_MAX});
    struct csp_size_node *parent = &sizes->nodes.data[node];
    if (edge <= parent->first_edge) {
        parent->first_edge = edge;
        parent->first_child = child;
    }
    return child;
}

static uint64_t guid_of(struct csp_inline_sizes *sizes, const char *name)
{
    uint64_t *guid = csp_map_at(&sizes->known, (uint64_t)(uintptr_t)name);
    if (!*guid)
        *guid = csp_guid_of(&sizes->guids, csp_intern_string(&sizes->names, name));
    return *guid;
}

void csp_inline_sizes_add(struct csp_inline_sizes *sizes, const struct csp_sized_frame *frames,
                          size_t count, uint32_t bytes)
{
    uint32_t node = 0;
    for (size_t i = 0; i < count; i++)
        node = make_child(sizes, node,
                          edge_of(i ? frames[i].callsite : 0, i ? frames[i].discriminator : 0,
                                  guid_of(sizes, frames[i].function)));
    sizes->nodes.data[node].known = true;
    sizes->nodes.data[node].size += bytes;
}
