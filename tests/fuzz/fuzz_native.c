/* Arbitrary bytes over random code, into the native engine. Beyond crashes, leaks and undefined
 * behaviour (the sanitizers' part): every range lies in code, elements are no more than the bytes
 * can mean, and pieces of any size give the same elements as the whole.
 *
 * Input: a struct fuzz_head, then trace. */
#include "fuzz_native.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 256, REGIONS = 2 };

struct code {
    uint64_t base[REGIONS];
    uint32_t words[REGIONS][WORDS];
    struct csp_block_cache *blocks[REGIONS];
};

struct outcome {
    const struct code *code;
    size_t count, limit;
    uint64_t hash;
};

/* A quarter branches, the rest anything. */
static uint32_t random_word(uint64_t *random)
{
    static const uint32_t branches[] = {0x14000000, 0x94000000, 0x54000000, 0xb4000000,
                                        0x36000000, 0xd61f0200, 0xd63f0200, 0xd65f03c0,
                                        0xd69f03e0, 0xd5033fdf, 0xd503205f, 0x74000000};
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint32_t value = (uint32_t)(*random >> 32);
    if (value & 3)
        return value & 4 ? 0xd503201f : value;
    uint32_t branch = branches[(value >> 2) % (sizeof branches / sizeof *branches)];
    switch (branch >> 24) {
    case 0x14:
    case 0x94:
        return branch | (value & 0x80 ? 0x3ffff00 | (value >> 8 & 0xff) : value >> 8 & 0xff);
    case 0x54:
    case 0xb4:
    case 0x36:
        return branch | (value >> 8 & 0xff) << 5;
    default:
        return branch;
    }
}

static void make_code(struct code *code, uint32_t seed)
{
    uint64_t random = seed;
    code->base[0] = 0x10000;
    code->base[1] = seed & 1 ? code->base[0] + sizeof code->words[0] : UINT64_C(0xffff800000000000);
    for (unsigned r = 0; r < REGIONS; r++) {
        for (unsigned i = 0; i < WORDS; i++)
            code->words[r][i] = random_word(&random);
        code->blocks[r] = csp_block_cache_create(code->words[r], sizeof code->words[r]);
    }
}

static bool find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                 struct csp_code_region *region)
{
    const struct code *code = user;
    (void)source, (void)context_id;
    for (unsigned r = 0; r < REGIONS; r++) {
        if (address - code->base[r] >= sizeof code->words[r])
            continue;
        *region = (struct csp_code_region){.start = code->base[r],
                                           .end = code->base[r] + sizeof code->words[r],
                                           .base = code->base[r],
                                           .blocks = code->blocks[r]};
        return true;
    }
    return false;
}

static size_t fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                    const uint8_t **bytes)
{
    const struct code *code = user;
    struct csp_code_region region;
    if (!find(user, source, context_id, address, &region))
        return 0;
    unsigned r = region.base != code->base[0];
    *bytes = (const uint8_t *)code->words[r] + (address - region.base);
    return (size_t)(region.end - address);
}

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_native: %s\n", what);
    abort();
}

static bool in_code(const struct code *code, uint64_t start, uint64_t end)
{
    struct csp_code_region region;
    while (start < end) {
        if (!find((void *)(uintptr_t)code, 0, 0, start, &region))
            return false;
        start = region.end;
    }
    return true;
}

static int take(void *user, const struct csp_element *elements, size_t count)
{
    struct outcome *outcome = user;
    for (size_t i = 0; i < count; i++) {
        const struct csp_element *e = &elements[i];
        uint64_t words[4];
        memcpy(words, e, sizeof words);
        if (e->type == CSP_ELEMENT_TRACE_ON || e->type == CSP_ELEMENT_BAD)
            words[2] = 0; /* where a packet is said to be may depend on the pieces */
        for (unsigned w = 0; w < 4; w++)
            outcome->hash = (outcome->hash ^ words[w]) * UINT64_C(0x100000001b3);
        if (e->type != CSP_ELEMENT_RANGE)
            continue;
        require(e->a < e->b && (e->b - e->a) / 4 == e->instructions, "a range and its count");
        require(in_code(outcome->code, e->a, e->b), "a range outside of the code");
    }
    outcome->count += count;
    require(outcome->count <= outcome->limit, "more elements than the bytes can mean");
    return 0;
}

static struct outcome decode(struct code *code, const struct fuzz_head *head, const uint8_t *data,
                             size_t size, size_t piece)
{
    struct csp_code_memory memory = {fetch, find, code};
    struct outcome outcome = {.code = code, .limit = 32 * size + 64};
    struct csp_engine *engine;
    struct csp_trace_config configs[2] = {head->config, head->config};
    configs[0].trace_id = 0x10;
    configs[1].trace_id = 0x2a;
    if (csp_engine_create_native(&engine, configs, head->formatted ? 2 : 1, head->formatted,
                                 &memory, take, &outcome, NULL) < 0)
        return outcome;
    for (size_t at = 0; at < size; at += piece)
        csp_engine_feed(engine, data + at, size - at < piece ? size - at : piece);
    csp_engine_flush(engine);
    struct csp_engine_stats stats = csp_engine_stats(engine);
    require(stats.bytes == size, "bytes that are not counted");
    require(stats.lost_bytes <= size, "more bytes lost than given");
    csp_engine_destroy(engine);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_head head;
    if (size < sizeof head || size > 1 << 16)
        return 0;
    memcpy(&head, data, sizeof head);
    head.config.protocol = head.config.protocol & 1 ? CSP_PROTOCOL_ETE : CSP_PROTOCOL_ETMV4;
    head.formatted = head.flags & 1;
    data += sizeof head;
    size -= sizeof head;
    struct code *code = csp_calloc(1, sizeof *code);
    make_code(code, head.seed);
    struct outcome whole = decode(code, &head, data, size, size + 1);
    struct outcome cut = decode(code, &head, data, size, 1 + head.seed % 37);
    require(whole.hash == cut.hash && whole.count == cut.count, "pieces differ from the whole");
    for (unsigned r = 0; r < REGIONS; r++)
        csp_block_cache_destroy(code->blocks[r]);
    free(code);
    return 0;
}
