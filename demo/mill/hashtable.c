#include "hashtable.h"

#include "printer.h"

#include <string.h>

static uint64_t hash_text_key(struct value key)
{
    return text_hash(key.text);
}

static bool equal_text_keys(struct value a, struct value b)
{
    return value_compare(a, b, EQUALITY) == 0;
}

static uint64_t hash_any_key(struct value key)
{
    switch (key.kind) {
    case NUMBER:
        return ((uint64_t)key.number + 1) * 0x9e3779b97f4a7c15u;
    case TEXT:
        return text_hash(key.text);
    default:
        return value_hash(key);
    }
}

static bool equal_any_keys(struct value a, struct value b)
{
    return value_compare(a, b, EQUALITY) == 0;
}

const struct key_rule text_keys = {hash_text_key, equal_text_keys};
const struct key_rule any_keys = {hash_any_key, equal_any_keys};

struct table *table_new(struct pool *pool, const struct key_rule *rule)
{
    struct table *table = pool_take(pool, sizeof(*table));
    table->rule = rule;
    table->pool = pool;
    return table;
}

static void table_grow(struct table *table)
{
    size_t slots = table->mask ? (table->mask + 1) * 2 : 16;
    struct entry *entries = pool_take(table->pool, slots / 2 * sizeof(*entries));
    if (table->count)
        memcpy(entries, table->entries, table->count * sizeof(*entries));
    table->entries = entries;
    table->slots = pool_take(table->pool, slots * sizeof(*table->slots));
    table->mask = slots - 1;
    for (size_t i = 0; i < table->count; i++) {
        size_t slot = (entries[i].hash >> 20) & table->mask;
        while (table->slots[slot])
            slot = (slot + 1) & table->mask;
        table->slots[slot] = (uint32_t)i + 1;
    }
}

static _Noreturn void missing(struct value key)
{
    struct buffer buffer = {0};
    value_format(&buffer, key, QUOTED);
    fatal("no such key: %.*s", (int)buffer.length, buffer.bytes);
}

struct entry *table_find(struct table *table, struct value key, enum find find)
{
    if (find == ADD && (table->count + 1) * 2 > table->mask)
        table_grow(table);
    uint64_t hash = table->rule->hash(key);
    size_t slot = (hash >> 20) & table->mask;
    while (table->mask && table->slots[slot]) {
        struct entry *entry = &table->entries[table->slots[slot] - 1];
        if (entry->hash == hash && table->rule->equal(entry->key, key))
            return entry;
        slot = (slot + 1) & table->mask;
    }
    if (find == MAY_EXIST)
        return NULL;
    if (find == MUST_EXIST)
        missing(key);
    struct entry *entry = &table->entries[table->count++];
    *entry = (struct entry){.key = key, .hash = hash};
    table->slots[slot] = (uint32_t)table->count;
    return entry;
}
