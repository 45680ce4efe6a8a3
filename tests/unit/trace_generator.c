#include "trace_generator.h"

#include <stdlib.h>
#include <string.h>

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

static uint32_t below(struct generator *g, uint32_t limit)
{
    g->random = g->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((g->random >> 33) % limit);
}

static bool one_in(struct generator *g, uint32_t n)
{
    return below(g, n) == 0;
}

/* ---- the program ---- */

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

static void make_code(struct generator *g, struct csp_generated_code *code)
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

static struct csp_generated_code *code_of(struct generator *g)
{
    return &g->trace->code[g->region];
}

static uint64_t address_of(struct generator *g, unsigned region, unsigned word)
{
    return g->trace->code[region].base + 4 * (uint64_t)word;
}

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

static struct csp_element *tell(struct generator *g, enum csp_element_type type)
{
    csp_vec_push(&g->trace->truth, (struct csp_element){.type = (uint8_t)type});
    return &g->trace->truth.data[g->trace->truth.len - 1];
}

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

/* ---- packets ---- */

static void put(struct generator *g, uint8_t byte)
{
    csp_buf_add_u8(&g->trace->bytes, byte);
}

static void header(struct generator *g, uint8_t byte)
{
    g->trace->kinds[byte]++;
    put(g, byte);
}

static void put_continued(struct generator *g, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        put(g, (uint8_t)(value | 0x80));
    put(g, (uint8_t)value);
}

/* P0 elements went out: the decoder commits what is more than can be speculative. */
static void count_p0(struct generator *g, uint32_t count)
{
    g->depth += count;
    if (g->depth > g->depth_max)
        g->depth = g->depth_max;
}

/* The longest or any shorter packet that the oldest atoms fit. */
static void put_atoms(struct generator *g)
{
    uint32_t atoms = g->atoms;
    unsigned left = g->atom_count, ones = 0;
    while (ones < left && atoms >> ones & 1)
        ones++;
    unsigned taken = 1;
    uint8_t byte = 0xf6 | (atoms & 1);
    unsigned form = below(g, 6);
    if (ones >= 3 && ones < left && ones <= 23 && form) {
        taken = ones + 1;
        byte = (uint8_t)(0xe0 + ones - 3);
    } else if (ones >= 4 && form) {
        taken = ones < 24 ? ones : 24;
        byte = (uint8_t)(0xc0 + taken - 4);
    } else if (left >= 5 && form > 3) {
        static const uint8_t fives[32] = {[0] = 0xd5, [0x0a] = 0xd6, [0x15] = 0xd7, [0x1e] = 0xf5};
        if (fives[atoms & 31]) {
            taken = 5;
            byte = fives[atoms & 31];
        }
    } else if (left >= 4 && form > 2) {
        static const uint8_t fours[16] = {[0x0e] = 0xdc, [0] = 0xdd, [0x0a] = 0xde, [5] = 0xdf};
        if (fours[atoms & 15]) {
            taken = 4;
            byte = fours[atoms & 15];
        }
    } else if (left >= 3 && form > 1) {
        taken = 3;
        byte = 0xf8 | (atoms & 7);
    } else if (left >= 2 && form) {
        taken = 2;
        byte = 0xd8 | (atoms & 3);
    }
    header(g, byte);
    count_p0(g, taken);
    g->atoms = taken < 32 ? atoms >> taken : 0;
    g->atom_count -= taken;
}

static void flush_atoms(struct generator *g)
{
    while (g->atom_count)
        put_atoms(g);
}

static void add_atom(struct generator *g, bool taken)
{
    g->atoms |= (uint32_t)taken << g->atom_count++;
    if (g->atom_count == 30 || one_in(g, 12))
        flush_atoms(g);
}

static void remember(struct generator *g, uint64_t address)
{
    g->history[2] = g->history[1];
    g->history[1] = g->history[0];
    g->history[0] = address;
}

static void put_low_bytes(struct generator *g, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        put(g, (uint8_t)(value >> 8 * i));
}

