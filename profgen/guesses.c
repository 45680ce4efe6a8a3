#include "profgen/guesses.h"

#include "base/alloc.h"

#include <string.h>

enum {
    MOST_BRANCHES = 1 << 21, /* whose numbers have three bytes */
    MOST_GUESSES = 4,        /* of one key */
};

/* In as few lines of the processor's cache as can be. */
struct csp_known_sample {
    uint64_t start, end;
    uint32_t callers, leaf, branch_len;
    uint32_t wide;
    uint16_t branches[]; /* as in struct csp_flat_sample */
};

static uint32_t key_of(uint64_t start, uint64_t end, uint32_t callers, uint32_t leaf,
                       uint32_t branch_len)
{
    uint64_t ends = start + (end << 32 | end >> 32);
    uint64_t rest = (uint64_t)callers << 32 | (leaf << 24 ^ branch_len);
    uint64_t key = (ends ^ rest * UINT64_C(0xbf58476d1ce4e5b9)) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((key ^ key >> 29) * UINT64_C(0x94d049bb133111eb) >> 32);
}

void csp_guesses_set_key(struct csp_raw_sample *raw)
{
    raw->key = key_of(raw->start, raw->end, raw->callers, raw->leaf, raw->branch_len);
}

/* What a key may be is in the slots from its own on, up to a free one. */
static struct csp_guess *next_guess(const struct csp_guesses *guesses, size_t *at, uint32_t key)
{
    for (;; ++*at) {
        struct csp_guess *guess = &guesses->slots[*at & (guesses->slot_count - 1)];
        if (!guess->known || guess->key == key)
            return guess;
    }
}

static struct csp_guess *free_guess(const struct csp_guesses *guesses, size_t at)
{
    while (guesses->slots[at & (guesses->slot_count - 1)].known)
        at++;
    return &guesses->slots[at & (guesses->slot_count - 1)];
}

