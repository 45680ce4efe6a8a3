/* Random programs: all kinds of branches, and what lies between them. */
#include "generator_state.h"

static uint32_t encode(struct generator *g, unsigned word, enum what what, uint32_t target)
{
    static const uint32_t plain[] = {0xd503201f, 0x91000421, 0xf9400000, 0xd4000001, 0xd503245f};
    int32_t delta = (int32_t)target - (int32_t)word;
    switch (what) {
    case JUMP:
        return 0x14000000 | ((uint32_t)delta & 0x3ffffff);
    case CALL:
        return 0x94000000 | ((uint32_t)delta & 0x3ffffff);
    case COND:
        if (one_in(g, 3))
            return 0x36000000 | ((uint32_t)delta & 0x3fff) << 5; /* tbz */
        return (one_in(g, 2) ? 0x54000000 : 0xb4000000) | ((uint32_t)delta & 0x7ffff) << 5;
    case JUMP_REG:
        return one_in(g, 2) ? 0xd61f0200 : 0xd71f0a11; /* br, braa */
    case CALL_REG:
        return one_in(g, 2) ? 0xd63f0200 : 0xd63f0a1f; /* blr, blraaz */
    case RET:
        return one_in(g, 2) ? 0xd65f03c0 : 0xd65f0bff; /* ret, retaa */
    case ERET:
        return 0xd69f03e0;
    case BARRIER:
        return 0xd5033fdf;
    case WAIT:
        return one_in(g, 2) ? 0xd503205f : 0xd503207f;
    default:
        return plain[below(g, 5)];
    }
}

void generator_make_code(struct generator *g, struct csp_generated_code *code)
{
    static const uint8_t mix[] = {JUMP, CALL,    COND, COND,     COND, COND, JUMP_REG,
                                  RET,  BARRIER, WAIT, CALL_REG, RET,  ERET, CALL};
    for (unsigned i = 0; i < CSP_GENERATED_WORDS; i++) {
        bool branch = one_in(g, 4) || i + 1 == CSP_GENERATED_WORDS;
        enum what what = branch ? mix[below(g, sizeof mix)] : PLAIN;
        if (i + 1 == CSP_GENERATED_WORDS)
            what = RET; /* the code never runs out */
        code->what[i] = (uint8_t)what;
        code->target[i] = below(g, CSP_GENERATED_WORDS);
        code->words[i] = encode(g, i, what, code->target[i]);
    }
    code->blocks = csp_block_cache_create(code->words, sizeof code->words);
}

static const struct csp_generated_code *code_at(const struct csp_generated_trace *trace,
                                                uint64_t address)
{
    for (unsigned r = 0; r < CSP_GENERATED_REGIONS; r++)
        if (address - trace->code[r].base < sizeof trace->code[r].words)
            return &trace->code[r];
    return NULL;
}

size_t csp_generated_fetch(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                           const uint8_t **bytes)
{
    const struct csp_generated_code *code = code_at(user, address);
    (void)source, (void)context_id;
    if (!code)
        return 0;
    *bytes = (const uint8_t *)code->words + (address - code->base);
    return sizeof code->words - (size_t)(address - code->base);
}

bool csp_generated_find(void *user, uint8_t source, uint64_t context_id, uint64_t address,
                        struct csp_code_region *region)
{
    const struct csp_generated_code *code = code_at(user, address);
    (void)source, (void)context_id;
    if (!code)
        return false;
    *region = (struct csp_code_region){.start = code->base,
                                       .end = code->base + sizeof code->words,
                                       .base = code->base,
                                       .blocks = code->blocks};
    return true;
}
