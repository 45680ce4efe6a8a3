#include "generator_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- the program ---- */

/* The first waypoint from a word on. */
static unsigned waypoint_from(struct generator *g, unsigned word)
{
    const struct csp_generated_code *code = code_of(g);
    while (code->what[word] == PLAIN || (code->what[word] == WAIT && !g->waits))
        word++;
    return word;
}

static enum csp_branch_kind kind_of(enum what what)
{
    static const uint8_t kinds[] = {[JUMP] = CSP_BRANCH_DIRECT,
                                    [CALL] = CSP_BRANCH_CALL,
                                    [COND] = CSP_BRANCH_CONDITIONAL,
                                    [JUMP_REG] = CSP_BRANCH_INDIRECT,
                                    [CALL_REG] = CSP_BRANCH_INDIRECT_CALL,
                                    [RET] = CSP_BRANCH_RETURN,
                                    [ERET] = CSP_BRANCH_EXCEPTION_RETURN,
                                    [WAIT] = CSP_BRANCH_UNKNOWN};
    return kinds[what];
}

/* ---- truth ---- */

static void tell_range(struct generator *g, unsigned from, unsigned last, bool taken)
{
    struct csp_element *range = tell(g, CSP_ELEMENT_RANGE);
    range->kind = (uint8_t)kind_of((enum what)code_of(g)->what[last]);
    range->taken = taken && range->kind != CSP_BRANCH_UNKNOWN;
    range->last_size = 4;
    range->instructions = last + 1 - from;
    range->a = address_of(g, g->region, from);
    range->b = address_of(g, g->region, last + 1);
}

/* ---- what happens ---- */

static void put_timestamp(struct generator *g)
{
    generator_flush_atoms(g);
    g->time += below(g, one_in(g, 8) ? 1u << 30 : 1u << 9);
    bool with_count = one_in(g, 3);
    header(g, with_count ? 0x03 : 0x02);
    uint64_t changed = g->time ^ g->time_sent;
    unsigned bytes = 1;
    while (bytes < 9 && changed >> (7 * bytes))
        bytes++;
    for (unsigned i = 0; i + 1 < bytes; i++)
        put(g, (uint8_t)(g->time >> 7 * i) | 0x80);
    put(g, bytes == 9 ? (uint8_t)(g->time >> 56) : (uint8_t)(g->time >> 7 * (bytes - 1) & 0x7f));
    if (with_count)
        generator_put_continued(g, below(g, 1 << 20));
    g->time_sent = g->time;
    tell(g, CSP_ELEMENT_TIMESTAMP)->a = g->time;
}

/* Packets that say nothing of what runs. */
static void put_other(struct generator *g)
{
    generator_flush_atoms(g);
    switch (below(g, g->ete ? 8 : 3)) {
    case 2:
        if (g->counts_commit) { /* its cycle counts commit, too */
            header(g, 0x71);
        } else {
            bool unknown = one_in(g, 2);
            header(g, unknown ? 0x0f : 0x0e);
            if (!unknown)
                generator_put_continued(g, below(g, 1 << 20));
        }
        tell(g, CSP_ELEMENT_OTHER);
        break;
    case 7:
        header(g, 0x0a);
        generator_count_p0(g, g->starts_are_p0);
        tell(g, CSP_ELEMENT_OTHER);
        break;
    case 0:
        header(g, (uint8_t)(0x71 + below(g, 15)));
        tell(g, CSP_ELEMENT_OTHER);
        break;
    case 1:
        if (!g->ete) {
            header(g, 0x80); /* the same context */
            break;
        }
        header(g, 0x70);
        break;
    case 6:
        header(g, 0x88);
        tell(g, CSP_ELEMENT_OTHER);
        break;
    case 3:
        header(g, 0x09);
        put(g, 1);
        generator_put_low_bytes(g, UINT64_C(0x8000000000000495), 8);
        tell(g, CSP_ELEMENT_OTHER);
        break;
    case 4:
        header(g, 0x0b);
        tell(g, CSP_ELEMENT_OTHER);
        break;
    default:
        header(g, 0x06);
        g->trace->kinds[CSP_GENERATED_FAILURE]++;
        put(g, 0x18 << 1);
        put(g, 0x70);
        generator_remember(g, 0);
        tell(g, CSP_ELEMENT_OTHER);
        break;
    }
}