static void grow(struct csp_guesses *guesses)
{
    const struct csp_guesses old = *guesses;
    guesses->slot_count = old.slot_count ? 2 * old.slot_count : 1024;
    guesses->slots = csp_calloc_table(guesses->slot_count, sizeof *guesses->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].known)
            *free_guess(guesses, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

static struct csp_known_sample *keep(struct csp_guesses *guesses,
                                     const struct csp_flat_sample *sample)
{
    size_t bytes = csp_flat_size(sample) - offsetof(struct csp_flat_sample, numbers);
    struct csp_known_sample *known =
        csp_arena_alloc(&guesses->known, offsetof(struct csp_known_sample, branches) + bytes);
    *known = (struct csp_known_sample){.start = sample->start,
                                       .end = sample->end,
                                       .callers = sample->callers,
                                       .leaf = sample->leaf,
                                       .wide = sample->wide,
                                       .branch_len = sample->branch_len};
    memcpy(known->branches, sample->numbers, bytes);
    return known;
}

void csp_guesses_learn(struct csp_guesses *guesses, uint32_t key,
                       const struct csp_flat_sample *sample, uint32_t number)
{
    if (2 * guesses->used >= guesses->slot_count)
        grow(guesses);
    size_t at = key;
    struct csp_guess *guess = next_guess(guesses, &at, key);
    for (unsigned others = 0; guess->known; others++) {
        if (others == MOST_GUESSES || guess->number == number)
            return;
        at++;
        guess = next_guess(guesses, &at, key);
    }
    *guess = (struct csp_guess){key, number, keep(guesses, sample)};
    guesses->used++;
}

static void forget(struct csp_guesses *guesses)
{
    free(guesses->slots);
    guesses->slots = NULL;
    guesses->slot_count = guesses->used = 0;
    csp_arena_free(&guesses->known);
}

static void learn_all(struct csp_guesses *guesses, const struct csp_sample_set *set)
{
    for (uint32_t i = 0; i < set->counts.len; i++) {
        const struct csp_flat_sample *sample = csp_sample_set_at(set, i);
        csp_guesses_learn(
            guesses,
            key_of(sample->start, sample->end, sample->callers, sample->leaf, sample->branch_len),
            sample, i);
    }
}

/* As LEB128. */
static uint32_t encode(uint32_t number)
{
    if (number < 1 << 7)
        return 1U << 24 | number;
    if (number < 1 << 14)
        return 2U << 24 | number >> 7 << 8 | 0x80 | (number & 0x7f);
    return 3U << 24 | number >> 14 << 16 | (0x80 | (number >> 7 & 0x7f)) << 8 | 0x80 |
           (number & 0x7f);
}

bool csp_guesses_begin(struct csp_guesses *guesses, const struct csp_sample_set *set,
                       const uint32_t *branches, size_t count)
{
    if (set->put_aside != guesses->put_aside)
        forget(guesses);
    guesses->put_aside = set->put_aside;
    if (!set->counts.len || count > MOST_BRANCHES)
        return false;
    if (!guesses->slots)
        learn_all(guesses, set);
    while (guesses->encoded.len < set->branches.list.len)
        csp_vec_push(&guesses->encoded, 0);
    for (uint32_t i = 0; i < count; i++)
        guesses->encoded.data[branches[i]] = encode(i);
    return true;
}

void csp_guesses_end(struct csp_guesses *guesses, const uint32_t *branches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        guesses->encoded.data[branches[i]] = 0;
}

void csp_guesses_fetch(const struct csp_guesses *guesses, const struct csp_raw_sample *raw)
{
    __builtin_prefetch(&guesses->slots[raw->key & (guesses->slot_count - 1)]);
}

void csp_guesses_fetch_known(const struct csp_guesses *guesses, const struct csp_sample_set *set,
                             const struct csp_raw_sample *raw)
{
    enum { LINE = 64, MOST = 16 * LINE };
    size_t at = raw->key;
    size_t size = offsetof(struct csp_known_sample, branches) + raw->branch_len * sizeof(uint16_t);
    const struct csp_guess *guess = next_guess(guesses, &at, raw->key);
    if (!guess->known)
        return;
    __builtin_prefetch(&set->counts.data[guess->number], 1);
    for (size_t line = 0; line < size && line < MOST; line += LINE)
        __builtin_prefetch((const char *)guess->known + line);
}

static uint8_t *put(uint8_t *at, uint32_t encoded)
{
    memcpy(at, &encoded, sizeof encoded);
    return at + (encoded >> 24);
}

/* A branch that the file does not have is put as nothing. Then there are fewer numbers than the
 * sample has, and the file's bytes, which have as many, are others. */
static uint8_t *put_branches(const uint32_t *encoded, const struct csp_known_sample *known,
                             uint8_t *at)
{
    const uint16_t *branch = known->branches, *end = branch + known->branch_len;
    if (known->wide) {
        for (uint32_t i = 0; i < known->branch_len; i++, branch += 2)
            at = put(at, encoded[branch[0] | (uint32_t)branch[1] << 16]);
        return at;
    }
    for (; end - branch >= 4; branch += 4) {
        at = put(at, encoded[branch[0]]);
        at = put(at, encoded[branch[1]]);
        at = put(at, encoded[branch[2]]);
        at = put(at, encoded[branch[3]]);
    }
    for (; branch < end; branch++)
        at = put(at, encoded[*branch]);
    return at;
}

static bool is_known(struct csp_guesses *guesses, const struct csp_known_sample *known,
                     const struct csp_raw_sample *raw)
{
    if (known->start != raw->start || known->end != raw->end || known->callers != raw->callers ||
        known->leaf != raw->leaf || known->branch_len != raw->branch_len)
        return false;
    uint8_t *bytes = (uint8_t *)csp_buf_reserve(&guesses->bytes, 3 * (size_t)raw->branch_len + 1);
    uint8_t *end = put_branches(guesses->encoded.data, known, bytes);
    return (size_t)(end - bytes) == raw->size && !memcmp(bytes, raw->numbers, raw->size);
}

uint32_t csp_guesses_number(struct csp_guesses *guesses, const struct csp_raw_sample *raw)
{
    for (size_t at = raw->key;; at++) {
        const struct csp_guess *guess = next_guess(guesses, &at, raw->key);
        if (!guess->known)
            return CSP_INTERN_NONE;
        if (is_known(guesses, guess->known, raw))
            return guess->number;
    }
}

size_t csp_guesses_memory(const struct csp_guesses *guesses)
{
    return guesses->known.total + guesses->slot_count * sizeof *guesses->slots;
}

void csp_guesses_free(struct csp_guesses *guesses)
{
    forget(guesses);
    csp_vec_free(&guesses->encoded);
    csp_buf_free(&guesses->bytes);
    *guesses = (struct csp_guesses){0};
}
