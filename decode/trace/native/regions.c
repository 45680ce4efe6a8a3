#include "decode/trace/native/regions.h"

#include "decode/code/block_table.h"

#include <string.h>

void csp_regions_init(struct csp_regions *regions)
{
    *regions = (struct csp_regions){.epoch = 1};
    csp_vec_push(&regions->met, (struct csp_region){0});
}

void csp_regions_free(struct csp_regions *regions)
{
    csp_vec_free(&regions->met);
    csp_map_free(&regions->numbers);
}

void csp_regions_forget(struct csp_regions *regions)
{
    if (++regions->epoch)
        return;
    for (size_t i = 0; i < regions->met.len; i++) /* it is an earlier epoch's number again */
        regions->met.data[i].epoch = 0;
    regions->epoch = 1;
}

static unsigned slot_of(uint64_t address)
{
    return address >> 16 & (CSP_REGION_SLOTS - 1);
}

const struct csp_region *csp_regions_find(const struct csp_regions *regions, uint64_t address)
{
    uint32_t number = regions->slots[slot_of(address)];
    if (!csp_region_is_current(regions, number) ||
        !csp_region_holds(&regions->met.data[number], address))
        number = regions->left;
    const struct csp_region *region = &regions->met.data[number];
    return csp_region_is_current(regions, number) && csp_region_holds(region, address) ? region
                                                                                       : NULL;
}

static bool same(const struct csp_code_region *a, const struct csp_code_region *b)
{
    return a->start == b->start && a->end == b->end && a->base == b->base && a->blocks == b->blocks;
}

static struct csp_region_words words_of(const struct csp_code_region *code,
                                        const struct csp_block_table *table)
{
    uint64_t first = (code->start - code->base + 3) / 4, end = (code->end - code->base) / 4;
    uint64_t known = table ? table->words : 0;
    end = end < known ? end : known;
    uint64_t count = end > first ? end - first : 0;
    return (struct csp_region_words){
        .address = code->base + 4 * first,
        .first = count ? (uint32_t)first : 0,
        .count = (uint32_t)count,
    };
}

static struct csp_region *meet(struct csp_regions *regions, const struct csp_code_region *code,
                               bool waits)
{
    uint64_t hash = (code->start ^ (uintptr_t)code->blocks) * UINT64_C(0x9e3779b97f4a7c15) ^
                    (code->end + code->base) * UINT64_C(0xbf58476d1ce4e5b9);
    for (;; hash++) {
        uint64_t *number = csp_map_at(&regions->numbers, hash);
        if (*number && !same(&regions->met.data[*number].code, code))
            continue;
        if (!*number) {
            struct csp_block_table *table = csp_block_cache_table(code->blocks, CSP_ISA_A64, waits);
            *number = regions->met.len;
            csp_vec_push(&regions->met, (struct csp_region){
                                            .code = *code,
                                            .words = words_of(code, table),
                                            .table = table,
                                            .number = (uint32_t)*number,
                                        });
        }
        return &regions->met.data[*number];
    }
}

const struct csp_region *csp_regions_add(struct csp_regions *regions,
                                         const struct csp_code_region *code, bool waits,
                                         uint64_t address)
{
    struct csp_region *region = meet(regions, code, waits);
    region->epoch = regions->epoch;
    regions->slots[slot_of(address)] = region->number;
    return region;
}
