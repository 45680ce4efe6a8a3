#include "base/intern.h"

#include <string.h>
#include <xxhash.h>

/* Where the bytes are, or the free slot where they would go. */
static uint32_t *slot_of(const struct csp_intern *table, const void *data, size_t size,
                         uint32_t hash)
{
    uint32_t mask = table->slot_count - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &table->slots[i];
        if (!*slot)
            return slot;
        const struct csp_intern_entry *entry = &table->entries.data[*slot - 1];
        if (entry->hash == hash && entry->size == size && !memcmp(entry->data, data, size))
            return slot;
    }
}

static void grow(struct csp_intern *table)
{
    free(table->slots);
    table->slot_count = table->slot_count ? 2 * table->slot_count : 64;
    table->slots = csp_calloc(table->slot_count, sizeof *table->slots);
    uint32_t mask = table->slot_count - 1;
    for (uint32_t id = 0; id < table->entries.len; id++) {
        uint32_t i = table->entries.data[id].hash & mask;
        while (table->slots[i])
            i = (i + 1) & mask;
        table->slots[i] = id + 1;
    }
}

uint32_t csp_intern(struct csp_intern *table, const void *data, size_t size)
{
    if (table->entries.len * 2 >= table->slot_count)
        grow(table);
    if (!size)
        data = "";
    uint32_t hash = (uint32_t)XXH3_64bits(data, size);
    uint32_t *slot = slot_of(table, data, size, hash);
    if (*slot)
        return *slot - 1;
    char *copy = csp_arena_alloc(&table->arena, size + 1);
    memcpy(copy, data, size);
    copy[size] = '\0';
    csp_vec_push(&table->entries, (struct csp_intern_entry){copy, (uint32_t)size, hash});
    *slot = (uint32_t)table->entries.len;
    return *slot - 1;
}

uint32_t csp_intern_string(struct csp_intern *table, const char *text)
{
    return csp_intern(table, text, strlen(text));
}

uint32_t csp_intern_find(const struct csp_intern *table, const void *data, size_t size)
{
    if (!table->slot_count)
        return CSP_INTERN_NONE;
    if (!size)
        data = "";
    uint32_t slot = *slot_of(table, data, size, (uint32_t)XXH3_64bits(data, size));
    return slot ? slot - 1 : CSP_INTERN_NONE;
}

void csp_intern_free(struct csp_intern *table)
{
    csp_vec_free(&table->entries);
    free(table->slots);
    csp_arena_free(&table->arena);
    *table = (struct csp_intern){0};
}