static void put_long(struct generator *g, uint64_t address, bool is_64bit)
{
    put(g, (uint8_t)(address >> 2 & 0x7f));
    put(g, (uint8_t)(address >> 9 & 0x7f));
    put_low_bytes(g, address >> 16, is_64bit ? 6 : 2);
}

static void put_short(struct generator *g, uint64_t address, uint64_t changed)
{
    if (changed >> 9) {
        put(g, (uint8_t)((address >> 2 & 0x7f) | 0x80));
        put(g, (uint8_t)(address >> 9));
    } else {
        put(g, (uint8_t)(address >> 2 & 0x7f));
    }
}

/* Any form that can say it; the headers of the forms differ between packets. */
static void put_address(struct generator *g, uint64_t address, const uint8_t headers[4])
{
    uint64_t changed = address ^ g->history[0];
    for (unsigned i = 0; i < 3; i++) {
        if (g->history[i] != address || one_in(g, 4))
            continue;
        header(g, (uint8_t)(headers[0] + i));
        remember(g, address);
        return;
    }
    if (!(changed >> 17) && !one_in(g, 4)) {
        header(g, headers[1]);
        put_short(g, address, changed);
    } else if (!(changed >> 32) && !one_in(g, 4)) {
        header(g, headers[2]);
        put_long(g, address, false);
    } else {
        header(g, headers[3]);
        put_long(g, address, true);
    }
    remember(g, address);
}

static const uint8_t plain_address[4] = {0x90, 0x95, 0x9a, 0x9d};
static const uint8_t source_address[4] = {0xb0, 0xb4, 0xb6, 0xb8};

static void put_context_body(struct generator *g)
{
    bool ids = g->has_context_id, vmids = g->has_vmid;
    put(g, (uint8_t)(g->el | 0x30 | (vmids ? 0x40 : 0) | (ids ? 0x80 : 0)));
    if (vmids)
        put_low_bytes(g, g->vmid, 4);
    if (ids)
        put_low_bytes(g, g->context_id, 4);
}

static void tell_context(struct generator *g)
{
    struct csp_element *context = tell(g, CSP_ELEMENT_CONTEXT);
    context->a = g->has_context_id ? g->context_id : 0;
    context->b = g->has_vmid ? g->vmid : 0;
    context->el = g->el;
}

static void put_address_context(struct generator *g, uint64_t address)
{
    tell_context(g);
    if (one_in(g, 3)) { /* apart; ETM and ETE allow either */
        header(g, 0x81);
        put_context_body(g);
        put_address(g, address, plain_address);
        return;
    }
    bool is_64bit = (address ^ g->history[0]) >> 32 || one_in(g, 3);
    header(g, is_64bit ? 0x85 : 0x82);
    put_long(g, address, is_64bit);
    put_context_body(g);
    remember(g, address);
}

static uint64_t here(struct generator *g)
{
    return address_of(g, g->region, g->word);
}

/* Whatever is due before execution can go on. */
static void settle(struct generator *g)
{
    if (!g->address_due)
        return;
    flush_atoms(g);
    put_address(g, here(g), plain_address);
    g->address_due = false;
}

static void begin(struct generator *g, bool on)
{
    flush_atoms(g);
    for (unsigned i = 0; i < 11; i++)
        put(g, 0);
    put(g, 0x80);
    header(g, 0x01);
    bool speculative = g->depth_max && !on;
    uint8_t fields = 1 | (speculative ? 4 : 0) | (one_in(g, 2) ? 8 : 0);
    put(g, fields);
    put(g, 0x01);
    if (speculative)
        put_continued(g, g->depth);
    if (fields & 8)
        put_continued(g, 5 + below(g, 300));
    memset(g->history, 0, sizeof g->history);
    g->time_sent = 0;
    g->stack_depth = 0;
    if (on) {
        header(g, 0x04);
        tell(g, CSP_ELEMENT_SYNC);
        tell(g, CSP_ELEMENT_TRACE_ON);
    }
    put_address_context(g, here(g));
    g->address_due = false;
}

/* ---- speculation ---- */

static bool may_speculate(struct generator *g)
{
    return g->depth_max >= 8;
}

