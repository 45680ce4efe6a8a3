#include "base/intern.h"

#include <string.h>
#include <xxhash.h>

static uint64_t slot_value(uint32_t hash, size_t id)
{
    return (uint64_t)hash << 32 | (uint32_t)(id + 1);
}

/* Where the bytes are, or the free slot where they would go. */
static uint64_t *slot_of(const struct csp_intern *table, const void *data, size_t size,
                         uint32_t hash)
{
    uint32_t mask = table->slot_count - 1;
    for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
        uint64_t *slot = &table->slots[i];
        if (!*slot)
            return slot;
        if (*slot >> 32 != hash)
            continue;
        const struct csp_intern_entry *entry = &table->entries.data[(uint32_t)*slot - 1];
        if (entry->size == size && !memcmp(entry->data, data, size))
            return slot;
    }
}

static void grow(struct csp_intern *table)
{
    free(table->slots);
    table->slot_count = table->slot_count ? 2 * table->slot_count : 64;
    table->slots = csp_calloc_table(table->slot_count, sizeof *table->slots);
    uint32_t mask = table->slot_count - 1;
    for (uint32_t id = 0; id < table->entries.len; id++) {
        uint32_t hash = table->entries.data[id].hash, i = hash & mask;
        while (table->slots[i])
            i = (i + 1) & mask;
        table->slots[i] = slot_value(hash, id);
    }
}

static const void *copy_of(struct csp_intern *table, const void *data, size_t size)
{
    char *copy = csp_arena_alloc(&table->arena, size + 1);
    memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

static uint32_t add(struct csp_intern *table, const void *data, size_t size, uint32_t hash)
{
    size_t id = table->entries.len;
    csp_vec_push(&table->entries, (struct csp_intern_entry){data, (uint32_t)size, hash});
    return (uint32_t)id;
}

static uint32_t add_at(struct csp_intern *table, uint64_t *slot, const void *data, size_t size,
                       uint32_t hash)
{
    uint32_t id = add(table, data, size, hash);
    *slot = slot_value(hash, id);
    return id;
}

uint32_t csp_intern_another(struct csp_intern *table, const void *data, size_t size)
{
    return add(table, copy_of(table, data, size), size, 0);
}

uint32_t csp_intern_hash(const void *data, size_t size)
{
    return (uint32_t)XXH3_64bits(data, size);
}

void csp_intern_fetch_slot(const struct csp_intern *table, uint32_t hash)
{
    if (table->slot_count)
        __builtin_prefetch(&table->slots[hash & (table->slot_count - 1)]);
}

/* In all likelihood: other bytes may have taken the slot. */
static const struct csp_intern_entry *likely_entry(const struct csp_intern *table, uint32_t hash)
{
    uint64_t slot = table->slot_count ? table->slots[hash & (table->slot_count - 1)] : 0;
    return slot >> 32 == hash && slot ? &table->entries.data[(uint32_t)slot - 1] : NULL;
}

void csp_intern_fetch_entry(const struct csp_intern *table, uint32_t hash)
{
    const struct csp_intern_entry *entry = likely_entry(table, hash);
    if (entry)
        __builtin_prefetch(entry);
}

void csp_intern_fetch_data(const struct csp_intern *table, uint32_t hash)
{
    enum { LINE = 64, MOST = 16 * LINE };
    const struct csp_intern_entry *entry = likely_entry(table, hash);
    for (uint32_t at = 0; entry && at < entry->size && at < MOST; at += LINE)
        __builtin_prefetch((const char *)entry->data + at);
}

uint32_t csp_intern(struct csp_intern *table, const void *data, size_t size)
{
    return csp_intern_hashed(table, data, size, csp_intern_hash(size ? data : "", size));
}

uint32_t csp_intern_hashed(struct csp_intern *table, const void *data, size_t size, uint32_t hash)
{
    if (table->entries.len * 2 >= table->slot_count)
        grow(table);
    if (!size)
        data = "";
    uint64_t *slot = slot_of(table, data, size, hash);
    if (*slot)
        return (uint32_t)*slot - 1;
    return add_at(table, slot, copy_of(table, data, size), size, hash);
}

uint32_t csp_intern_kept_hashed(struct csp_intern *table, const void *data, size_t size,
                                uint32_t hash)
{
    if (table->entries.len * 2 >= table->slot_count)
        grow(table);
    uint64_t *slot = slot_of(table, data, size, hash);
    return *slot ? (uint32_t)*slot - 1 : add_at(table, slot, data, size, hash);
}

uint32_t csp_intern_kept(struct csp_intern *table, const void *data, size_t size)
{
    return csp_intern_kept_hashed(table, data, size, csp_intern_hash(data, size));
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
    uint64_t slot = *slot_of(table, data, size, (uint32_t)XXH3_64bits(data, size));
    return slot ? (uint32_t)slot - 1 : CSP_INTERN_NONE;
}

void csp_intern_clear(struct csp_intern *table)
{
    table->entries.len = 0;
    if (table->slots)
        memset(table->slots, 0, table->slot_count * sizeof *table->slots);
    csp_arena_clear(&table->arena);
}

void csp_intern_free(struct csp_intern *table)
{
    csp_vec_free(&table->entries);
    free(table->slots);
    csp_arena_free(&table->arena);
    *table = (struct csp_intern){0};
}
