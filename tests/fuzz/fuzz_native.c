/* Arbitrary bytes over random code, into the native engine. Beyond crashes, leaks and undefined
 * behaviour (the sanitizers' part): every range lies in code, elements are no more than the bytes
 * can mean, and pieces of any size give the same elements as the whole. Where OpenCSD 1.3.3 is
 * right, which is ETMv4 without speculation and return stack in code that it knows, and finds no
 * error, it says the same.
 *
 * Input: a struct fuzz_head, then trace. */
#include "fuzz_native.h"
#include "native_classes.h"
#include "reference_child.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 256, REGIONS = 2 };

/* What became of the inputs. */
static struct {
    uint64_t inputs;
    uint64_t other_kinds; /* traced or configured as OpenCSD 1.3.3 does not know, or gets wrong */
    uint64_t nothing;     /* no element: never synchronised */
    uint64_t code_32bit;
    uint64_t without_context;
    uint64_t no_answer; /* OpenCSD finds an error, crashes, or takes too long */
    uint64_t compared;
    uint64_t compared_in_part;            /* up to what ends_agreement tells */
    uint64_t returns_back, behind_branch; /* up to an exception of that class */
    uint64_t context_repeated;            /* past contexts of that class */
} counts;

struct code {
    uint64_t base[REGIONS];
    uint32_t words[REGIONS][WORDS];
    struct csp_block_cache *blocks[REGIONS];
};

struct outcome {
    const struct code *code;
    size_t count, limit;
    uint64_t hash;
    bool is_created;           /* the engine takes this configuration */
    bool has_32bit;            /* code was entered that only OpenCSD follows */
    struct csp_elements *kept; /* null: nobody asks for them */
};

/* A quarter branches, the rest anything; in plain code nops, and no branch that is younger than
 * OpenCSD 1.3.3. */