/* A wrong path, taken back. */
static void cancel_some(struct generator *g)
{
    flush_atoms(g);
    uint32_t count = 1 + below(g, 4), depth = g->depth;
    uint32_t kept = depth + count > g->depth_max ? g->depth_max - count : depth;
    for (uint32_t i = 0; i < count; i++) {
        if (i && one_in(g, 3)) /* the target of the one before */
            put_address(g, address_of(g, below(g, 2), below(g, CSP_GENERATED_WORDS)),
                        plain_address);
        header(g, one_in(g, 2) ? 0xf7 : 0xf6);
    }
    header(g, 0x2e);
    put_continued(g, count);
    g->depth = kept;
}

/* The atom that comes next goes out the wrong way, and is put right. */
static void mispredict(struct generator *g, bool taken)
{
    flush_atoms(g);
    uint32_t wrong = 0, own;
    switch (below(g, 5)) {
    case 0:
        header(g, taken ? 0xf6 : 0xf7);
        if (one_in(g, 2))
            put_address(g, address_of(g, 0, below(g, CSP_GENERATED_WORDS)), plain_address);
        header(g, 0x30);
        break;
    case 1:
        header(g, taken ? 0x33 : 0x31);
        break;
    case 2: /* and a wrong path behind it */
        header(g, taken ? 0xf6 : 0xf7);
        if (one_in(g, 2)) { /* in the same packet: taken back before it counts */
            header(g, one_in(g, 2) ? 0x35 : 0x37);
            break;
        }
        wrong = 1;
        header(g, 0xf7);
        header(g, 0x34);
        break;
    case 3:
        own = below(g, 2); /* an E in the same packet: taken back before it counts */
        wrong = 1 + below(g, 3) + !own;
        header(g, taken ? 0xf6 : 0xf7);
        for (uint32_t i = 0; i < wrong; i++)
            header(g, one_in(g, 2) ? 0xf7 : 0xf6);
        header(g, (uint8_t)(0x38 | (wrong + own - 2) << 1 | own));
        break;
    default:
        header(g, taken ? 0xf6 : 0xf7);
        wrong = 1 + below(g, 3);
        for (uint32_t i = 0; i < wrong; i++)
            header(g, one_in(g, 2) ? 0xf7 : 0xf6);
        header(g, 0x2f);
        put_continued(g, wrong);
        break;
    }
    uint32_t most = g->depth + 1 + wrong;
    g->depth = (most > g->depth_max ? g->depth_max : most) - wrong;
}

static void put_commit(struct generator *g, uint32_t count)
{
    g->depth -= count;
    if (g->counts_commit && count && count <= 4 && one_in(g, 3)) {
        header(g, (uint8_t)(0x10 | (count - 1) << 2 | below(g, 4)));
        tell(g, CSP_ELEMENT_OTHER);
    } else if (g->counts_commit && count && count <= 16 && one_in(g, 3)) {
        header(g, 0x0c);
        put(g, (uint8_t)((count - 1) << 4 | below(g, 16)));
        tell(g, CSP_ELEMENT_OTHER);
    } else if (g->counts_commit && one_in(g, 2)) {
        bool unknown = one_in(g, 2);
        header(g, unknown ? 0x0f : 0x0e);
        put_continued(g, count);
        if (!unknown)
            put_continued(g, below(g, 1 << 20));
        tell(g, CSP_ELEMENT_OTHER);
    } else {
        header(g, 0x2d);
        put_continued(g, count);
    }
}

/* ---- what happens ---- */

static void put_timestamp(struct generator *g)
{
    flush_atoms(g);
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
        put_continued(g, below(g, 1 << 20));
    g->time_sent = g->time;
    tell(g, CSP_ELEMENT_TIMESTAMP)->a = g->time;
}

