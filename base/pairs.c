#include "base/pairs.h"

static void insert(struct csp_pairs *pairs, uint32_t number)
{
    const struct csp_pair *pair = &pairs->list.data[number];
    uint32_t i = csp_pairs_hash(pair->first, pair->second) & pairs->mask;
    while (pairs->slots[i])
        i = (i + 1) & pairs->mask;
    pairs->slots[i] = number + 1;
}

static void grow(struct csp_pairs *pairs)
{
    enum { AHEAD = 16 };
    uint32_t count = pairs->slots ? 2 * (pairs->mask + 1) : 64;
    free(pairs->slots);
    pairs->slots = csp_calloc_table(count, sizeof *pairs->slots);
    pairs->mask = count - 1;
    for (uint32_t number = 0; number < pairs->list.len; number++) {
        if (number + AHEAD < pairs->list.len)
            csp_pairs_fetch(pairs, pairs->list.data[number + AHEAD].first,
                            pairs->list.data[number + AHEAD].second);
        insert(pairs, number);
    }
}

uint32_t csp_pairs_add(struct csp_pairs *pairs, uint64_t first, uint64_t second)
{
    if (!pairs->slots || 2 * pairs->list.len > pairs->mask)
        grow(pairs);
    uint32_t i = csp_pairs_hash(first, second) & pairs->mask;
    for (; pairs->slots[i]; i = (i + 1) & pairs->mask) {
        const struct csp_pair *known = &pairs->list.data[pairs->slots[i] - 1];
        if (known->first == first && known->second == second)
            return pairs->slots[i] - 1;
    }
    csp_vec_push(&pairs->list, (struct csp_pair){first, second});
    pairs->slots[i] = (uint32_t)pairs->list.len;
    return (uint32_t)pairs->list.len - 1;
}

void csp_pairs_free(struct csp_pairs *pairs)
{
    csp_vec_free(&pairs->list);
    free(pairs->slots);
    *pairs = (struct csp_pairs){0};
}
