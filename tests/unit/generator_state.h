/* What the files of the trace generator share: where the program and its trace unit are. */
#ifndef CSP_TESTS_GENERATOR_STATE_H
#define CSP_TESTS_GENERATOR_STATE_H

#include "trace_generator.h"

enum what { PLAIN, JUMP, CALL, COND, JUMP_REG, CALL_REG, RET, ERET, BARRIER, WAIT };

struct generator {
    struct csp_generated_trace *trace;
    uint64_t random;
    bool ete, has_context_id, has_vmid, has_stack, counts_commit, waits, starts_are_p0;
    uint32_t bias;             /* of four conditional branches, this many are taken */
    uint32_t depth_max, depth; /* of speculation; uncommitted P0 elements as the decoder counts */
    /* Where the program is. */
    unsigned region, word;
    bool address_due; /* after an indirect branch: the address goes out before the next atom */
    uint8_t el;
    uint32_t context_id, vmid;
    /* The trace unit's compression. */
    uint64_t history[3];
    uint64_t time, time_sent;
    uint32_t atoms;
    unsigned atom_count;
    uint64_t stack[16];
    unsigned stack_depth;
};

static inline uint32_t below(struct generator *g, uint32_t limit)
{
    g->random = g->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((g->random >> 33) % limit);
}

static inline bool one_in(struct generator *g, uint32_t n)
{
    return below(g, n) == 0;
}

static inline struct csp_generated_code *code_of(struct generator *g)
{
    return &g->trace->code[g->region];
}

static inline uint64_t address_of(struct generator *g, unsigned region, unsigned word)
{
    return g->trace->code[region].base + 4 * (uint64_t)word;
}

static inline uint64_t here(struct generator *g)
{
    return address_of(g, g->region, g->word);
}

static inline struct csp_element *tell(struct generator *g, enum csp_element_type type)
{
    csp_vec_push(&g->trace->truth, (struct csp_element){.type = (uint8_t)type});
    return &g->trace->truth.data[g->trace->truth.len - 1];
}

static inline void put(struct generator *g, uint8_t byte)
{
    csp_buf_add_u8(&g->trace->bytes, byte);
}

static inline void header(struct generator *g, uint8_t byte)
{
    g->trace->kinds[byte]++;
    put(g, byte);
}

/* ---- generated_code.c ---- */

void generator_make_code(struct generator *g, struct csp_generated_code *code);

/* ---- generated_packets.c ---- */

extern const uint8_t generator_plain_address[4];
extern const uint8_t generator_source_address[4];

void generator_put_continued(struct generator *g, uint32_t value);
/* P0 elements went out: the decoder commits what is more than can be speculative. */
void generator_count_p0(struct generator *g, uint32_t count);
void generator_flush_atoms(struct generator *g);
void generator_add_atom(struct generator *g, bool taken);
void generator_remember(struct generator *g, uint64_t address);
void generator_put_low_bytes(struct generator *g, uint64_t value, unsigned count);
void generator_put_long(struct generator *g, uint64_t address, bool is_64bit);
void generator_put_short(struct generator *g, uint64_t address, uint64_t changed);
/* Any form that can say it; the headers of the forms differ between packets. */
void generator_put_address(struct generator *g, uint64_t address, const uint8_t headers[4]);
void generator_put_address_context(struct generator *g, uint64_t address);
/* Whatever is due before execution can go on. */
void generator_settle(struct generator *g);
void generator_begin(struct generator *g, bool on);

/* ---- generated_speculation.c ---- */

bool generator_may_speculate(struct generator *g);
/* A wrong path, taken back. */
void generator_cancel_some(struct generator *g);
/* The atom that comes next goes out the wrong way, and is put right. */
void generator_mispredict(struct generator *g, bool taken);
void generator_put_commit(struct generator *g, uint32_t count);

#endif