/* Packets that say nothing of what runs. */
static void put_other(struct generator *g)
{
    flush_atoms(g);
    switch (below(g, g->ete ? 8 : 3)) {
    case 2:
        if (g->counts_commit) { /* its cycle counts commit, too */
            header(g, 0x71);
        } else {
            bool unknown = one_in(g, 2);
            header(g, unknown ? 0x0f : 0x0e);
            if (!unknown)
                put_continued(g, below(g, 1 << 20));
        }
        tell(g, CSP_ELEMENT_OTHER);
        break;
    case 7:
        header(g, 0x0a);
        count_p0(g, g->starts_are_p0);
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
        put_low_bytes(g, UINT64_C(0x8000000000000495), 8);
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
        remember(g, 0);
        tell(g, CSP_ELEMENT_OTHER);
        break;
    }
}

/* An exception after some instructions of the block, and its handler. */
static void take_exception(struct generator *g)
{
    bool is_target = g->address_due && one_in(g, 2);
    if (!is_target)
        settle(g);
    flush_atoms(g);
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
    put_address(g, element->a, plain_address);
    count_p0(g, 1);
    g->region = below(g, 2);
    g->word = below(g, CSP_GENERATED_WORDS);
    g->el = 1;
    put_address_context(g, here(g));
    g->address_due = false;
}

static void leave_filter(struct generator *g)
{
    flush_atoms(g);
    header(g, 0x04);
    tell(g, CSP_ELEMENT_TRACE_ON);
    g->region = below(g, 2);
    g->word = below(g, CSP_GENERATED_WORDS);
    g->el = (uint8_t)below(g, 2);
    g->context_id = 1000 + below(g, 3);
    g->vmid = below(g, 3);
    g->stack_depth = 0;
    put_address_context(g, here(g));
    g->address_due = false;
}

/* Instructions in a row that Q tells of, up to where they go. */
static void run_q(struct generator *g)
{
    settle(g);
    flush_atoms(g);
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
        put_short(g, address, changed);
    } else if (!(changed >> 32)) {
        header(g, 0xaa);
        put_long(g, address, false);
    } else {
        header(g, 0xac);
        put_continued(g, count);
        put_address(g, address, plain_address);
        count_p0(g, 1);
        return;
    }
    remember(g, address);
    put_continued(g, count);
    count_p0(g, 1);
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
    settle(g);
    unsigned at = waypoint_from(g, g->word);
    const struct csp_generated_code *code = code_of(g);
    enum what what = (enum what)code->what[at];
    bool taken = what == COND ? below(g, 4) < g->bias : what != PLAIN;
    tell_range(g, g->word, at, taken);
    if (g->ete && taken && what != BARRIER && what != WAIT && one_in(g, 10)) {
        flush_atoms(g);
        put_address(g, address_of(g, g->region, at), source_address);
        count_p0(g, 1);
    } else if (may_speculate(g) && one_in(g, 10)) {
        mispredict(g, taken);
    } else {
        add_atom(g, taken);
    }
    go(g, at, taken);
    if (what == ERET && taken && !g->ete) {
        flush_atoms(g);
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
    flush_atoms(g);
    while (g->depth)
        put_commit(g, g->depth);
    bool overflow = one_in(g, 2);
    header(g, 0x00);
    put(g, overflow ? 0x05 : 0x03);
    g->trace->kinds[overflow ? CSP_GENERATED_OVERFLOW : CSP_GENERATED_DISCARD]++;
    tell(g, overflow ? CSP_ELEMENT_OVERFLOW : CSP_ELEMENT_DISCARD);
    g->depth = 0;
    g->address_due = false;
    begin(g, true);
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
        settle(g);
        begin(g, false);
        break;
    case 9:
        if (!g->has_stack)
            run_q(g);
        break;
    case 10:
    case 11:
        if (may_speculate(g))
            cancel_some(g);
        break;
    case 12:
    case 13:
        flush_atoms(g);
        if (g->depth)
            put_commit(g, 1 + below(g, g->depth));
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
        make_code(&g, &trace->code[r]);
    g.context_id = 1000;
    begin(&g, true);
    for (unsigned i = 0; i < steps; i++) {
        step(&g);
        happen(&g);
    }
    step_past_return(&g); /* contexts and enablings at the very end mean nothing either */
    flush_atoms(&g);
    if (g.depth)
        put_commit(&g, g.depth);
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