/* An exception after some instructions of the block, and its handler. */
static void take_exception(struct generator *g)
{
    bool is_target = g->address_due && one_in(g, 2);
    if (!is_target)
        generator_settle(g);
    generator_flush_atoms(g);
    unsigned last = waypoint_from(g, g->word);
    unsigned stop = is_target ? g->word : g->word + below(g, last - g->word + 1);
    uint32_t number = 1 + below(g, 15);
    if (stop > g->word)
        tell_range(g, g->word, stop - 1, true);
    struct csp_element *element = tell(g, CSP_ELEMENT_EXCEPTION);
    element->number = number;
    element->has_address = true;
    element->a = address_of(g, g->region, stop);
    header(g, 0x06);
    uint8_t info = (uint8_t)(number << 1 | (is_target ? 0x40 : 0x01));
    bool extended = one_in(g, 4);
    put(g, extended ? info | 0x80 : info);
    if (extended)
        put(g, 0);
    generator_put_address(g, element->a, generator_plain_address);
    generator_count_p0(g, 1);
    g->region = below(g, 2);
    g->word = below(g, CSP_GENERATED_WORDS);
    g->el = 1;
    generator_put_address_context(g, here(g));
    g->address_due = false;
}

static void leave_filter(struct generator *g)
{
    generator_flush_atoms(g);
    header(g, 0x04);
    tell(g, CSP_ELEMENT_TRACE_ON);
    g->region = below(g, 2);
    g->word = below(g, CSP_GENERATED_WORDS);
    g->el = (uint8_t)below(g, 2);
    g->context_id = 1000 + below(g, 3);
    g->vmid = below(g, 3);
    g->stack_depth = 0;
    generator_put_address_context(g, here(g));
    g->address_due = false;
}

/* Instructions in a row that Q tells of, up to where they go. */
static void run_q(struct generator *g)
{
    generator_settle(g);
    generator_flush_atoms(g);
    unsigned branch = g->word;
    const struct csp_generated_code *code = code_of(g);
    while (code->what[branch] == PLAIN || code->what[branch] == BARRIER ||
           code->what[branch] == WAIT)
        branch++;
    unsigned count = 1 + below(g, branch - g->word + 1);
    unsigned last = g->word + count - 1;
    bool at_branch = last == branch;
    unsigned next = at_branch && one_in(g, 2) ? below(g, CSP_GENERATED_WORDS) : last + 1;
    if (next >= CSP_GENERATED_WORDS)
        next = 0;
    tell_range(g, g->word, last, at_branch);
    g->word = next;
    uint64_t address = here(g), changed = address ^ g->history[0];
    unsigned entry = 0;
    while (entry < 3 && g->history[entry] != address)
        entry++;
    if (entry < 3) {
        header(g, (uint8_t)(0xa0 + entry));
    } else if (!(changed >> 17)) {
        header(g, 0xa5);
        generator_put_short(g, address, changed);
    } else if (!(changed >> 32)) {
        header(g, 0xaa);
        generator_put_long(g, address, false);
    } else {
        header(g, 0xac);
        generator_put_continued(g, count);
        generator_put_address(g, address, generator_plain_address);
        generator_count_p0(g, 1);
        return;
    }
    generator_remember(g, address);
    generator_put_continued(g, count);
    generator_count_p0(g, 1);
}

static void call_from(struct generator *g, unsigned word)
{
    if (g->stack_depth == 15) {
        memmove(g->stack, g->stack + 1, 14 * sizeof *g->stack);
        g->stack_depth--;
    }
    g->stack[g->stack_depth++] = address_of(g, g->region, word + 1);
}

/* Goes to the target of an indirect branch: with a return stack, often where it says. */
static void go_indirect(struct generator *g)
{
    g->address_due = true;
    if (g->stack_depth && !one_in(g, 3)) {
        uint64_t target = g->stack[g->stack_depth - 1];
        for (unsigned r = 0; r < CSP_GENERATED_REGIONS; r++) {
            uint64_t offset = target - g->trace->code[r].base;
            if (offset >= 4 * CSP_GENERATED_WORDS)
                continue;
            g->region = r;
            g->word = (unsigned)(offset / 4);
            g->address_due = !g->has_stack;
            if (g->has_stack)
                g->stack_depth--;
            return;
        }
    }
    g->region = below(g, 2);
    g->word = below(g, CSP_GENERATED_WORDS);
    if (g->has_stack && g->stack_depth && g->stack[g->stack_depth - 1] == here(g)) {
        g->address_due = false;
        g->stack_depth--;
    }
}

