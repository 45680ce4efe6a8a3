/* The mappings that a walker goes through: asked for once, and numbered, so that what was found out
 * in one can be told to hold in another that is the same. */
#ifndef CSP_DECODE_TRACE_REGIONS_H
#define CSP_DECODE_TRACE_REGIONS_H

#include "base/map.h"
#include "base/vec.h"
#include "decode/trace/engine.h"

/* Those of a mapping that there are blocks of. */
struct csp_region_words {
    uint64_t address; /* of the first one */
    uint32_t first;   /* which one that is, from the mapping's base on */
    uint32_t count;
};

/* Which of them is at `address`; what is not less than their count is none. */
static inline uint64_t csp_region_word(const struct csp_region_words *words, uint64_t address)
{
    uint64_t offset = address - words->address;
    return offset >> 2 | offset << 62;
}

struct csp_region {
    struct csp_code_region code;
    struct csp_region_words words;
    struct csp_block_table *table; /* null: it cannot be walked */
    uint32_t number;               /* in csp_regions.met */
    uint32_t epoch;                /* in which it was last found to be mapped */
};

enum { CSP_REGION_SLOTS = 64 };

struct csp_regions {
    CSP_VEC(struct csp_region) met;   /* all there ever were; the first is none */
    struct csp_map numbers;           /* of a mapping's hash */
    uint32_t epoch;                   /* while nothing is mapped or unmapped */
    uint64_t context_id;              /* whose mappings they are */
    uint32_t left;                    /* the one in force before */
    uint32_t slots[CSP_REGION_SLOTS]; /* the one met last, by address bits [21:16] */
};

static inline bool csp_region_holds(const struct csp_region *region, uint64_t address)
{
    return address - region->code.start < region->code.end - region->code.start;
}

/* Whether a mapping is known to be there now. */
static inline bool csp_region_is_current(const struct csp_regions *regions, uint32_t number)
{
    return regions->met.data[number].epoch == regions->epoch;
}

void csp_regions_init(struct csp_regions *regions);
void csp_regions_free(struct csp_regions *regions);
/* Mappings may have changed. */
void csp_regions_forget(struct csp_regions *regions);

/* The mapping that holds `address`, if it is known to be there now: nobody is asked. Else null. As
 * what csp_regions_add returns, it may move when another is added. */
const struct csp_region *csp_regions_find(const struct csp_regions *regions, uint64_t address);
/* A mapping is there now; `address` is in it. `waits` as csp_block_cache_table has it. */
const struct csp_region *csp_regions_add(struct csp_regions *regions,
                                         const struct csp_code_region *code, bool waits,
                                         uint64_t address);

#endif
