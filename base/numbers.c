#include "base/numbers.h"

#include <string.h>

static uint32_t *free_slot(const struct csp_numbers *numbers, uint64_t number)
{
    uint32_t i = csp_numbers_hash(number) & numbers->mask;
    while (numbers->slots[i])
        i = (i + 1) & numbers->mask;
    return &numbers->slots[i];
}

static bool is_full(const struct csp_numbers *numbers, uint32_t slots)
{
    return 3 * numbers->list.len > 2 * ((size_t)slots - 1);
}

static void grow(struct csp_numbers *numbers)
{
    enum { AHEAD = 16 };
    uint32_t count = numbers->slots ? 2 * (numbers->mask + 1) : 64;
    while (is_full(numbers, count))
        count *= 2;
    free(numbers->slots);
    numbers->slots = csp_calloc(count, sizeof *numbers->slots);
    numbers->mask = count - 1;
    for (uint32_t i = 0; i < numbers->list.len; i++) {
        if (i + AHEAD < numbers->list.len)
            csp_numbers_fetch(numbers, numbers->list.data[i + AHEAD]);
        *free_slot(numbers, numbers->list.data[i]) = i + 1;
    }
}

uint32_t csp_numbers_add(struct csp_numbers *numbers, uint64_t number)
{
    if (!numbers->slots)
        grow(numbers);
    uint32_t known = csp_numbers_find(numbers, number);
    if (known != CSP_NUMBERS_NONE)
        return known;
    if (is_full(numbers, numbers->mask + 1))
        grow(numbers);
    csp_vec_push(&numbers->list, number);
    *free_slot(numbers, number) = (uint32_t)numbers->list.len;
    return (uint32_t)numbers->list.len - 1;
}

void csp_numbers_clear(struct csp_numbers *numbers)
{
    numbers->list.len = 0;
    if (numbers->slots)
        memset(numbers->slots, 0, ((size_t)numbers->mask + 1) * sizeof *numbers->slots);
}

void csp_numbers_free(struct csp_numbers *numbers)
{
    csp_vec_free(&numbers->list);
    free(numbers->slots);
    *numbers = (struct csp_numbers){0};
}