static void go(struct generator *g, unsigned at, bool taken)
{
    const struct csp_generated_code *code = code_of(g);
    enum what what = (enum what)code->what[at];
    bool indirect = what >= JUMP_REG && what <= ERET;
    if (what == CALL && taken)
        call_from(g, at);
    g->word = at + 1;
    if (!taken)
        return;
    if (what == JUMP || what == CALL || what == COND)
        g->word = code->target[at];
    if (what == ERET && g->ete)
        tell(g, CSP_ELEMENT_EXCEPTION_RETURN);
    if (!indirect)
        return;
    if (what == CALL_REG) { /* its target is always told; then the call is on the stack */
        unsigned region = g->region, depth = g->stack_depth;
        g->stack_depth = 0;
        go_indirect(g);
        g->stack_depth = depth;
        unsigned target_region = g->region;
        g->region = region;
        call_from(g, at);
        g->region = target_region;
        return;
    }
    go_indirect(g);
}

/* One block, up to its waypoint. */
static void step(struct generator *g)
{
    generator_settle(g);
    unsigned at = waypoint_from(g, g->word);
    const struct csp_generated_code *code = code_of(g);
    enum what what = (enum what)code->what[at];
    bool taken = what == COND ? below(g, 4) < g->bias : what != PLAIN;
    tell_range(g, g->word, at, taken);
    if (g->ete && taken && what != BARRIER && what != WAIT && one_in(g, 10)) {
        generator_flush_atoms(g);
        generator_put_address(g, address_of(g, g->region, at), generator_source_address);
        generator_count_p0(g, 1);
    } else if (generator_may_speculate(g) && one_in(g, 10)) {
        generator_mispredict(g, taken);
    } else {
        generator_add_atom(g, taken);
    }
    go(g, at, taken);
    if (what == ERET && taken && !g->ete) {
        generator_flush_atoms(g);
        header(g, 0x07);
        tell(g, CSP_ELEMENT_EXCEPTION_RETURN);
    }
}

/* ETMv4's exception return says nothing until something runs after it: goes on until then. */
static void step_past_return(struct generator *g)
{
    bool is_held = true;
    while (is_held) {
        step(g);
        is_held = !g->ete && g->trace->truth.data[g->trace->truth.len - 1].type ==
                                 CSP_ELEMENT_EXCEPTION_RETURN;
    }
}

static void lose_trace(struct generator *g)
{
    step_past_return(g);
    generator_flush_atoms(g);
    while (g->depth)
        generator_put_commit(g, g->depth);
    bool overflow = one_in(g, 2);
    header(g, 0x00);
    put(g, overflow ? 0x05 : 0x03);
    g->trace->kinds[overflow ? CSP_GENERATED_OVERFLOW : CSP_GENERATED_DISCARD]++;
    tell(g, overflow ? CSP_ELEMENT_OVERFLOW : CSP_ELEMENT_DISCARD);
    g->depth = 0;
    g->address_due = false;
    generator_begin(g, true);
}

static void happen(struct generator *g)
{
    switch (below(g, 60)) {
    case 0:
    case 1:
        put_timestamp(g);
        break;
    case 2:
    case 3:
        put_other(g);
        break;
    case 4:
    case 5:
        take_exception(g);
        break;
    case 6:
        leave_filter(g);
        break;
    case 7:
        if (one_in(g, 3))
            lose_trace(g);
        break;
    case 8:
        generator_settle(g);
        generator_begin(g, false);
        break;
    case 9:
        if (!g->has_stack)
            run_q(g);
        break;
    case 10:
    case 11:
        if (generator_may_speculate(g))
            generator_cancel_some(g);
        break;
    case 12:
    case 13:
        generator_flush_atoms(g);
        if (g->depth)
            generator_put_commit(g, 1 + below(g, g->depth));
        break;
    default:
        break;
    }
}