static uint32_t random_word(uint64_t *random, bool plain)
{
    static const uint32_t branches[] = {0x14000000, 0x94000000, 0x54000000, 0xb4000000,
                                        0x36000000, 0xd61f0200, 0xd63f0200, 0xd65f03c0,
                                        0xd69f03e0, 0xd5033fdf, 0xd503205f, 0x74000000};
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint32_t value = (uint32_t)(*random >> 32);
    if (value & 3)
        return value & 4 || plain ? 0xd503201f : value;
    uint32_t branch = branches[(value >> 2) % (sizeof branches / sizeof *branches - plain)];
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

static void make_code(struct code *code, uint32_t seed, bool plain)
{
    uint64_t random = seed;
    code->base[0] = 0x10000;
    code->base[1] = seed & 1 ? code->base[0] + sizeof code->words[0] : UINT64_C(0xffff800000000000);
    for (unsigned r = 0; r < REGIONS; r++) {
        for (unsigned i = 0; i < WORDS; i++)
            code->words[r][i] = random_word(&random, plain);
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
        /* How often OpenCSD says that there is no code is its own affair. */
        if (outcome->kept && e->type != CSP_ELEMENT_OTHER && e->type != CSP_ELEMENT_NO_CODE)
            csp_vec_push(&outcome->kept->list, *e);
        if (e->type != CSP_ELEMENT_RANGE)
            continue;
        require(e->a < e->b && (e->b - e->a) / 4 == e->instructions, "a range and its count");
        require(in_code(outcome->code, e->a, e->b), "a range outside of the code");
    }
    outcome->count += count;
    require(outcome->count <= outcome->limit, "more elements than the bytes can mean");
    return 0;
}

static struct outcome decode(csp_engine_create_fn *create, struct code *code,
                             const struct fuzz_head *head, const uint8_t *data, size_t size,
                             size_t piece, struct csp_elements *kept)
{
    struct csp_code_memory memory = {fetch, find, code, NULL};
    struct outcome outcome = {.code = code, .limit = 32 * size + 64, .kept = kept};
    struct csp_engine *engine;
    struct csp_trace_config configs[2] = {head->config, head->config};
    configs[0].trace_id = FUZZ_FIRST_ID;
    configs[1].trace_id = FUZZ_SECOND_ID;
    for (int i = 0; i < 2; i++)
        configs[i].traceidr = configs[i].trace_id; /* what OpenCSD goes by */
    if (create(&engine, configs, head->formatted ? 2 : 1, head->formatted, &memory, take, &outcome,
               NULL) < 0)
        return outcome;
    outcome.is_created = true;
    for (size_t at = 0; at < size; at += piece)
        csp_engine_feed(engine, data + at, size - at < piece ? size - at : piece);
    csp_engine_flush(engine);
    struct csp_engine_stats stats = csp_engine_stats(engine);
    require(stats.bytes == size, "bytes that are not counted");
    require(stats.lost_bytes <= size, "more bytes lost than given");
    outcome.has_32bit = stats.unsupported;
    csp_engine_destroy(engine);
    return outcome;
}

/* TRCCONFIGR, TRCIDR1, TRCIDR2 */
static const uint32_t return_stack = 1u << 12, conditional = 7u << 8, q_elements = 3u << 13;
static const uint32_t load_store = 3u << 1, major = 15u << 8, minor = 15u << 4;
static const uint32_t version_4_1 = 4u << 8 | 1u << 4; /* 4.0 has no virtual IDs of four bytes */
static const uint32_t id_sizes = 0x3ffu << 5, four_bytes = 4u << 5 | 4u << 10;

/* A trace unit of which OpenCSD 1.3.3 knows everything. */
static void make_known(struct csp_trace_config *config)
{
    config->protocol = CSP_PROTOCOL_ETMV4;
    config->configr &= ~(return_stack | conditional | q_elements | load_store);
    config->idr1 = (config->idr1 & ~major) | version_4_1;
    config->idr2 = (config->idr2 & ~id_sizes) | four_bytes;
    config->idr8 = 0;
}

static struct fuzz_head read_head(const uint8_t *input)
{
    struct fuzz_head head;
    memcpy(&head, input, sizeof head);
    head.config.protocol = head.config.protocol & 1 ? CSP_PROTOCOL_ETE : CSP_PROTOCOL_ETMV4;
    head.formatted = head.flags & FUZZ_FRAMES;
    if (!(head.flags & FUZZ_REFERENCE))
        return head;
    head.flags |= FUZZ_PLAIN_CODE;
    make_known(&head.config);
    return head;
}

static struct code *code_of(const struct fuzz_head *head)
{
    struct code *code = csp_calloc(1, sizeof *code);
    make_code(code, head->seed, head->flags & FUZZ_PLAIN_CODE);
    return code;
}

static void free_code(struct code *code)
{
    for (unsigned r = 0; r < REGIONS; r++)
        csp_block_cache_destroy(code->blocks[r]);
    free(code);
}

/* In the child. */
static bool decode_by_opencsd(const uint8_t *input, size_t size, struct csp_elements *elements)
{
    struct fuzz_head head = read_head(input);
    struct code *code = code_of(&head);
    size -= sizeof head;
    struct outcome outcome = decode(csp_engine_create_opencsd, code, &head, input + sizeof head,
                                    size, size + 1, elements);
    free_code(code);
    return outcome.is_created;
}

static bool has_reference(const struct fuzz_head *head)
{
    const struct csp_trace_config *config = &head->config;
    uint32_t version = config->idr1 & (major | minor);
    bool exists = version >= version_4_1 && (version & major) == (version_4_1 & major) &&
                  (config->idr2 & id_sizes) == four_bytes;
    return exists && config->protocol == CSP_PROTOCOL_ETMV4 && (head->flags & FUZZ_PLAIN_CODE) &&
           !config->idr8 && !(config->configr & (return_stack | conditional));
}

/* A context tells of what is traced and was told since the last synchronisation; else it is 0 in
 * `x`, which is ours, and OpenCSD remembers what a packet said before. Where a TRACE_ON is, is said
 * of another byte. */
static bool equal(const struct fuzz_head *head, const struct csp_element *x,
                  const struct csp_element *y)
{
    const uint32_t cid = 1u << 6, vmid = 1u << 7;
    bool is_context = x->type == CSP_ELEMENT_CONTEXT, is_on = x->type == CSP_ELEMENT_TRACE_ON;
    bool has_a = !is_on && (!is_context || ((head->config.configr & cid) && x->a));
    bool has_b = !is_on && (!is_context || ((head->config.configr & vmid) && x->b));
    return x->type == y->type && x->kind == y->kind && x->taken == y->taken && x->el == y->el &&
           x->secure == y->secure && x->has_address == y->has_address && x->source == y->source &&
           x->instructions == y->instructions && x->number == y->number &&
           (!has_a || x->a == y->a) && (!has_b || x->b == y->b);
}

/* Where two lists begin to differ. */
static void show(const char *who, const struct csp_elements *elements, size_t number)
{
    for (size_t i = number < 3 ? 0 : number - 3; i < elements->list.len && i < number + 2; i++) {
        const struct csp_element *e = &elements->list.data[i];
        fprintf(stderr, "%s %zu of %zu: type %u a=%llx b=%llx n=%u kind=%u taken=%u\n", who, i,
                elements->list.len, e->type, (unsigned long long)e->a, (unsigned long long)e->b,
                e->instructions, e->kind, e->taken);
    }
}

/* Whether what OpenCSD 1.3.3 says from here on is another matter: it has patience with packets that
 * are reserved, or that this trace unit cannot have sent; tells addresses that nothing has set of a
 * Q whose path is not known; and may go on at another place behind trace that was lost. */
static bool ends_agreement(uint8_t type)
{
    return type == CSP_ELEMENT_BAD || type == CSP_ELEMENT_NO_PATH || type == CSP_ELEMENT_OVERFLOW ||
           type == CSP_ELEMENT_DISCARD;
}

/* How much of what one of them said the other has to say. Timestamps behind the last thing that ran
 * OpenCSD tells sometimes. */
static size_t length_in_common(const struct csp_elements *elements)
{
    size_t length = 0;
    while (length < elements->list.len && !ends_agreement(elements->list.data[length].type))
        length++;
    while (length && elements->list.data[length - 1].type == CSP_ELEMENT_TIMESTAMP)
        length--;
    return length;
}

/* How far both say the same. */
static struct csp_fuzz_place agreement(const struct fuzz_head *head,
                                       const struct csp_elements *ours, size_t our_length,
                                       const struct csp_elements *theirs, size_t their_length)
{
    struct csp_fuzz_place at = {0};
    bool is_repeated = false;
    while (at.ours < our_length && at.theirs < their_length) {
        if (equal(head, &ours->list.data[at.ours], &theirs->list.data[at.theirs]))
            at.ours++;
        else if (csp_fuzz_repeats_context(theirs, at.theirs))
            is_repeated = true;
        else
            break;
        at.theirs++;
    }
    counts.context_repeated += is_repeated;
    return at;
}

static void compare_lists(const struct fuzz_head *head, const struct csp_elements *ours,
                          const struct csp_elements *theirs)
{
    size_t our_length = length_in_common(ours), their_length = length_in_common(theirs);
    struct csp_fuzz_place at = agreement(head, ours, our_length, theirs, their_length);
    bool our_end = at.ours == our_length, their_end = at.theirs == their_length;
    counts.compared++;
    enum csp_fuzz_difference known =
        our_end || their_end ? CSP_FUZZ_OTHER : csp_fuzz_difference(ours, theirs, at);
    counts.returns_back += known == CSP_FUZZ_RETURNS_BACK;
    counts.behind_branch += known == CSP_FUZZ_BEHIND_BRANCH;
    if (known != CSP_FUZZ_OTHER)
        return;
    bool we_stopped = our_length < ours->list.len, they_stopped = their_length < theirs->list.len;
    counts.compared_in_part += we_stopped || they_stopped;
    if ((our_end && their_end) || (our_end && we_stopped) || (their_end && they_stopped))
        return;
    show("native", ours, at.ours);
    show("opencsd", theirs, at.theirs);
    fprintf(stderr, "configr %x idr0 %x idr1 %x idr2 %x\n", head->config.configr, head->config.idr0,
            head->config.idr1, head->config.idr2);
    require(false, "not what OpenCSD says");
}

static void compare(const uint8_t *input, size_t size, const struct csp_elements *ours)
{
    struct fuzz_head head = read_head(input);
    struct csp_elements theirs = {0};
    if (csp_reference_ask(decode_by_opencsd, input, size, &theirs))
        compare_lists(&head, ours, &theirs);
    else
        counts.no_answer++;
    csp_vec_free(&theirs.list);
}

static void print_counts(void)
{
    fprintf(stderr,
            "fuzz_native: %" PRIu64 " inputs; %" PRIu64 " compared with OpenCSD, %" PRIu64
            " of them in part, %" PRIu64 " up to an exception that returns back and %" PRIu64
            " up to one behind a branch, %" PRIu64
            " past a context told once more; not compared: %" PRIu64 " of other kinds, %" PRIu64
            " without any element, %" PRIu64 " with 32-bit code, %" PRIu64
            " that begin without a context, %" PRIu64 " without an answer\n",
            counts.inputs, counts.compared, counts.compared_in_part, counts.returns_back,
            counts.behind_branch, counts.context_repeated, counts.other_kinds, counts.nothing,
            counts.code_32bit, counts.without_context, counts.no_answer);
}

/* Why an input is not compared, counted; null when it is. */
static uint64_t *reason_not_to(const struct fuzz_head *head, const struct outcome *outcome,
                               const uint8_t *data, size_t size)
{
    if (!has_reference(head))
        return &counts.other_kinds;
    if (!outcome->count)
        return &counts.nothing;
    enum csp_fuzz_class class = csp_fuzz_class(head, data, size);
    if (outcome->has_32bit || class == CSP_FUZZ_32BIT)
        return &counts.code_32bit;
    return class == CSP_FUZZ_NO_CONTEXT ? &counts.without_context : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (size < sizeof(struct fuzz_head) || size > 1 << 16)
        return 0;
    if (!counts.inputs++)
        atexit(print_counts);
    struct fuzz_head head = read_head(input);
    const uint8_t *data = input + sizeof head;
    size_t data_size = size - sizeof head;
    struct code *code = code_of(&head);
    struct csp_elements ours = {0};
    struct outcome whole = decode(csp_engine_create_native, code, &head, data, data_size,
                                  data_size + 1, has_reference(&head) ? &ours : NULL);
    struct outcome cut =
        decode(csp_engine_create_native, code, &head, data, data_size, 1 + head.seed % 37, NULL);
    require(whole.hash == cut.hash && whole.count == cut.count, "pieces differ from the whole");
    uint64_t *reason = reason_not_to(&head, &whole, data, data_size);
    if (reason)
        ++*reason;
    else
        compare(input, size, &ours);
    csp_vec_free(&ours.list);
    free_code(code);
    return 0;
}