static void configure(struct generator *g)
{
    static const uint32_t depths[] = {0, 0, 8, 20};
    struct csp_trace_config *config = &g->trace->config;
    g->ete = one_in(g, 2);
    g->has_context_id = one_in(g, 2);
    g->has_vmid = one_in(g, 3);
    g->has_stack = one_in(g, 4);
    g->waits = one_in(g, 2);
    g->bias = below(g, 5);
    g->depth_max = depths[below(g, 4)];
    g->counts_commit = g->depth_max && one_in(g, 2);
    g->starts_are_p0 = one_in(g, 2); /* transaction starts */
    config->protocol = g->ete ? CSP_PROTOCOL_ETE : CSP_PROTOCOL_ETMV4;
    config->configr = 1 | 1u << 11 | (g->has_context_id ? 1u << 6 : 0) |
                      (g->has_vmid ? 1u << 7 : 0) | (g->has_stack ? 1u << 12 : 0) |
                      (g->counts_commit ? 1u << 4 : 0);
    config->trace_id = 0x10;
    config->traceidr = 0x10;
    /* 64-bit timestamps, Q elements, commit option. */
    config->idr0 = 1 | 8u << 24 | (g->starts_are_p0 ? 0 : 1u << 26) | 1u << 15 | 1u << 9 | 1u << 7 |
                   (g->counts_commit ? 0 : 1u << 29);
    config->idr1 = g->ete ? 0x4100fff3 : 0x4100f431;
    config->idr2 = 4u << 10 | 4u << 5 | 8 | 8u << 25 | (g->waits ? 1u << 31 : 0);
    config->idr8 = g->depth_max;
    config->devarch = g->ete ? 0x47735a13 : 0;
}

struct csp_generated_trace *csp_generate_trace(uint64_t seed, unsigned steps)
{
    struct csp_generated_trace *trace = csp_calloc(1, sizeof *trace);
    struct generator g = {.trace = trace, .random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    configure(&g);
    trace->code[0].base = 0x400000 + 4 * (uint64_t)below(&g, 1 << 16);
    trace->code[1].base = one_in(&g, 2) ? trace->code[0].base + 4 * CSP_GENERATED_WORDS
                                        : UINT64_C(0xffff800008010000);
    for (unsigned r = 0; r < CSP_GENERATED_REGIONS; r++)
        generator_make_code(&g, &trace->code[r]);
    g.context_id = 1000;
    generator_begin(&g, true);
    for (unsigned i = 0; i < steps; i++) {
        step(&g);
        happen(&g);
    }
    step_past_return(&g); /* contexts and enablings at the very end mean nothing either */
    generator_flush_atoms(&g);
    if (g.depth)
        generator_put_commit(&g, g.depth);
    return trace;
}

void csp_generated_trace_free(struct csp_generated_trace *trace)
{
    for (unsigned r = 0; r < CSP_GENERATED_REGIONS; r++)
        csp_block_cache_destroy(trace->code[r].blocks);
    csp_buf_free(&trace->bytes);
    csp_vec_free(&trace->truth);
    free(trace);
}

/* ---- frames ---- */

void csp_generated_frames(const struct csp_generated_trace *trace, uint64_t seed,
                          struct csp_buf *out)
{
    struct generator g = {.random = seed};
    size_t at = 0;
    uint8_t id = 0, wanted = 0x10;
    while (at < trace->bytes.len) {
        uint8_t frame[16] = {0};
        for (unsigned i = 0; i < 15; i++) {
            if (one_in(&g, 40) || !id) /* another source, or padding, for a while */
                wanted = id != 0x10 ? 0x10 : one_in(&g, 2) ? 0x2a : 0;
            bool more = at < trace->bytes.len;
            uint8_t other = id == 0x10 ? 0 : 0x55; /* an A-Sync without end */
            uint8_t data = id == 0x10 && more ? (uint8_t)trace->bytes.data[at] : other;
            if (!(i & 1) && wanted != id && (i == 14 || one_in(&g, 2))) {
                frame[i] = (uint8_t)(wanted << 1 | 1);
                id = wanted;
                continue;
            }
            if (!(i & 1) && wanted != id && i < 14) { /* from the byte after the next on */
                frame[i] = (uint8_t)(wanted << 1 | 1);
                frame[15] |= (uint8_t)(1 << i / 2);
                frame[++i] = data;
                at += id == 0x10 && more;
                id = wanted;
                continue;
            }
            at += id == 0x10 && more;
            frame[i] = i & 1 ? data : data & 0xfe;
            if (!(i & 1) && (data & 1))
                frame[15] |= (uint8_t)(1 << i / 2);
            if (id == 0x10 && !more && !(i & 1)) { /* the rest is padding */
                frame[i] = 1;
                frame[15] &= (uint8_t)~(1 << i / 2);
                id = wanted = 0;
            }
        }
        csp_buf_add(out, frame, sizeof frame);
    }
}
